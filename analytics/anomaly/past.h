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
  // The models are fitted to `part`, which contains indices of windows of the panel. `others` are
  // the other windows of the past; they also calibrate the scores.
  Past(const Panel& panel, std::span<const size_t> part, std::span<const size_t> others,
       const PastOptions& options);

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
    std::vector<float> own;      // indexed by metric and entity
    std::array<std::unique_ptr<AnomalyModel>, kAnomalyModels> models;
    std::array<Tail, kAnomalyModels> tails;
  };
  // Deviations of one metric in one window.
  struct Deviations {
    std::vector<float> own;    // by entity; NaN: unknown
    std::vector<float> peers;  // the same, without the median
    double shift = 0;          // median of the entities
    double disunity = 0;       // spread of the entities around that median
  };
  // A window of an entity that the models use.
  struct Place {
    size_t window = 0;
    size_t entity = 0;
    bool is_fitted = false;  // false: only calibrates the scores
    bool is_known = false;   // any of its values is known
  };
  struct RowPair {
    Rows own;
    Rows peers;
  };

  std::vector<Place> ChoosePlaces(std::span<const size_t> windows, size_t part) const;
  // Returns whether anything deviates.
  bool Compare(const Panel& panel, size_t metric, std::span<const size_t> windows, size_t part,
               std::span<Deviations> all);
  void CompareWithPeers(Deviations& deviations) const;
  Deviations DeviationsIn(const Panel& window, size_t metric) const;
  void FindSpreads(size_t metric, std::span<const Deviations> all);
  void SetSpread(size_t metric, std::span<const std::span<const float>> windows, View& view) const;
  double Scaled(const View& view, size_t metric, size_t entity, float deviation,
                double disunity) const;
  // Sets the values of one metric in a row.
  void FillRow(const Deviations& deviations, size_t metric, size_t entity, size_t row,
               RowPair& rows) const;
  RowPair RowsOf(size_t count) const;
  bool Fit(View& view, const Rows& seen, size_t fitted) const;

  PastOptions options_;
  size_t entities_ = 0;
  size_t width_ = 0;
  std::vector<float> middle_;  // usual value by metric and entity; NaN: unknown
  View own_;
  View peers_;
  bool has_peers_ = false;
  bool fitted_ = false;
};

}  // namespace rocescope
