// SPDX-License-Identifier: BSD-3-Clause
#include "sim/flow/collective_cost.h"

#include <algorithm>
#include <map>
#include <utility>

namespace rocescope::sim {
namespace {

// Bytes without FCS: Ethernet 14, IPv4 20, UDP 8, BTH 12, iCRC 4.
constexpr double kHeaders = 58;
constexpr double kReth = 16;
constexpr double kImmediate = 4;
constexpr double kAeth = 4;
constexpr double kClearToSend = 64;
constexpr double kWireOverhead = 24;  // FCS, preamble, gap
constexpr SimTime kLocalLatency = 2 * kMicrosecond;

uint64_t CeilDivide(uint64_t a, uint64_t b) { return (a + b - 1) / b; }

// The transfers of a plan, and when they end. Plans list transfers after those that they depend on,
// and the transfers of a pair of ranks in order.
class Timeline {
 public:
  Timeline(const Plan& plan, const CollectiveCost::Placement& placement)
      : latency_(static_cast<double>(placement.latency) / kSecond),
        local_bytes_per_second_(placement.local_rate / 8),
        ready_(plan.transfers().size()) {}

  // Returns seconds. `pair_of` and `bytes` are indexed by transfer.
  double EndOf(const Plan& plan, const std::vector<uint32_t>& pair_of,
               const std::vector<double>& bytes, const std::vector<CollectiveCost::Pair>& pairs,
               double bytes_per_second, double slowdown) {
    std::fill(ready_.begin(), ready_.end(), 0.0);
    pair_free_.assign(pairs.size(), 0.0);
    // The first message of a pair waits for its clear-to-send.
    for (size_t pair = 0; pair < pairs.size(); ++pair) {
      if (!pairs[pair].is_local) pair_free_[pair] = latency_;
    }
    double end = 0;
    const auto transfers = plan.transfers();
    for (size_t i = 0; i < transfers.size(); ++i) {
      const bool is_local = pairs[pair_of[i]].is_local;
      const double compute = static_cast<double>(transfers[i].delay) / kSecond * slowdown;
      const double begin = std::max(ready_[i] + compute, pair_free_[pair_of[i]]);
      const double sent =
          begin + bytes[i] / (is_local ? local_bytes_per_second_ : bytes_per_second);
      pair_free_[pair_of[i]] = sent;
      const double arrival =
          sent + (is_local ? static_cast<double>(kLocalLatency) / kSecond : latency_);
      for (const uint32_t later : plan.DependantsOf(transfers[i])) {
        ready_[later] = std::max(ready_[later], arrival);
      }
      end = std::max(end, arrival);
    }
    return end;
  }

