// SPDX-License-Identifier: BSD-3-Clause
// Checks the options against the platform's capabilities.
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
    return Wrong("no collector given; use --collector NAME=SPEED@SWITCH:PORT,ADDRESS");
  }
  if (options.one_in > 1 && !platform.samples_mirrors) {
    return Wrong(
        fmt::format("{} does not support sampled mirroring: remove --sample", platform.title));
  }
  const uint8_t erspan = options.erspan.value_or(platform.erspan);
  if (platform.erspan_is_fixed && erspan != platform.erspan) {
    return Wrong(
        fmt::format("copies from {} have no ERSPAN session: remove --erspan", platform.title));
  }
  if (options.vendor == Vendor::kNxos && erspan == 1) {
    return Wrong("NX-OS supports ERSPAN type 2 or 3 only: use one of them with --erspan");
  }
  const bool names_port = options.names_port.value_or(platform.names_port && erspan != 1);
  if (names_port && erspan == 1) {
    return Wrong("ERSPAN type 1 cannot contain the port: remove --port-index");
  }
  const bool cuts = platform.truncates_unsampled || options.one_in > 1;
  if (options.truncation.value_or(0) != 0 && !cuts) {
    return Wrong(fmt::format("{} truncates only sampled copies: add --sample, or remove --truncate",
                             platform.title));
  }
  // Platforms that truncate only sampled copies use the same default.
  const uint32_t usual =
      platform.truncates_unsampled || options.one_in == 1 ? platform.truncation : kUsualTruncation;
  const uint32_t truncation = options.truncation.value_or(usual);
  if (truncation != 0 && truncation < kMinTruncation) {
    return Wrong(
        fmt::format("--truncate {} is too short: the headers Ethernet, IPv4, UDP, BTH and RETH "
                    "need {} bytes; use {} or more",
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
