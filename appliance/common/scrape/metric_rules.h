// SPDX-License-Identifier: BSD-3-Clause
// Which of an exporter's metrics are counters of ours, and whose.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "appliance/common/config/config.h"
#include "dataplane/record/record.h"
#include "dataplane/telemetry/prometheus_text.h"

namespace rocescope {

// Of many threads, once it is made.
class MetricRules {
 public:
  // Those that are built in, and `more`, which stand before them. Built in are
  // - fabric_ENTITY_METRIC, with names as in counters.jsonl and the labels node, port, priority,
  // gpu:
  //   for exporters that are written for rocescope;
  // - DCGM_FI_DEV_..., as dcgm-exporter has them, with the labels gpu and Hostname.
  explicit MetricRules(const std::vector<MetricRule>& more);

  // What a sample says; times are left to the caller. None: no rule is about it, or its labels do
  // not say whose it is, or it is not a number from 0 on. `node` is meant where no label names one.
  std::optional<CounterRecord> Read(const PrometheusSample& sample, const std::string& node) const;

 private:
  std::unordered_map<std::string, MetricRule> rules_;
};

}  // namespace rocescope