 private:
  double latency_;
  double local_bytes_per_second_;
  std::vector<double> ready_;
  std::vector<double> pair_free_;
};

}  // namespace

double Exchange::WireBytes() const { return bytes + frames * kWireOverhead; }
void Exchange::Add(const Exchange& other) {
  frames += other.frames;
  bytes += other.bytes;
  data_frames += other.data_frames;
  messages += other.messages;
  answer_frames += other.answer_frames;
  answer_bytes += other.answer_bytes;
}

Exchange Exchange::Divided(double by) const {
  return {.frames = frames / by,
          .bytes = bytes / by,
          .data_frames = data_frames / by,
          .messages = messages / by,
          .answer_frames = answer_frames / by,
          .answer_bytes = answer_bytes / by};
}

void Exchange::WithoutGrants() {
  frames -= messages;
  bytes -= messages * (kHeaders + kAeth);
  answer_frames -= messages;
  answer_bytes -= messages * (kHeaders + kReth + kClearToSend);
}

double Exchange::DataBytes() const {
  const double acks = frames - data_frames;
  return bytes - acks * (kHeaders + kAeth);
}

double Exchange::PayloadBytes() const {
  return DataBytes() - data_frames * kHeaders - messages * (kReth + kImmediate);
}

double Exchange::GrantBytes() const {
  return messages * (kHeaders + kReth + kClearToSend) * (frames > data_frames ? 1 : 0);
}

double Exchange::AnswerWireBytes() const { return answer_bytes + answer_frames * kWireOverhead; }

void AddTransfer(const MessageSizes& sizes, uint64_t payload, Exchange& exchange) {
  const auto add = [&](uint64_t message, uint64_t count) {
    const auto times = static_cast<double>(count);
    const auto data = static_cast<double>(std::max<uint64_t>(1, CeilDivide(message, sizes.mtu)));
    const auto acks =
        static_cast<double>(CeilDivide(static_cast<uint64_t>(data), std::max(1u, sizes.ack_every)));
    exchange.messages += times;
    exchange.data_frames += times * data;
    exchange.frames += times * (data + 1);  // 1: the ACK of the clear-to-send
    exchange.bytes += times * (static_cast<double>(message) + data * kHeaders + kReth + kImmediate +
                               kHeaders + kAeth);
    exchange.answer_frames += times * (acks + 1);
    exchange.answer_bytes += times * (acks * (kHeaders + kAeth) + kHeaders + kReth + kClearToSend);
  };
  const uint64_t whole = payload / sizes.chunk;
  if (whole > 0) add(sizes.chunk, whole);
  if (payload % sizes.chunk != 0) add(payload % sizes.chunk, 1);
}

CollectiveCost::CollectiveCost(const Plan& plan, const MessageSizes& sizes,
                               const Placement& placement)
    : line_bytes_per_second_(placement.line_rate / 8) {
  std::map<std::pair<uint32_t, uint32_t>, uint32_t> numbers;  // pairs, by ranks
  const auto transfers = plan.transfers();
  std::vector<uint32_t> pair_of(transfers.size());
  std::vector<double> bytes(transfers.size());
  for (size_t i = 0; i < transfers.size(); ++i) {
    const Plan::Transfer& transfer = transfers[i];
    const auto [at, is_new] =
        numbers.try_emplace({transfer.from, transfer.to}, static_cast<uint32_t>(pairs_.size()));
    if (is_new) {
      pairs_.push_back({.from = transfer.from,
                        .to = transfer.to,
                        .is_local = placement.same_host(transfer.from, transfer.to)});
    }
    pair_of[i] = at->second;
    Pair& pair = pairs_[at->second];
    ++pair.transfers;
    if (pair.is_local) {
      bytes[i] = static_cast<double>(transfer.bytes);
      continue;
    }
    Exchange exchange;
    AddTransfer(sizes, transfer.bytes, exchange);
    bytes[i] = exchange.WireBytes();
    pair.traffic.Add(exchange);
  }
  FindBursts(plan, pair_of);
  Timeline timeline(plan, placement);
  for (size_t i = 0; i < kRates; ++i) {
    const double rate = line_bytes_per_second_ / static_cast<double>(1u << i);
    seconds_[i] = timeline.EndOf(plan, pair_of, bytes, pairs_, rate, 1);
  }
  computation_ =
      timeline.EndOf(plan, pair_of, bytes, pairs_, line_bytes_per_second_, 2) - seconds_[0];
  critical_bytes_ = std::max(1.0, (seconds_[1] - seconds_[0]) * line_bytes_per_second_);
}

void CollectiveCost::FindBursts(const Plan& plan, const std::vector<uint32_t>& pair_of) {
  const auto transfers = plan.transfers();
  std::vector<uint32_t> last(pairs_.size(), UINT32_MAX);  // transfer, by pair
  std::vector<uint32_t> reached_from(transfers.size(), UINT32_MAX);
  std::vector<uint32_t> open;
  for (uint32_t to = 0; to < transfers.size(); ++to) {
    const uint32_t from = std::exchange(last[pair_of[to]], to);
    if (from == UINT32_MAX || pairs_[pair_of[to]].is_local) continue;
    // Transfers follow those on which they depend.
    open.assign(1, from);
    bool waits = false;
    while (!open.empty() && !waits) {
      const uint32_t at = open.back();
      open.pop_back();
      for (const uint32_t later : plan.DependantsOf(transfers[at])) {
        if (later > to || reached_from[later] == from) continue;
        reached_from[later] = from;
        waits |= later == to;
        open.push_back(later);
      }
    }
    pairs_[pair_of[to]].bursts += waits;
  }
}

SimTime CollectiveCost::Duration(double bytes_per_second, double slowdown) const {
  // Linear in the time of a byte between the computed rates, and beyond the last one.
  const double times = std::max(1.0, line_bytes_per_second_ / bytes_per_second);
  size_t at = 0;
  while (at + 2 < kRates && times > static_cast<double>(1u << (at + 1))) ++at;
  const double below = static_cast<double>(1u << at);
  const double seconds = seconds_[at] + (seconds_[at + 1] - seconds_[at]) * (times - below) / below;
  constexpr double kForever = 4e6;  // seconds; longer than any run
  return static_cast<SimTime>(std::min(kForever, seconds + computation_ * (slowdown - 1)) *
                              kSecond);
}

}  // namespace rocescope::sim
