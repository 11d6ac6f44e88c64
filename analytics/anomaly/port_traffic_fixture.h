// SPDX-License-Identifier: BSD-3-Clause
// Port counters of constructed jobs, for tests.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "analytics/anomaly/detector.h"
#include "topology/fabric.h"

namespace rocescope {

// Seconds since the beginning.
struct Period {
  double from = 0;
  double until = 0;

  double Overlap(double a, double b) const {
    return std::max(std::min(until, b) - std::max(from, a), 0.0);
  }
};

struct TrafficOfJob {
  std::vector<uint32_t> ports;
  double rate = 5e9;  // bytes/s of a port in each direction
  std::vector<Period> active;
};

struct PortFault {
  uint32_t port = 0;
  Period period;
  double fcs_errors = 0;  // per second
  double slowdown = 1;    // factor of the traffic
};

// Switches without links, as an import of counters without a topology creates them.
inline topology::Fabric SwitchesWithPorts(uint32_t switches, uint32_t ports) {
  topology::Fabric::Parts parts;
  parts.name = "ports";
  for (uint32_t i = 0; i < switches; ++i) {
    topology::Node node;
    node.name = "leaf" + std::to_string(i);
    node.tier = topology::Tier::kLeaf;
    node.first_port = i * ports;
    node.port_count = ports;
    parts.nodes.push_back(node);
    for (uint32_t port = 1; port <= ports; ++port) {
      topology::Port one;
      one.node = i;
      one.number = port;
      one.name = "Ethernet" + std::to_string(port);
      parts.ports.push_back(one);
    }
  }
  return topology::Fabric::Make(std::move(parts)).value();
}

inline std::vector<uint32_t> PortsFrom(uint32_t first, uint32_t count, uint32_t step = 1) {
  std::vector<uint32_t> ports;
  for (uint32_t i = 0; i < count; ++i) ports.push_back(first + i * step);
  return ports;
}

class PortTraffic {
 public:
  static constexpr double kWindowSeconds = 15;
  static constexpr Duration kWindow = std::chrono::seconds(15);
  static constexpr Timestamp kBeginning = Timestamp(std::chrono::hours(24));

  explicit PortTraffic(const topology::Fabric& fabric) : fabric_(fabric) {}

  std::vector<TrafficOfJob> jobs;
  std::vector<PortFault> faults;
  double noise = 0.1;     // largest relative variation of a job in a window
  bool staggered = true;  // each port is read at another time within a window
  bool fcs_counters = false;

  static Timestamp At(double seconds) {
    return kBeginning + Duration(static_cast<int64_t>(seconds * 1e9));
  }

  // Everything that the detector finds, and only the episodes of jobs, which takes less time.
  Anomalies Run(double seconds, int update_each = 16) const {
    AnomalyDetector detector(fabric_);
    Feed(seconds, update_each, [&](const MetricStore& metrics) { detector.Update(metrics); });
    return detector.Answer();
  }
  std::vector<Episode> Episodes(double seconds, int update_each = 16) const {
    EpisodeTracker tracker(fabric_, kWindow);
    Feed(seconds, update_each, [&](const MetricStore& metrics) { tracker.Update(metrics); });
    return tracker.Episodes();
  }

 private:
  template <typename Update>
  void Feed(double seconds, int update_each, Update update) const {
    MetricStore metrics(fabric_, {.window = kWindow});
    const auto ports = static_cast<uint32_t>(fabric_.ports().size());
    std::vector<double> bytes(ports), errors(ports), read(ports);
    const int readings = static_cast<int>(seconds / kWindowSeconds);
    for (int reading = 0; reading <= readings; ++reading) {
      for (uint32_t port = 0; port < ports; ++port) {
        const double phase = staggered ? kWindowSeconds * Draw(port, 0) : 0;
        const double now = reading * kWindowSeconds + phase;
        if (reading > 0) Grow(port, reading, read[port], now, bytes[port], errors[port]);
        read[port] = now;
        Read(metrics, port, Metric::kRxBytes, bytes[port], now);
        Read(metrics, port, Metric::kTxBytes, bytes[port] * 0.98, now);
        if (fcs_counters) Read(metrics, port, Metric::kFcsErrors, errors[port], now);
      }
      if (reading % update_each == 0) update(metrics);
    }
    update(metrics);
  }

  // A number from 0 to 1 that depends on both arguments.
  static double Draw(uint64_t a, uint64_t b) {
    uint64_t mixed = (a << 32) + b + 0x9e3779b97f4a7c15;
    mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9;
    mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111eb;
    return static_cast<double>((mixed ^ (mixed >> 31)) >> 11) / 9007199254740992.0;
  }

  void Grow(uint32_t port, int reading, double from, double until, double& bytes,
            double& errors) const {
    double growth = 0;
    for (const TrafficOfJob& job : jobs) {
      if (std::ranges::find(job.ports, port) == job.ports.end()) continue;
      for (const Period& active : job.active) growth += job.rate * active.Overlap(from, until);
    }
    const auto number = static_cast<uint64_t>(reading);
    growth *= 1 + noise * (2 * Draw(port, number) - 1);
    for (const PortFault& fault : faults) {
      if (fault.port != port) continue;
      const double part = fault.period.Overlap(from, until) / (until - from);
      growth *= 1 - part * (1 - fault.slowdown);
      errors += fault.fcs_errors * fault.period.Overlap(from, until);
    }
    constexpr double kIdle = 50e3;  // bytes/s of management traffic
    bytes += growth + kIdle * (until - from) * Draw(port + 100'000, number);
  }

  void Read(MetricStore& metrics, uint32_t port, Metric metric, double value, double now) const {
    metrics.Add({.entity = {.kind = EntityKind::kPort,
                            .node = fabric_.node(fabric_.port(port).node).name,
                            .port = fabric_.port(port).name},
                 .metric = metric,
                 .value = static_cast<uint64_t>(value),
                 .event_time = At(now)});
  }

  const topology::Fabric& fabric_;
};

}  // namespace rocescope
