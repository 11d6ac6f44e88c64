// SPDX-License-Identifier: BSD-3-Clause
// Metrics of exporters: samples, and their conversion by the rules.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "appliance/common/scrape/metric_rules.h"
#include "base/utf8.h"
#include "dataplane/telemetry/prometheus_text.h"
#include "tests/fuzz/require.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace rocescope;
  static const MetricRules rules({});
  uint64_t samples = 0;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const PrometheusLines lines = ParsePrometheusText(text, [&](const PrometheusSample& sample) {
    ++samples;
    Require(!sample.name.empty(), "a sample has a name");
    if (const auto record = rules.Read(sample, "node")) {
      Require(!record->entity.node.empty(), "a counter has a node");
      Require(IsUtf8(record->entity.node) && IsUtf8(record->entity.port), "names are UTF-8");
    }
  });
  Require(lines.samples == samples, "each sample is reported");
  Require(lines.first_broken.empty() == (lines.broken == 0), "the first malformed line is shown");
  return 0;
}
