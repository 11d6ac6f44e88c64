// SPDX-License-Identifier: BSD-3-Clause
// A requester that continuously sends: background traffic, a sender of an incast, or a noisy
// neighbour.
#pragma once

#include <cstdint>

#include "sim/engine/random.h"
#include "sim/host/network.h"

namespace rocescope::sim {

class Stream final : public QueuePairObserver {
 public:
  struct Options {
    topology::NicIndex from = 0;
    topology::NicIndex to = 0;
    Verb verb = Verb::kWrite;
    uint64_t message = 1u << 20;  // bytes
    uint32_t at_once = 2;         // messages in flight
    double load = 1;              // average fraction of the NIC's rate; 1: as fast as possible
    uint64_t seed = 1;
  };

  Stream(Network& network, const Options& options);

  void Begin();
  void End() { running_ = false; }  // messages in flight still complete

  const QueuePair& requester() const { return *connection_.first; }

  void Delivered(QueuePair&, const Message&) override {}
  void Completed(QueuePair&, const Message&) override;
  void Failed(QueuePair&) override { running_ = false; }

 private:
  void Post();

  Network& network_;
  const Options options_;
  Random random_;
  const Network::Connection connection_;
  bool running_ = false;
  uint32_t under_way_ = 0;
  SimTime next_ = 0;  // time of the next message according to the load
};

}  // namespace rocescope::sim
