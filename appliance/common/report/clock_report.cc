// SPDX-License-Identifier: BSD-3-Clause
#include <string_view>

#include "appliance/api/message_value.h"
#include "appliance/common/report/job_report.h"
#include "rocescope/v1/report.pb.h"

namespace rocescope {
namespace {

v1::Clock::Kind MessageOf(StampKind kind) {
  switch (kind) {
    case StampKind::kMirror:
      return v1::Clock::KIND_MIRROR;
    case StampKind::kInt:
      return v1::Clock::KIND_INT;
    case StampKind::kCapture:
      break;
  }
  return v1::Clock::KIND_CAPTURE;
}

}  // namespace

void FillClocks(const Snapshot& snapshot, const std::vector<Tap>& taps, v1::ReplayReport& report) {
  if (!snapshot.clocks) return;
  v1::Clocks& out = *report.mutable_clocks();
  out.set_contradiction_count(snapshot.clocks->contradictions);
  out.set_refused_packets(snapshot.clocks->pairs_refused);
  for (const ClockOffset& clock : snapshot.clocks->clocks) {
    v1::Clock& one = *out.add_clocks();
    one.set_kind(MessageOf(clock.kind));
    const bool is_tap = clock.kind == StampKind::kCapture && clock.tap < taps.size();
    one.set_name(is_tap ? taps[clock.tap].name : clock.name);
    one.set_group(clock.group);
    one.set_reference(clock.reference);
    one.set_known(clock.offset.has_value());
    *one.mutable_offset() = DurationMessage(clock.offset.value_or(Duration(0)));
    *one.mutable_uncertainty() = DurationMessage(clock.uncertainty);
    one.set_drifts(clock.drift_ppb.has_value());
    one.set_drift_ppb(clock.drift_ppb.value_or(0));
    one.set_packets(clock.packets);
  }
}

}  // namespace rocescope
