// SPDX-License-Identifier: BSD-3-Clause
// What exporters say: Prometheus' text format 0.0.4, and of OpenMetrics 1.0 what is alike.
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
  std::vector<std::pair<std::string_view, std::string>> labels;  // values without their escapes
  double value = 0;                                              // may be infinite or not a number
  std::optional<int64_t> time_ms;  // since the epoch, at most 9e12 from it: in ns it is an int64_t
                                   // too; unset: when it was asked for

  // Empty: there is no such label.
  std::string_view Label(std::string_view name) const;
};

struct PrometheusLines {
  uint64_t samples = 0;
  uint64_t broken = 0;  // lines that are none, and no comments
  std::string first_broken;
};

// Calls `take` with each sample in order; what it is given lasts until it returns.
PrometheusLines ParsePrometheusText(std::string_view text,
                                    const std::function<void(const PrometheusSample&)>& take);

}  // namespace rocescope
