// SPDX-License-Identifier: BSD-3-Clause
#include "sim/truth/render_truth.h"

#include <google/protobuf/util/json_util.h>

namespace rocescope::sim {

std::string RenderJson(const google::protobuf::Message& message) {
  std::string json;
  google::protobuf::util::JsonPrintOptions options;
  options.add_whitespace = true;
  options.always_print_primitive_fields = true;
  options.preserve_proto_field_names = true;
  const auto status = google::protobuf::util::MessageToJsonString(message, &json, options);
  return status.ok() ? json : std::string();
}

}  // namespace rocescope::sim
