// SPDX-License-Identifier: BSD-3-Clause
// An hour of sim/scenarios/day.yaml: 2,048 GPUs. Set ROCESCOPE_HOURS for a longer part of the day.
#include <benchmark/benchmark.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>

#include "sim/flow/flow_model.h"

namespace rocescope::sim {
namespace {

void BM_Day(benchmark::State& state) {
  std::ifstream file(ROCESCOPE_DAY);
  const std::string text(std::istreambuf_iterator<char>(file), {});
  auto scenario = LoadScenario(text, ROCESCOPE_DAY);
  if (!scenario) {
    state.SkipWithError(scenario.error().message.c_str());
    return;
  }
  const char* const hours = std::getenv("ROCESCOPE_HOURS");
  scenario->duration = (hours == nullptr ? 1 : std::atoi(hours)) * 3600 * kSecond;
  for (auto _ : state) {
    auto model = FlowModel::Make(*scenario);
    if (!model) {
      state.SkipWithError(model.error().message.c_str());
      return;
    }
    (*model)->Run(nullptr);
    size_t points = 0;
    for (const Series& series : (*model)->history().series) points += series.points().size();
    size_t terms = 0;
    for (const FlowHistory::Value& value : (*model)->history().values) terms += value.terms.size();
    state.counters["events"] = static_cast<double>((*model)->events());
    state.counters["solutions"] = static_cast<double>((*model)->solutions());
    state.counters["series"] = static_cast<double>((*model)->history().series.size());
    state.counters["points"] = static_cast<double>(points);
    state.counters["terms"] = static_cast<double>(terms);
    state.counters["entities"] = static_cast<double>((*model)->history().entities.size());
  }
}
BENCHMARK(BM_Day)->Unit(benchmark::kSecond)->Iterations(1);

}  // namespace
}  // namespace rocescope::sim
