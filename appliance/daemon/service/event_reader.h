// SPDX-License-Identifier: BSD-3-Clause
// Position of one client in the event log, independent of the transport.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "appliance/daemon/service/service.h"

namespace rocescope {

namespace v1 {
class Event;
}

// Not thread-safe.
class EventReader {
 public:
  // `service` must outlive the reader. Reading starts after `cursor`; 0: the active faults,
  // then only new events. Tenants get the events of snapshots, gaps, and faults that affect their
  // jobs. An event before the start of a job concerns an earlier job with the same id.
  EventReader(Service& service, const Caller& caller, uint64_t cursor);

  // Returns the events since the last call, at most a fixed number. If there is a new snapshot, the
  // last event announces it, without a cursor of its own; after the first one, the active faults
  // follow. Returns an empty vector if there is nothing new.
  std::vector<std::shared_ptr<const v1::Event>> Next();

 private:
  void AddActiveFaults(const AnswerView& answer,
                       std::vector<std::shared_ptr<const v1::Event>>& events) const;

  // Removes what the client may not read.
  void Restrict(const AnswerView* answer,
                std::vector<std::shared_ptr<const v1::Event>>& events) const;

  Service& service_;
  const Caller caller_;
  uint64_t cursor_;
  bool needs_active_faults_;
  uint64_t version_ = 0;  // version of the last announced snapshot
};

}  // namespace rocescope
