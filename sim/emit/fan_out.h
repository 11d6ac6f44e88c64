// SPDX-License-Identifier: BSD-3-Clause
// A switch has one observer. This observer forwards to several, in the order in which they were
// added.
#pragma once

#include <vector>

#include "sim/net/switch.h"

namespace rocescope::sim {

class FanOut final : public SwitchObserver {
 public:
  void Add(SwitchObserver& observer) { observers_.push_back(&observer); }
  bool empty() const { return observers_.empty(); }

  void Arrives(const Switch& at, const Port& port, const Frame& frame) override {
    for (SwitchObserver* each : observers_) each->Arrives(at, port, frame);
  }
  void Queues(const Switch& at, const Port& port, const Frame& frame) override {
    for (SwitchObserver* each : observers_) each->Queues(at, port, frame);
  }
  void Departs(const Switch& at, const Port& port, const Frame& frame,
               uint64_t queue_bytes) override {
    for (SwitchObserver* each : observers_) each->Departs(at, port, frame, queue_bytes);
  }

  void Loses(const Switch& at, const Port* out, const Frame& frame, LossCause cause) override {
    for (SwitchObserver* each : observers_) each->Loses(at, out, frame, cause);
  }

 private:
  std::vector<SwitchObserver*> observers_;
};

}  // namespace rocescope::sim
