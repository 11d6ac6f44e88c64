// SPDX-License-Identifier: BSD-3-Clause
// A model of one part of a role's past, and the probability of a window given that part.
#pragma once

#include <array>
#include <memory>
#include <span>
#include <vector>

#include "analytics/anomaly/model.h"
#include "analytics/anomaly/panel.h"
#include "analytics/anomaly/tail.h"

namespace rocescope {

struct PastOptions {
  size_t fewest_windows = 3;  // minimum windows of an entity in this part
  size_t fewest_peers = 4;    // entities of the role needed to estimate the shift of the whole role
  size_t fewest_rows = 24;    // minimum rows of all entities together
  // Rows used to fit models; if there are more, an evenly spaced sample is used.
  size_t most_rows = 4096;
  // Minimum spread of a value as returned by Stretched (panel.h): 30 %, or 0.3 grains near 0.
  double least_spread = 0.3;
};

// Probabilities, by model, that a normal window of the entity is at least this unusual.
struct Oddness {
  bool judged = false;  // whether the members below are set; false: too little past
  std::array<double, kAnomalyModels> by_own{};    // deviation from the entity's own past
  std::array<double, kAnomalyModels> by_peers{};  // deviation from its peers in the same window

  // The larger of both probabilities of the median model, because a window must deviate from both
  // the entity's own past and its peers.
  double Probability() const;
  double OwnProbability() const;
  double OfModel(size_t model) const { return std::max(by_own[model], by_peers[model]); }
};

class Past {
 public:
  // Selects entities in windows: indexed by window, then by entity. An empty row excludes the
  // window.
  using Choice = std::vector<std::vector<bool>>;
  // `counts` selects the windows to which the models are fitted. `others` selects the other windows
  // of the past; they also calibrate the scores.
  Past(const Panel& panel, const Choice& counts, const Choice& others, const PastOptions& options);

  bool fitted() const { return fitted_; }
  bool has_peers() const { return has_peers_; }

  // `window` contains one window with the same entities and metrics.
  std::vector<Oddness> Judge(const Panel& window) const;
  // Returns the metrics of one entity in the window, largest share first.
  std::vector<MetricDeviation> Explain(const Panel& window, size_t entity, Duration width) const;

 private:
  // Parameters for one kind of deviation: from the entity's own past, or from its peers.
  struct View {
    std::vector<double> spread;  // indexed by metric, over all entities
    std::vector<float> own;      // indexed by entity and metric
    std::array<std::unique_ptr<AnomalyModel>, kAnomalyModels> models;
    std::array<Tail, kAnomalyModels> tails;
  };
  // Deviations of all entities in one window, by entity and metric.
  struct Deviations {
    std::vector<float> own;
    std::vector<float> peers;
    std::vector<double> shift;     // median of the peers, by metric
    std::vector<double> disunity;  // spread of the peers around that median, by metric
  };

  struct RowPair {
    Rows own;
    Rows peers;
  };

  Deviations DeviationsOf(const Panel& panel, size_t window, const std::vector<bool>& counts) const;
  Deviations DeviationsIn(std::vector<float> values) const;
  // Adds only rows that `counts` selects.
  void AddRows(const Deviations& deviations, const std::vector<bool>& counts, size_t window,
               size_t windows, RowPair& rows) const;
  void CompareWithPeers(Deviations& deviations) const;
  bool Fit(View& view, const Rows& fitted, const Rows& seen) const;
  void FindSpreads(std::span<const Deviations> part, std::span<const Deviations> others,
                   std::vector<float> Deviations::* kind, View& view) const;
  void AppendRow(const View& view, std::span<const float> deviations, size_t entity,
                 std::span<const double> disunity, std::vector<double>& rows) const;

  PastOptions options_;
  size_t entities_ = 0;
  size_t width_ = 0;
  std::vector<float> middle_;  // usual value by entity and metric; NaN: unknown
  View own_;
  View peers_;
  bool has_peers_ = false;
  bool fitted_ = false;
};

}  // namespace rocescope
