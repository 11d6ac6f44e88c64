// SPDX-License-Identifier: BSD-3-Clause
// Random choices. Each drawn quantity has its own random stream, so that one more draw of one
// quantity does not change the others.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/engine/random.h"
#include "sim/engine/time.h"

namespace rocescope::sim {

class RandomSource {
 public:
  RandomSource(uint64_t seed, std::string_view purpose, uint64_t number)
      : random_(seed, purpose, number) {}

  bool Chance(double probability) { return random_.Chance(probability); }
  // Returns a number in [least, most], including both ends.
  uint64_t Between(uint64_t least, uint64_t most) {
    return least + random_.Below(most - least + 1);
  }
  double Uniform(double least, double most) { return least + (most - least) * random_.Uniform(); }
  // Draws with a uniform logarithm: each decade is equally likely.
  double LogUniform(double least, double most) {
    return least * std::pow(most / least, random_.Uniform());
  }
  // Returns a whole number of microseconds.
  SimTime Time(SimTime least, SimTime most) {
    return static_cast<SimTime>(Between(static_cast<uint64_t>(least / kMicrosecond),
                                        static_cast<uint64_t>(most / kMicrosecond))) *
           kMicrosecond;
  }
  // Picks an element; the container must not be empty.
  template <typename T>
  const T& Pick(const std::vector<T>& choices) {
    return choices[random_.Below(choices.size())];
  }
  // Returns an index into `weights`, whose sum must be above 0.
  size_t Weighted(const std::vector<double>& weights) {
    double sum = 0;
    for (const double weight : weights) sum += weight;
    double left = sum * random_.Uniform();
    size_t last = 0;  // rounding may leave a small remainder after the last entry
    for (size_t i = 0; i < weights.size(); ++i) {
      if (weights[i] <= 0) continue;
      last = i;
      if (left < weights[i]) break;
      left -= weights[i];
    }
    return last;
  }
  template <typename T>
  void Shuffle(std::vector<T>& items) {
    for (size_t i = items.size(); i > 1; --i) std::swap(items[i - 1], items[random_.Below(i)]);
  }

 private:
  Random random_;
};

}  // namespace rocescope::sim
