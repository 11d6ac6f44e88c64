// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/api/message_value.h"
#include "appliance/common/report/message_json.h"
#include "appliance/common/report/replay_report.h"
#include "rocescope/v1/report.pb.h"

namespace rocescope {

std::string RenderJson(const v1::ReplayReport& report) {
  std::string json;
  AppendJson(report, true, json);
  json += '\n';
  return json;
}

bool RenderJson(const v1::ReplayReport& report, const std::function<bool(std::string_view)>& take) {
  return WriteJson(report, true, take) && take("\n");
}

std::string RenderFaultsJson(const v1::ReplayReport& report) {
  v1::Faults faults;
  faults.set_schema_version(report.schema_version());
  *faults.mutable_extent() = report.extent();
  if (report.has_reference_time()) *faults.mutable_reference_time() = report.reference_time();
  *faults.mutable_findings() = report.findings();
  *faults.mutable_suspected_findings() = report.suspected_findings();
  if (report.has_diagnosis_coverage()) {
    *faults.mutable_diagnosis_coverage() = report.diagnosis_coverage();
  }
  *faults.mutable_notes() = report.notes();
  std::string json;
  AppendJson(faults, true, json);
  json += '\n';
  return json;
}

}  // namespace rocescope
