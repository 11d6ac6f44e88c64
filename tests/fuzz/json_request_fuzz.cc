// SPDX-License-Identifier: BSD-3-Clause
// The body of a POST request: a JSON object becomes a request message.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "appliance/common/report/message_json.h"
#include "appliance/daemon/web/json_request.h"
#include "rocescope/v1/service.pb.h"
#include "tests/fuzz/require.h"

namespace {

template <typename Request>
void Check(std::string_view body) {
  using namespace rocescope;
  Request request;
  if (!FillFromJson(body, request)) return;
  std::string json;
  AppendJson(request, false, json);
  Request again;
  Require(json.size() > kMaxJsonBody || FillFromJson(json, again).has_value(),
          "the JSON of a request is accepted");
  Require(json.size() > kMaxJsonBody || again.SerializeAsString() == request.SerializeAsString(),
          "a request round-trips");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  Check<rocescope::v1::AcknowledgeFindingRequest>(text);
  Check<rocescope::v1::MuteFindingsRequest>(text);
  Check<rocescope::v1::ListMutesRequest>(text);
  Check<rocescope::v1::EndJobRequest>(text);
  rocescope::IsJson(text);
  return 0;
}
