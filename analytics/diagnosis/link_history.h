// SPDX-License-Identifier: BSD-3-Clause
// When links were down, and which of these outages a switch that went down explains.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "analytics/diagnosis/diagnosis_input.h"
#include "topology/fabric.h"

namespace rocescope {

// History of one link over the windows.
struct LinkHistory {
  std::vector<bool> down;       // by window: an end was down at its end, or went down during it
  std::vector<bool> unknown;    // by window: no end was read
  std::vector<bool> explained;  // by window: disabled, or removed by Explain
  std::vector<Row> falls;       // times that it went down, by window; one row per end and source
  bool was_up = false;          // at any time, as an end reports
  bool reports_state = false;   // an end reports whether the link is up

  // Summary of `down` and `falls`.
  bool any = false;
  size_t first = 0;              // window of the first sign
  size_t behind = 0;             // window after the last sign
  uint64_t times = 0;            // times that it went down; the largest number of all rows
  std::optional<size_t> second;  // window in which it went down for the second time

  void Summarise();
  // Removes the windows from the history, because something else explains them.
  void Explain(size_t from, size_t until);
  // The history without the outages that do not overlap these windows.
  LinkHistory OutagesIn(size_t from, size_t until) const;
};

using LinkHistories = std::vector<LinkHistory>;  // indexed by link

// Without the windows in which the configuration disabled the link.
LinkHistory HistoryOf(const DiagnosisInput& input, topology::LinkIndex link);
LinkHistories HistoriesOf(const DiagnosisInput& input);

// A time in which all links of a switch were down.
struct SwitchOutage {
  size_t first = 0;   // window in which the first of them went down
  size_t behind = 0;  // window after the last one in which one of them was down
  size_t links = 0;   // that went down at that time; others were down before
};

// The first outage from window `from` on. The other ends of its links are read at different times
// and a reading can be lost, so they may go down up to two readings apart. Some links need not have
// been seen down: a third if the counters of the switch restarted, otherwise one in six of many.
std::optional<SwitchOutage> OutageOf(const DiagnosisInput& input, topology::NodeIndex node,
                                     const LinkHistories& histories, size_t from);

}  // namespace rocescope
