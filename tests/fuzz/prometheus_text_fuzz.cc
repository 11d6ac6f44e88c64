// SPDX-License-Identifier: BSD-3-Clause
// What an exporter may say: samples, and what the rules make of them.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "appliance/common/scrape/metric_rules.h"
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
      Require(!record->entity.node.empty(), "a counter is somebody's");
    }
  });
  Require(lines.samples == samples, "each sample is handed over");
  Require(lines.first_broken.empty() == (lines.broken == 0), "the first broken line is shown");
  return 0;
}
