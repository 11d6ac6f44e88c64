// SPDX-License-Identifier: BSD-3-Clause
// The jobs that a fault affects, and those that are only exposed to it: their packets passed its
// place while it lasted, but nothing shows that it disturbs them. A job is affected by:
// - A fault that loses packets: flows of the job through the place retransmit or get NAKs, or the
//   job stops when the fault starts, or the only link of one of its NICs is down. For flows that
//   are not mirrored: a NIC at their ends counts losses, or neither NIC reports losses at all.
// - A NIC that pauses its switch or that too many send to, or ports in a PFC deadlock: flows of the
//   job wait there or at a port that is paused because of it, or share the link of a NIC that sends
//   too much.
// - A slow GPU: the job has a rank on it, so that its other ranks wait.
// - Any fault: the iterations of the job become longer.
#pragma once

#include "analytics/diagnosis/diagnosis_input.h"
#include "analytics/diagnosis/finding.h"

namespace rocescope {

// Adds the affected and exposed jobs to those that lasting findings already have. A straggler that
// a job waits for only affects this job. Flows that cause a finding do not make their jobs affected
// or exposed. The time is proportional to the path segments of all connections times the findings.
void FillVictims(const DiagnosisInput& input, Findings& findings);

}  // namespace rocescope
