// SPDX-License-Identifier: BSD-3-Clause
#include "sim/workload/stream.h"

#include <algorithm>
#include <cmath>

namespace rocescope::sim {

Stream::Stream(Network& network, const Options& options)
    : network_(network),
      options_(options),
      random_(options.seed, "stream", network.queue_pair_count()),
      connection_(network.Connect(options.from, options.to, this)) {}

void Stream::Begin() {
  if (running_) return;
  running_ = true;
  next_ = network_.engine().Now();
  while (under_way_ < options_.at_once) Post();
}

// Messages arrive as a Poisson process if the load is below 1.
void Stream::Post() {
  ++under_way_;
  constexpr uint64_t kHeap = 0x7e00'0000'0000;
  const Message message = {.verb = options_.verb,
                           .length = options_.message,
                           .address = kHeap | (random_.Below(1u << 20) << 20),
                           .rkey = static_cast<uint32_t>(random_.Next()) | 1};
  const SimTime now = network_.engine().Now();
  if (options_.load >= 1) {
    connection_.first->Post(message);
    return;
  }
  const double mean = static_cast<double>(TransmitTime(
                          options_.message, connection_.first->nic().port().bits_per_second())) /
                      options_.load;
  next_ = std::max(now, next_ + static_cast<SimTime>(-mean * std::log(1 - random_.Uniform())));
  network_.engine().At(next_, [this, message] { connection_.first->Post(message); });
}

void Stream::Completed(QueuePair&, const Message&) {
  --under_way_;
  if (running_) Post();
}

}  // namespace rocescope::sim
