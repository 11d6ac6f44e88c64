// SPDX-License-Identifier: BSD-3-Clause
// Parser of Prometheus' text format 0.0.4, and of the part of OpenMetrics 1.0 that is identical.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace rocescope {

struct PrometheusSample {
  std::string_view name;
  std::vector<std::pair<std::string_view, std::string>> labels;  // values: UTF-8, escapes resolved
  double value = 0;                                              // may be infinite or NaN
  // Since the epoch, magnitude at most 9e12 so that it fits into an int64_t in ns; unset: time of
  // the scrape.
  std::optional<int64_t> time_ms;

  // Empty if there is no such label.
  std::string_view Label(std::string_view name) const;
};

struct PrometheusLines {
  uint64_t samples = 0;
  uint64_t broken = 0;  // lines that are neither samples nor comments
  std::string first_broken;
};

// Calls `take` with each sample in order. The sample is valid until `take` returns.
PrometheusLines ParsePrometheusText(std::string_view text,
                                    const std::function<void(const PrometheusSample&)>& take);

}  // namespace rocescope
