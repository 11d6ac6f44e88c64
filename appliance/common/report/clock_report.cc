// SPDX-License-Identifier: BSD-3-Clause
#include <string_view>

#include "appliance/common/report/job_report.h"
#include "rocescope/v1/report.pb.h"

namespace rocescope {
namespace {

std::string_view NameOf(StampKind kind) {
  switch (kind) {
    case StampKind::kMirror:
      return "mirror";
    case StampKind::kInt:
      return "int";
    case StampKind::kCapture:
      break;
  }
  return "capture";
}

}  // namespace

void FillClocks(const Snapshot& snapshot, const std::vector<Tap>& taps, v1::ReplayReport& report) {
  if (!snapshot.clocks) return;
  v1::Clocks& out = *report.mutable_clocks();
  out.set_contradictions(snapshot.clocks->contradictions);
  out.set_packets_refused(snapshot.clocks->pairs_refused);
  for (const ClockOffset& clock : snapshot.clocks->clocks) {
    v1::Clock& one = *out.add_clocks();
    one.set_kind(std::string(NameOf(clock.kind)));
    const bool is_tap = clock.kind == StampKind::kCapture && clock.tap < taps.size();
    one.set_name(is_tap ? taps[clock.tap].name : clock.name);
    one.set_group(clock.group);
    one.set_reference(clock.reference);
    one.set_known(clock.offset.has_value());
    one.set_offset_ns(clock.offset.value_or(Duration(0)).count());
    one.set_uncertainty_ns(clock.uncertainty.count());
    one.set_drifts(clock.drift_ppb.has_value());
    one.set_drift_ppb(clock.drift_ppb.value_or(0));
    one.set_packets(clock.packets);
  }
}

}  // namespace rocescope
