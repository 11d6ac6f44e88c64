// SPDX-License-Identifier: BSD-3-Clause
#include "sim/validation/experiment.h"

#include <algorithm>
#include <numeric>

namespace rocescope::sim::test {

NetworkOptions Reference() {
  NetworkOptions options;
  options.nics.sizes = {.payload_overhead = 48, .control_bytes = 60};
  options.nics.mtu = 1000;
  options.nics.ack_every = 1;
  options.nics.dcqcn.cnp_interval = 0;
  options.switches.buffer = {.bytes = 9u << 20, .alpha = 1.0 / 8};
  return options;
}

void SetA(NetworkOptions& options) {
  options.switches.ecn = {.minimum = 100'000, .maximum = 400'000, .maximum_probability = 0.2};
  DcqcnOptions& dcqcn = options.nics.dcqcn;
  dcqcn.alpha_timer = kMicrosecond;
  dcqcn.decrease_interval = 4 * kMicrosecond;
  dcqcn.rate_timer = 300 * kMicrosecond;
  dcqcn.fast_recovery = 1;
  dcqcn.additive = 40e6;
  dcqcn.hyper = 100e6;
}

void SetP(NetworkOptions& options) {
  options.switches.ecn = {.minimum = 400'000, .maximum = 1'600'000, .maximum_probability = 0.2};
  DcqcnOptions& dcqcn = options.nics.dcqcn;
  dcqcn.alpha_timer = 50 * kMicrosecond;
  dcqcn.decrease_interval = 50 * kMicrosecond;
  dcqcn.rate_timer = 55 * kMicrosecond;
  dcqcn.fast_recovery = 1;
  dcqcn.additive = 20e6;
  dcqcn.hyper = 200e6;
}

topology::Blueprint Star(uint32_t hosts) {
  return {.shape = topology::Shape::kStar, .hosts = hosts};
}

Experiment::Experiment(const topology::Blueprint& blueprint, const NetworkOptions& options)
    : fabric_(topology::Generate(blueprint).value()),
      network_(std::make_unique<Network>(fabric_, options)) {}

QueuePair& Experiment::Add(const Transfer& transfer) {
  QueuePair& requester = *network_->Connect(transfer.from, transfer.to, this).first;
  const uint64_t number = starts_.size();
  starts_.push_back(transfer.start);
  durations_.push_back(-1);
  network_->engine().At(transfer.start, [&requester, number, bytes = transfer.bytes] {
    requester.Post({.verb = Verb::kWrite, .length = bytes, .context = number});
  });
  return requester;
}

void Experiment::Run(SimTime end) { network_->engine().Run(end); }

void Experiment::Completed(QueuePair&, const Message& message) {
  durations_[message.context] = network_->engine().Now() - starts_[message.context];
  if (std::find(durations_.begin(), durations_.end(), -1) == durations_.end()) {
    network_->engine().Stop();
  }
}

double Experiment::MeanMicroseconds() const {
  const SimTime sum = std::accumulate(durations_.begin(), durations_.end(), SimTime{0});
  return static_cast<double>(sum) / static_cast<double>(durations_.size()) / kMicrosecond;
}

SimTime Experiment::Last() const { return *std::max_element(durations_.begin(), durations_.end()); }

}  // namespace rocescope::sim::test
