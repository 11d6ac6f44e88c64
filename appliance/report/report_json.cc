// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/report/message_json.h"
#include "appliance/report/replay_report.h"
#include "rocescope/v1/report.pb.h"

namespace rocescope {

std::string RenderJson(const v1::ReplayReport& report) {
  std::string json;
  AppendJson(report, true, json);
  json += '\n';
  return json;
}

}  // namespace rocescope
