// SPDX-License-Identifier: BSD-3-Clause
#include "analytics/connection/incarnation.h"

#include "base/qpn.h"
#include "dataplane/wire/opcode.h"

namespace rocescope {
namespace {

constexpr int32_t kWrapNeighbourhood = 1 << 20;  // PSN 0 at most this far ahead is a wrap
// A tap whose mirror was interrupted sees a jump, as after a restart. A forward jump of up to a
// quarter of the PSN range counts as a mirror gap.
constexpr int32_t kShortestGap = 1 << 16;
constexpr int32_t kLongestGap = 1 << 22;
constexpr int kPartnerPatience = 60;  // multiple of `spacing`

Duration Apart(Timestamp a, Timestamp b) { return a < b ? b - a : a - b; }

}  // namespace

RestartSign RestartSignOf(const FlowState& flow, FlowAtTap& at_tap, const FlowRecord& record) {
  if (!record.requests.valid) return RestartSign::kNone;
  if (!at_tap.psn_now || record.interval_start != at_tap.psn_interval) {
    at_tap.psn_before = at_tap.psn_now;
    at_tap.psn_interval = record.interval_start;
  }
  at_tap.psn_now = record.requests.last_psn;
  if (record.requests.restarts == 0) return RestartSign::kNone;
  if (flow.restarted && flow.last_restart >= record.interval_start) return RestartSign::kNone;
  if (!at_tap.psn_before) return RestartSign::kRestart;
  const int32_t ahead = PsnDistance(*at_tap.psn_before, record.requests.last_psn);
  const bool gap = ahead > kShortestGap && ahead < kLongestGap;
  return gap ? RestartSign::kMirrorGap : RestartSign::kRestart;
}

// NCCL starts each QP at PSN 0. PSN 0 with a different target than the first time, and not near a
// wrap, is the first packet of the number's next owner.
bool Restarts(const FlowState& flow, const ObservationRecord& request) {
  if (request.psn != 0 || !request.has_reth || !flow.requested ||
      !wire::InfoOf(request.opcode).starts) {
    return false;
  }
  const int32_t ahead = PsnDistance(flow.last_request_psn, 0);
  if (ahead > 0 && ahead <= kWrapNeighbourhood) return false;
  if (!flow.zero_seen) return false;  // a late copy of the first observed packet
  return flow.zero_rkey != request.reth_rkey || flow.zero_address != request.reth_address;
}

bool IsKnownRestart(const FlowState& flow, Timestamp time, Duration spacing) {
  const Duration apart = Apart(time, flow.last_restart);
  return (flow.restarted && apart < spacing) ||
         (flow.partner_restarted && apart < kPartnerPatience * spacing);
}

}  // namespace rocescope
