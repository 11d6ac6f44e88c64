// SPDX-License-Identifier: BSD-3-Clause
#include <google/protobuf/util/json_util.h>

#include "appliance/report/replay_report.h"
#include "rocescope/v1/report.pb.h"

namespace rocescope {

std::string RenderJson(const v1::ReplayReport& report) {
  google::protobuf::util::JsonPrintOptions options;
  options.add_whitespace = true;
  options.always_print_primitive_fields = true;
  options.preserve_proto_field_names = true;
  std::string json;
  // Fails only for messages that hold what JSON cannot; this one has numbers and UTF-8 text.
  if (!google::protobuf::util::MessageToJsonString(report, &json, options).ok()) return {};
  if (json.empty() || json.back() != '\n') json += '\n';
  return json;
}

}  // namespace rocescope
