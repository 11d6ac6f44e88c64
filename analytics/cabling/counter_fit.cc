// SPDX-License-Identifier: BSD-3-Clause
#include "analytics/cabling/counter_fit.h"

#include <algorithm>
#include <limits>
#include <span>

namespace rocescope {
namespace {

template <typename Value>
uint64_t BusiestPeriod(std::span<const PortReading> readings, Value value) {
  uint64_t most = 0;
  for (size_t i = 1; i < readings.size(); ++i) {
    most = std::max(most, value(readings[i]) - value(readings[i - 1]));
  }
  return most;
}

// Bytes since the first reading; differences of a few of them fit into 64 bits.
constexpr uint64_t kMaxBytes = uint64_t{1} << 60;

bool IsWithin(std::span<const PortReading> readings) {
  if (readings.empty()) return true;
  return readings.back().received - readings.front().received <= kMaxBytes &&
         readings.back().sent - readings.front().sent <= kMaxBytes;
}

}  // namespace

// A counter only grows: at a time between two of the sender's readings it stood between their
// values. So received less sent is known within bounds at each of the receiver's readings, and it
// can only fall but for what is on the way.
CounterFit CompareCounters(const PortHistory& sender, const PortHistory& receiver,
                           const FitTolerance& tolerance) {
  CounterFit fit;
  const std::span<const PortReading> out = sender.readings();
  const std::span<const PortReading> in = receiver.readings();
  if (!IsWithin(out) || !IsWithin(in)) return fit;
  const uint64_t busiest =
      std::max(BusiestPeriod(out, [](const PortReading& reading) { return reading.sent; }),
               BusiestPeriod(in, [](const PortReading& reading) { return reading.received; }));
  fit.tolerance =
      tolerance.bytes + static_cast<uint64_t>(tolerance.periods * static_cast<double>(busiest));
  constexpr int64_t kFar = std::numeric_limits<int64_t>::max() / 4;
  int64_t least = kFar;  // of received less sent, at the most
  int64_t most = -kFar;  // at the least
  size_t at = 0;
  const PortReading* first = nullptr;
  for (const PortReading& reading : in) {
    while (at + 1 < out.size() && out[at + 1].time <= reading.time) ++at;
    if (at >= out.size() || out[at].time > reading.time) continue;
    const bool same = out[at].time == reading.time;
    if (!same && at + 1 == out.size()) break;
    // What was counted before the first readings is the same in all differences.
    const auto received = static_cast<int64_t>(reading.received - in.front().received);
    const auto sent = [&](size_t i) {
      return static_cast<int64_t>(out[i].sent - out.front().sent);
    };
    const int64_t low = received - sent(same ? at : at + 1);
    const int64_t high = received - sent(at);
    if (first == nullptr) first = &reading;
    ++fit.readings;
    fit.received = reading.received - first->received;
    if (fit.readings > 1) {
      const auto excess = static_cast<uint64_t>(std::max<int64_t>(low - least, 0));
      if (excess > fit.tolerance && fit.since == Timestamp{}) fit.since = reading.time;
      fit.excess = std::max(fit.excess, excess);
      fit.shortage =
          std::max(fit.shortage, static_cast<uint64_t>(std::max<int64_t>(most - high, 0)));
    }
    least = std::min(least, high);
    most = std::max(most, low);
  }
  fit.allowed =
      fit.tolerance + static_cast<uint64_t>(tolerance.share * static_cast<double>(fit.received));
  return fit;
}

}  // namespace rocescope
