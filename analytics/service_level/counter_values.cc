// SPDX-License-Identifier: BSD-3-Clause
#include "analytics/service_level/counter_values.h"

#include <algorithm>
#include <initializer_list>
#include <limits>

#include "analytics/service_level/window_share.h"

namespace rocescope {
namespace {

using Row = std::vector<double>;

constexpr double kNoValue = std::numeric_limits<double>::quiet_NaN();
// With fewer packets, a share of CE marks is meaningless.
constexpr double kFewestPackets = 64;

class Reader {
 public:
  Reader(const MetricStore& metrics, const Entity& entity, int64_t from, int64_t until)
      : metrics_(metrics), entity_(entity), from_(from), until_(until) {}

  Row None() const {
    return Row(static_cast<size_t>(std::max<int64_t>(0, until_ - from_)), kNoValue);
  }

  Row Of(Metric metric) const {
    Row row = None();
    if (const MetricSeries* series = metrics_.Find(entity_, metric)) Fill(metric, *series, row);
    return row;
  }

  // Sums these metrics over all priorities, for windows in which any of them was read.
  Row Sum(std::initializer_list<Metric> all) const {
    return Joined(all, [](double a, double b) { return a + b; });
  }
  Row Highest(std::initializer_list<Metric> all) const {
    return Joined(all, [](double a, double b) { return std::max(a, b); });
  }

  double WindowLength() const { return static_cast<double>(metrics_.window().count()); }

 private:
  void Fill(Metric metric, const MetricSeries& series, Row& row) const {
    if (InfoOf(metric).kind == MetricKind::kCounter) {
      for (size_t i = 0; i < row.size(); ++i) {
        const int64_t window = from_ + static_cast<int64_t>(i);
        const bool read = series.first_reading() <= metrics_.StartOf(window) &&
                          series.last_reading() >= metrics_.StartOf(window + 1) &&
                          series.IsKnown(window);
        if (read) row[i] = 0;
      }
    }
    const auto& windows = series.windows();
    auto at = std::ranges::lower_bound(windows, from_, {}, &WindowValue::window);
    for (; at != windows.end() && at->window < until_; ++at) {
      double& value = row[static_cast<size_t>(at->window - from_)];
      if (InfoOf(metric).kind == MetricKind::kGauge || HasValue(value)) {
        value = static_cast<double>(at->value);
      }
    }
  }

  template <typename Join>
  Row Joined(std::initializer_list<Metric> all, Join join) const {
    Row joined = None();
    const auto& entities = metrics_.entities();
    auto at = entities.lower_bound({.kind = entity_.kind, .index = entity_.index, .priority = 0});
    for (; at != entities.end(); ++at) {
      const Entity& entity = at->first;
      if (entity.kind != entity_.kind || entity.index != entity_.index) break;
      if (entity.all_gpus) continue;
      for (const auto& [metric, series] : at->second.series) {
        if (std::ranges::find(all, metric) == all.end()) continue;
        Row row = None();
        Fill(metric, series, row);
        for (size_t i = 0; i < row.size(); ++i) {
          if (!HasValue(row[i])) continue;
          joined[i] = HasValue(joined[i]) ? join(joined[i], row[i]) : row[i];
        }
      }
    }
    return joined;
  }

  const MetricStore& metrics_;
  const Entity entity_;
  const int64_t from_;
  const int64_t until_;
};

// The result is NaN where either operand is NaN.
Row Divided(Row row, const Row& by, double at_least) {
  for (size_t i = 0; i < row.size(); ++i) {
    row[i] = HasValue(by[i]) ? row[i] / std::max(by[i], at_least) : kNoValue;
  }
  return row;
}

Row Divided(Row row, double by) {
  for (double& value : row) value /= by;
  return row;
}

}  // namespace

std::vector<double> CounterValues(const MetricStore& metrics, const Entity& entity,
                                  ServiceIndicator indicator, int64_t from, int64_t until) {
  const Reader read(metrics, entity, from, until);
  switch (indicator) {
    case ServiceIndicator::kGpuUtilisationGap:
      return read.Of(Metric::kGpuUtilisation);
    case ServiceIndicator::kGpuTemperature:
      return read.Of(Metric::kTemperature);
    case ServiceIndicator::kGpuMemoryFree:
      return Divided(read.Of(Metric::kMemoryFree), read.Of(Metric::kMemoryTotal), 1);
    case ServiceIndicator::kCnpShare:
      return Divided(read.Of(Metric::kCnpHandled), read.Of(Metric::kTxPackets), kFewestPackets);
    case ServiceIndicator::kRetransmissions:
      return read.Sum(
          {Metric::kPacketSequenceError, Metric::kLocalAckTimeout, Metric::kOutOfSequence});
    case ServiceIndicator::kNicDiscards:
      return read.Sum({Metric::kRxDiscards, Metric::kRxErrors, Metric::kFcsErrors,
                       Metric::kOutOfBuffer, Metric::kIcrcErrors});
    case ServiceIndicator::kNicPaused:
      return Divided(read.Highest({Metric::kPfcRxTime, Metric::kPfcTxTime}), read.WindowLength());
    case ServiceIndicator::kCeShare:
      return Divided(read.Sum({Metric::kEcnMarked}), read.Of(Metric::kTxPackets), kFewestPackets);
    case ServiceIndicator::kPortPaused:
      return Divided(read.Highest({Metric::kPfcRxTime}), read.WindowLength());
    case ServiceIndicator::kFramesLost:
      return read.Sum({Metric::kRxErrors, Metric::kRxDiscards, Metric::kTxErrors,
                       Metric::kTxDiscards, Metric::kFcsErrors, Metric::kQueueDrops,
                       Metric::kTtlDrops, Metric::kNoRouteDrops, Metric::kMtuDrops});
    case ServiceIndicator::kUtilisation: {
      constexpr double kBits = 8;
      const double seconds = read.WindowLength() / 1e9;
      Row rate = Divided(read.Highest({Metric::kRxBytes, Metric::kTxBytes}), seconds / kBits);
      return Divided(std::move(rate), read.Of(Metric::kLinkSpeed), 1);
    }
    default:
      return read.None();
  }
}

}  // namespace rocescope
