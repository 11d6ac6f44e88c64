// SPDX-License-Identifier: BSD-3-Clause
// One message each between pairs of NICs, and when each was acknowledged: what simulators are
// compared by.
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

// Links of 100 Gb/s and 1 us; a payload of 1000 octets makes 1048 on the wire, an ACK 60, one for
// each packet; a CNP for each mark; 9 MiB of buffer with an alpha of 1/8.
NetworkOptions Reference();
// DCQCN's parameters: slow to raise with small queues, and the paper's with large ones.
void SetA(NetworkOptions& options);
void SetP(NetworkOptions& options);

topology::Blueprint Star(uint32_t hosts);

class Experiment final : public QueuePairObserver {
 public:
  Experiment(const topology::Blueprint& blueprint, const NetworkOptions& options);

  QueuePair& Add(const Transfer& transfer);  // the requester
  // Until all are acknowledged, or `end`.
  void Run(SimTime end = kNever);

  Network& network() { return *network_; }
  // From a transfer's start until its last ACK arrived, in the order of Add; -1: not finished.
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
