// SPDX-License-Identifier: BSD-3-Clause
// `rocescope finding`: acknowledges and mutes findings of a running appliance.
#pragma once

#include <string>

#include "appliance/cli/command/analysis.h"
#include "appliance/daemon/grpc/jobs_client.h"
#include "base/time.h"

namespace rocescope {

// All functions return an ExitCode: kExitDamaged if the appliance refuses the request or does not
// know the finding, kExitUsage if a TLS file is not usable, kExitUnreadable if the appliance does
// not answer in time.

struct FindingOptions {
  JobsClientOptions client;
  std::string kind;
  std::string place;
  std::string direction;  // empty: as the proto describes it
  std::string comment;
  Duration duration{};  // length of a mute; 0: the default of the appliance
};
int RunFindingAcknowledge(const FindingOptions& options);
int RunFindingUnacknowledge(const FindingOptions& options);
int RunFindingMute(const FindingOptions& options);
int RunFindingUnmute(const FindingOptions& options);

struct FindingListOptions {
  JobsClientOptions client;
  bool expired_too = false;
  ReportFormat format = ReportFormat::kText;
};
// Lists acknowledgements and mutes. JSON: an object with `acknowledgements` (a
// ListAcknowledgementsResponse) and `mutes` (a ListMutesResponse).
int RunFindingList(const FindingListOptions& options);

}  // namespace rocescope
