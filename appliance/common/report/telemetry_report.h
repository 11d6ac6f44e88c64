// SPDX-License-Identifier: BSD-3-Clause
// The parts of the report about INT, sFlow and counters, with their ledgers.
#pragma once

#include "appliance/common/report/replay_report.h"
#include "dataplane/record/ledger.h"

namespace rocescope {

namespace v1 {
class Ledger;
class Telemetry;
}  // namespace v1

void FillLedger(const Ledger& ledger, v1::Ledger& out);
void FillTelemetry(const ReplayFindings& findings, v1::Telemetry& out);

}  // namespace rocescope
