// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/command/replay_page.h"

#include <fmt/format.h>

#include <utility>

#include "appliance/box/box.h"
#include "appliance/command/exit_code.h"
#include "appliance/command/message.h"
#include "appliance/command/output.h"
#include "appliance/report/utc_text.h"
#include "appliance/service/service.h"
#include "appliance/web/stored_page.h"
#include "dataplane/lcore/wall_clock.h"

namespace rocescope {

int PrintReplayPage(std::shared_ptr<const Snapshot> snapshot, Duration window, Timestamp reached) {
  const auto fabric = snapshot->fabric;
  const auto box = Box::Holding(
      {.snapshot = std::move(snapshot), .reached = reached, .published_at = WallClock()}, fabric,
      window);
  Service service(*box, ROCESCOPE_VERSION);
  const Result<std::string> page = StoredPage(
      service, fmt::format("rocescope replay {}", UtcDayAndTime(ToNanoseconds(reached))));
  if (!page) {
    Message(page.error().message);
    return kExitUsage;
  }
  return WriteToStdout(*page) == OutputState::kFailed ? kExitOutput : kExitSuccess;
}

}  // namespace rocescope
