// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/cli/command/replay_page.h"

#include <fmt/format.h>

#include <utility>

#include "appliance/cli/command/exit_code.h"
#include "appliance/cli/command/message.h"
#include "appliance/cli/command/output.h"
#include "appliance/common/report/utc_text.h"
#include "appliance/daemon/core/daemon.h"
#include "appliance/daemon/service/service.h"
#include "appliance/daemon/web/stored_page.h"
#include "dataplane/source/wall_clock.h"

namespace rocescope {

int PrintReplayPage(std::shared_ptr<const Snapshot> snapshot, Duration window, Timestamp reached) {
  const auto fabric = snapshot->fabric;
  const auto daemon = Daemon::Holding(
      {.snapshot = std::move(snapshot), .reached = reached, .published_at = WallClock()}, fabric,
      window);
  Service service(*daemon, ROCESCOPE_VERSION);
  const StoredData data = StoreData(service);
  for (const std::string& note : data.notes) Message(note);
  const Result<std::string> page =
      StoredPage(data, fmt::format("rocescope replay {}", UtcDayAndTime(ToNanoseconds(reached))));
  if (!page) {
    Message(page.error().message);
    return kExitUsage;
  }
  return WriteToStdout(*page) == OutputState::kFailed ? kExitOutput : kExitSuccess;
}

}  // namespace rocescope
