// SPDX-License-Identifier: BSD-3-Clause
// Writes of one rank's checkpoint to shared storage: RDMA WRITEs over a connection of its own.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <utility>

#include "sim/host/network.h"

namespace rocescope::sim {

class CheckpointWriter final : public QueuePairObserver {
 public:
  static constexpr uint64_t kMessage = 1u << 20;  // bytes

  CheckpointWriter(Network& network, topology::NicIndex from, topology::NicIndex to)
      : connection_(network.Connect(from, to, this)) {}
  CheckpointWriter(const CheckpointWriter&) = delete;  // queue pairs refer to it
  CheckpointWriter& operator=(const CheckpointWriter&) = delete;

  // `done` is called when the storage has acknowledged everything. An earlier write that is not
  // complete comes first.
  void Write(uint64_t bytes, std::function<void()> done);
  void Close();

  const Network::Connection& connection() const { return connection_; }

  void Delivered(QueuePair&, const Message&) override {}
  void Completed(QueuePair&, const Message&) override;
  void Failed(QueuePair&) override {}

 private:
  const Network::Connection connection_;
  struct Pending {
    uint64_t messages = 0;  // posted since the start, up to the end of this write
    std::function<void()> done;
  };
  uint64_t posted_ = 0;  // messages
  uint64_t completed_ = 0;
  std::deque<Pending> pending_;
};

}  // namespace rocescope::sim
