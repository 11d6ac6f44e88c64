// SPDX-License-Identifier: BSD-3-Clause
// Makes events of what differs from one answer to the next.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "appliance/daemon/core/box.h"
#include "appliance/common/report/finding_watch.h"
#include "appliance/daemon/service/answer_view.h"

namespace rocescope {

namespace v1 {
class Event;
}

// Of one thread.
class EventWatch {
 public:
  // Faults that are begun, over, taken back. Where analysis began anew since the answer before,
  // those of before are not taken back: they are begun again once they are found again.
  std::vector<v1::Event> LookAt(const AnswerView& answer);
  // Those that have ended since the last time.
  std::vector<v1::Event> LookAt(const std::vector<SourceState>& sources, Timestamp now);

 private:
  FindingWatch findings_;
  uint32_t restarted_ = 0;       // by the last answer
  std::set<std::string> failed_;  // sources
};

}  // namespace rocescope
