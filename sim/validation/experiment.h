// SPDX-License-Identifier: BSD-3-Clause
// One message between each pair of NICs, and the time of each acknowledgement: the measurement by
// which simulators are compared.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "sim/host/network.h"
#include "topology/generate.h"

namespace rocescope::sim::test {

struct Transfer {
  topology::NicIndex from = 0;
  topology::NicIndex to = 0;
  uint64_t bytes = 1'000'000;
  SimTime start = 0;
};

// Links of 100 Gb/s and 1 us. A payload of 1000 bytes takes 1048 bytes on the wire. An ACK of 60
// bytes for each packet; a CNP for each CE mark; 9 MiB of buffer with an alpha of 1/8.
NetworkOptions Reference();
// DCQCN parameter sets: conservative with small queues, and those of the paper with large queues.
void SetA(NetworkOptions& options);
void SetP(NetworkOptions& options);

topology::Blueprint Star(uint32_t hosts);

class Experiment final : public QueuePairObserver {
 public:
  Experiment(const topology::Blueprint& blueprint, const NetworkOptions& options);

  QueuePair& Add(const Transfer& transfer);  // the requester
  // Runs until all messages are acknowledged, or until `end`.
  void Run(SimTime end = kNever);

  Network& network() { return *network_; }
  // Time from each transfer's start until its last ACK, in the order of Add; -1: not finished.
  const std::vector<SimTime>& durations() const { return durations_; }
  double MeanMicroseconds() const;
  SimTime Last() const;

 private:
  void Delivered(QueuePair&, const Message&) override {}
  void Completed(QueuePair& requester, const Message& message) override;
  void Failed(QueuePair&) override {}

  topology::Fabric fabric_;
  std::unique_ptr<Network> network_;
  std::vector<SimTime> starts_;
  std::vector<SimTime> durations_;
};

}  // namespace rocescope::sim::test
