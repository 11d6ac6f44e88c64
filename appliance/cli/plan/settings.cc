// SPDX-License-Identifier: BSD-3-Clause
// What was asked for against what the platform can do.
#include <fmt/format.h>

#include "appliance/cli/plan/mirror_plan.h"

namespace rocescope::plan {
namespace {

auto Wrong(std::string message) {
  return MakeError(ErrorCode::kInvalidArgument, std::move(message));
}

}  // namespace

Result<Settings> SettingsOf(const PlanOptions& options) {
  const Platform& platform = PlatformOf(options.vendor);
  if (options.collectors.empty()) {
    return Wrong("there is no collector; give --collector NAME=SPEED@SWITCH:PORT,ADDRESS");
  }
  if (options.one_in > 1 && !platform.samples_mirrors) {
    return Wrong(
        fmt::format("{} does not sample what it mirrors: leave --sample out", platform.title));
  }
  const uint8_t erspan = options.erspan.value_or(platform.erspan);
  if (platform.erspan_is_fixed && erspan != platform.erspan) {
    return Wrong(
        fmt::format("copies from {} have no ERSPAN session: leave --erspan out", platform.title));
  }
  if (options.vendor == Vendor::kNxos && erspan == 1) {
    return Wrong("NX-OS sends ERSPAN type 2 or 3: give --erspan one of them");
  }
  const bool names_port = options.names_port.value_or(platform.names_port && erspan != 1);
  if (names_port && erspan == 1) {
    return Wrong("ERSPAN type 1 has no room for the port: leave --port-index out");
  }
  const bool cuts = platform.truncates_unsampled || options.one_in > 1;
  if (options.truncation.value_or(0) != 0 && !cuts) {
    return Wrong(
        fmt::format("{} cuts only sampled copies short: give --sample too, or leave "
                    "--truncate out",
                    platform.title));
  }
  // Where only sampled copies are cut, they are cut as elsewhere.
  const uint32_t usual =
      platform.truncates_unsampled || options.one_in == 1 ? platform.truncation : kUsualTruncation;
  const uint32_t truncation = options.truncation.value_or(usual);
  if (truncation != 0 && truncation < kMinTruncation) {
    return Wrong(
        fmt::format("--truncate {} cuts off what is read of a packet: Ethernet, IPv4, UDP, "
                    "BTH and RETH are {} octets; give {} or more",
                    truncation, kMinTruncation, kGoodTruncation));
  }
  if (options.polling_seconds < platform.polling_least ||
      options.polling_seconds > platform.polling_most) {
    return Wrong(fmt::format("{} polls counters every {} to {} seconds, not every {}",
                             platform.title, platform.polling_least, platform.polling_most,
                             options.polling_seconds));
  }
  return Settings{.platform = &platform,
                  .shape = {.path_mtu = options.path_mtu,
                            .packets_per_ack = options.packets_per_ack,
                            .truncation = truncation,
                            .erspan = erspan,
                            .one_in = options.one_in},
                  .names_port = names_port,
                  .tells_direction = erspan == 3,
                  .has_sessions = erspan != 1};
}

}  // namespace rocescope::plan
