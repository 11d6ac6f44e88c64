// SPDX-License-Identifier: BSD-3-Clause
// What one listener has heard so far, whatever carries events to it.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "appliance/daemon/service/service.h"

namespace rocescope {

namespace v1 {
class Event;
}

// Of one thread at a time.
class EventReader {
 public:
  // `service` must outlive it. Begins after `cursor`; 0: from now on.
  EventReader(Service& service, uint64_t cursor);

  // What has come since the last time, a bounded number of events; the last one, without a cursor,
  // says that another answer is there. Empty: nothing.
  std::vector<std::shared_ptr<const v1::Event>> Next();

 private:
  Service& service_;
  uint64_t cursor_;
  uint64_t version_ = 0;  // of the last answer
};

}  // namespace rocescope
