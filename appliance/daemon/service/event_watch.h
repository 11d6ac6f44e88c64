// SPDX-License-Identifier: BSD-3-Clause
// Creates events from the differences between two snapshots.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "appliance/common/report/finding_watch.h"
#include "appliance/daemon/core/daemon.h"
#include "appliance/daemon/service/answer_view.h"

namespace rocescope {

namespace v1 {
class Event;
}

// Not thread-safe.
class EventWatch {
 public:
  // Returns events for faults that started, were resolved or were withdrawn since the previous
  // snapshot. If the analysis restarted in between, earlier faults are not reported as withdrawn;
  // they are reported as started when they are detected again.
  std::vector<v1::Event> LookAt(const AnswerView& answer);
  // Returns events for sources that stopped since the last call.
  std::vector<v1::Event> LookAt(const std::vector<SourceState>& sources, Timestamp now);

 private:
  FindingWatch findings_;
  uint32_t restarted_ = 0;        // number of analysis restarts in the last snapshot
  std::set<std::string> failed_;  // names of stopped sources
};

}  // namespace rocescope
