// SPDX-License-Identifier: BSD-3-Clause
// For tests: counters whose values are known at any time, and a sink that keeps all readings.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "dataplane/run/counter_columns.h"
#include "sim/recording/exact_counters.h"

namespace rocescope::sim {

inline constexpr Timestamp kFakeBegin = FromNanoseconds(1'750'000'000'000'000'000);

// Switches leaf0, leaf1, ... with a port and its priority 3 each, and as many hosts with a NIC and
// a GPU. All counters of entity e increase by e + 1 in each microsecond.
class FakeCounters final : public ExactCounters {
 public:
  FakeCounters(uint32_t switches, Duration length) : length_(length) {
    for (uint32_t i = 0; i < switches; ++i) {
      CounterEntity port{.kind = EntityKind::kPort, .node = "leaf" + std::to_string(i)};
      port.port = "Ethernet1";
      Add(port, i,
          {Metric::kRxPackets, Metric::kTxPackets, Metric::kRxDiscards, Metric::kLinkSpeed});
      port.priority = 3;
      Add(port, i, {Metric::kPfcRx, Metric::kQueueWatermark});
    }
    for (uint32_t i = 0; i < switches; ++i) {
      CounterEntity nic{.kind = EntityKind::kNic, .node = "host" + std::to_string(i)};
      nic.port = "mlx5_0";
      Add(nic, switches + i, {Metric::kRxPackets, Metric::kTxPackets});
      CounterEntity gpu{.kind = EntityKind::kGpu, .node = nic.node};
      gpu.index = 0;
      Add(gpu, switches + i, {Metric::kGpuClock});
    }
  }

  static uint64_t CountAt(uint32_t entity, Timestamp time) {
    return static_cast<uint64_t>((time - kFakeBegin).count() / 1000) * (entity + 1);
  }
  static constexpr uint64_t kSpeed = 400'000'000'000;

  std::span<const Entity> entities() const override { return entities_; }
  Timestamp begin() const override { return kFakeBegin; }
  Timestamp end() const override { return kFakeBegin + length_; }
  std::vector<Outage> OutagesOf(uint32_t) const override {
    if (down_from == Timestamp::max()) return {};
    return {{.begin = down_from, .end = down_until}};
  }
  // At the time `spike`, a queue was full for a moment.
  bool Read(uint32_t entity, Timestamp since, Timestamp time, std::span<uint64_t> out) override {
    in_order = in_order && since <= time && last_[entity] <= time && time <= end();
    last_[entity] = time;
    if (time >= down_from && time < down_until) return false;
    const std::vector<Metric>& metrics = entities_[entity].metrics;
    for (size_t i = 0; i < metrics.size(); ++i) {
      out[i] = metrics[i] == Metric::kLinkSpeed || metrics[i] == Metric::kGpuClock ? kSpeed
               : metrics[i] == Metric::kQueueWatermark ? (spike > since && spike <= time ? 1000 : 1)
                                                       : CountAt(entity, time);
    }
    return true;
  }
  void Rewind() { std::fill(last_.begin(), last_.end(), Timestamp::min()); }

  Timestamp spike = Timestamp::max();
  Timestamp down_from = Timestamp::max();  // no device reports anything
  Timestamp down_until = Timestamp::max();
  bool in_order = true;  // the caller respects the contract of Read

 private:
  void Add(const CounterEntity& entity, topology::NodeIndex node, std::vector<Metric> metrics) {
    entities_.push_back({.entity = entity, .node = node, .metrics = std::move(metrics)});
    last_.push_back(Timestamp::min());
  }

  const Duration length_;
  std::vector<Entity> entities_;
  std::vector<Timestamp> last_;
};

class KeptReadings final : public CounterSink {
 public:
  struct Reading {
    uint32_t number = 0;
    Timestamp time;
    Timestamp arrival;
    std::vector<uint64_t> values;

    friend bool operator==(const Reading&, const Reading&) = default;
  };

  uint32_t Announce(const CounterEntity& entity, std::span<const Metric> metrics) override {
    entities.push_back(entity);
    metrics_of.emplace_back(metrics.begin(), metrics.end());
    return static_cast<uint32_t>(entities.size() - 1);
  }
  void Append(uint32_t number, Timestamp time, Timestamp arrival,
              std::span<const uint64_t> values) override {
    in_order = in_order && (readings.empty() || readings.back().arrival <= arrival) &&
               values.size() == metrics_of[number].size();
    readings.push_back({number, time, arrival, {values.begin(), values.end()}});
  }

  // The readings of one entity in order of arrival.
  std::vector<Reading> Of(const CounterEntity& entity) const {
    std::vector<Reading> found;
    for (const Reading& reading : readings) {
      if (entities[reading.number] == entity) found.push_back(reading);
    }
    return found;
  }

  std::vector<CounterEntity> entities;
  std::vector<std::vector<Metric>> metrics_of;
  std::vector<Reading> readings;
  bool in_order = true;
};

}  // namespace rocescope::sim
