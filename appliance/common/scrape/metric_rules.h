// SPDX-License-Identifier: BSD-3-Clause
// Maps metrics of exporters to rocescope counters and their entities.
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

// Thread-safe after construction.
class MetricRules {
 public:
  // Rules in `more` take precedence over the built-in rules:
  // - fabric_ENTITY_METRIC, with the names of counters.jsonl and the labels node, port, priority
  // and gpu, for exporters that are written for rocescope;
  // - DCGM_FI_DEV_... of dcgm-exporter, with the labels gpu and Hostname.
  explicit MetricRules(const std::vector<MetricRule>& more);

  // Converts a sample; the caller sets the times of the record. None if no rule matches, the labels
  // do not identify the entity, a name is longer than kLongestEntityName, or the value is not a
  // nonnegative number. `node` applies if no label names a node. The caller checks whether the
  // exporter may report for the node.
  std::optional<CounterRecord> Read(const PrometheusSample& sample, const std::string& node) const;

 private:
  std::unordered_map<std::string, MetricRule> rules_;
};

}  // namespace rocescope
