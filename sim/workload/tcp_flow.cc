// SPDX-License-Identifier: BSD-3-Clause
#include "sim/workload/tcp_flow.h"

#include <algorithm>
#include <cmath>

#include "dataplane/wire/tcp.h"

namespace rocescope::sim {
namespace {

constexpr uint32_t kDuplicates = 3;      // duplicate ACKs that indicate a loss (RFC 5681)
constexpr uint32_t kSegmentsPerAck = 2;  // delayed ACKs
constexpr double kLeastThreshold = 2;    // segments
// Several flows share the NIC with its queue pairs: one flow uses at most half of its rate.
constexpr uint64_t kShareOfRate = 2;

}  // namespace

TcpFlow::TcpFlow(Network& network, const Options& options)
    : network_(network),
      options_(options),
      random_(options.seed, "tcp", network.queue_pair_count()),
      connection_(network.ConnectForeign(options.from, options.to, this)),
      spacing_(TransmitTime(kSegment + kHeaderBytes,
                            network.nic(options.from).port().bits_per_second() / kShareOfRate)),
      pace_(network.engine(), *this),
      timeout_(network.engine(), *this) {}

void TcpFlow::Begin() {
  next_ = options_.start;
  network_.engine().At(next_, [this] { NextMessage(); });
}

void TcpFlow::NextMessage() {
  const SimTime now = network_.engine().Now();
  if (now >= options_.end) return;
  posted_ += options_.message;
  const double mean = static_cast<double>(TransmitTime(
                          options_.message, connection_.first->nic().port().bits_per_second())) /
                      options_.load;
  next_ += static_cast<SimTime>(-mean * std::log(1 - random_.Uniform()));
  network_.engine().At(std::max(now, next_), [this] { NextMessage(); });
  Send();
}

// Sends what the window and the pace allow.
void TcpFlow::Send() {
  const SimTime now = network_.engine().Now();
  const auto window = static_cast<uint64_t>(window_) * kSegment;
  if (next_byte_ >= posted_ || next_byte_ - acknowledged_ >= window) return;
  if (now < ready_) {
    if (!pace_.armed()) pace_.Arm(ready_);
    return;
  }
  SendSegment(next_byte_);
  next_byte_ = std::min(posted_, next_byte_ + kSegment);
  furthest_ = std::max(furthest_, next_byte_);
  ready_ = now + spacing_;
  if (next_byte_ < posted_) pace_.Arm(ready_);
}

void TcpFlow::PaceEnds() { Send(); }

void TcpFlow::SendSegment(uint64_t from) {
  const auto payload = static_cast<uint32_t>(std::min<uint64_t>(kSegment, posted_ - from));
  Frame& frame = connection_.first->NewForeignFrame(payload, kHeaderBytes, options_.priority);
  frame.sequence = from;
  frame.opcode = wire::kTcpAck | (from + payload == posted_ ? wire::kTcpPush : 0);
  retransmitted_ += from < furthest_;
  connection_.first->nic().SendForeign(frame);
  if (!timeout_.armed()) {
    timeout_.Arm(network_.engine().Now() + options_.retransmission_timeout);
  }
}

void TcpFlow::Acknowledge() {
  unacknowledged_segments_ = 0;
  Frame& frame = connection_.second->NewForeignFrame(0, kHeaderBytes, options_.priority);
  frame.opcode = wire::kTcpAck;
  frame.granted_address = received_;
  connection_.second->nic().SendForeign(frame);
}

void TcpFlow::ReceiveForeign(QueuePair& receiver, const Frame& frame) {
  if (&receiver == connection_.second) {
    ReceiveData(frame);
  } else {
    ReceiveAcknowledgement(frame.granted_address);
  }
}

void TcpFlow::ReceiveData(const Frame& frame) {
  const uint64_t end = frame.sequence + frame.payload;
  if (frame.sequence > received_) {
    uint64_t& known = out_of_order_[frame.sequence];
    known = std::max(known, end);
    Acknowledge();  // a duplicate ACK
    return;
  }
  const bool filled = !out_of_order_.empty();
  received_ = std::max(received_, end);
  while (!out_of_order_.empty() && out_of_order_.begin()->first <= received_) {
    received_ = std::max(received_, out_of_order_.begin()->second);
    out_of_order_.erase(out_of_order_.begin());
  }
  const bool ends = (frame.opcode & wire::kTcpPush) != 0;
  if (filled || ends || ++unacknowledged_segments_ >= kSegmentsPerAck) Acknowledge();
}

void TcpFlow::ReceiveAcknowledgement(uint64_t acknowledged) {
  if (acknowledged > acknowledged_) {
    const double segments =
        static_cast<double>(acknowledged - acknowledged_) / static_cast<double>(kSegment);
    acknowledged_ = acknowledged;
    next_byte_ = std::max(next_byte_, acknowledged_);
    duplicates_ = 0;
    if (acknowledged_ < recovers_until_) {
      SendSegment(acknowledged_);  // a partial ACK: the next hole (RFC 6582)
    } else {
      // Slow start below the threshold, then one segment for each window.
      window_ += window_ < threshold_ ? segments : segments / window_;
      window_ = std::min<double>(window_, kLongestWindow);
    }
    if (acknowledged_ == furthest_) {
      timeout_.Disarm();
    } else {
      timeout_.Arm(network_.engine().Now() + options_.retransmission_timeout);
    }
  } else if (acknowledged_ < furthest_ && ++duplicates_ == kDuplicates &&
             acknowledged_ >= recovers_until_) {
    recovers_until_ = furthest_;
    threshold_ = window_ = std::max(kLeastThreshold, window_ / 2);
    SendSegment(acknowledged_);
  }
  Send();
}

// Goes back to the first unacknowledged byte.
void TcpFlow::TimeOut() {
  threshold_ = std::max(kLeastThreshold, window_ / 2);
  window_ = 1;
  duplicates_ = 0;
  recovers_until_ = 0;
  next_byte_ = acknowledged_;
  Send();
}

}  // namespace rocescope::sim
