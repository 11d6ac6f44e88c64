// SPDX-License-Identifier: BSD-3-Clause
// What a part of a role's past was like, and how odd a window is by it.
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
  size_t fewest_windows = 3;  // of an entity, in the part
  size_t fewest_peers = 4;    // entities of the role that tell how all of it moved
  size_t fewest_rows = 24;    // of all entities
  size_t most_rows = 4096;    // that models are fitted to: beyond, some are left out evenly
  double least_spread = 0.3;  // of a stretched metric: a third, or a third of a grain near 0
};

// An entity's window by each model, as probabilities of one as odd.
struct Oddness {
  bool judged = false;                            // the following; else its past does not suffice
  std::array<double, kAnomalyModels> by_own{};    // as far from its own past
  std::array<double, kAnomalyModels> by_peers{};  // as far from what its peers did then

  // Of both together, as both must be odd: by what the middle one of the models says.
  double Probability() const;
  double OwnProbability() const;
  double OfModel(size_t model) const { return std::max(by_own[model], by_peers[model]); }
};

class Past {
 public:
  // `in_part` and `counts` say of a window, and of an entity in a window, whether they are of it.
  using Choice = std::vector<std::vector<bool>>;  // by window, entity; none: not of this part
  // `others`: the rest of the past, by which the scores are calibrated too.
  Past(const Panel& panel, const Choice& counts, const Choice& others, const PastOptions& options);

  bool fitted() const { return fitted_; }
  bool has_peers() const { return has_peers_; }

  // Of a panel of one window and the same entities and metrics.
  std::vector<Oddness> Judge(const Panel& window) const;
  // The metrics of one entity in it, the largest share first.
  std::vector<MetricDeviation> Explain(const Panel& window, size_t entity, Duration width) const;

 private:
  // A way to look: at deviations from the own past, or at how these differ from the peers'.
  struct View {
    std::vector<double> spread;  // by metric, of all entities
    std::vector<float> own;      // by entity, metric
    std::array<std::unique_ptr<AnomalyModel>, kAnomalyModels> models;
    std::array<Tail, kAnomalyModels> tails;
  };
  // Deviations of all entities in one window, by entity and metric.
  struct Deviations {
    std::vector<float> own;
    std::vector<float> peers;
    std::vector<double> shift;     // by metric: the peers' middle
    std::vector<double> disunity;  // how far peers are from it
  };

  struct RowPair {
    Rows own;
    Rows peers;
  };

  Deviations DeviationsOf(const Panel& panel, size_t window, const std::vector<bool>& counts) const;
  Deviations DeviationsIn(std::vector<float> values) const;
  // Of those that count.
  void AddRows(const Deviations& deviations, const std::vector<bool>& counts, size_t window,
               size_t windows, RowPair& rows) const;
  void CompareWithPeers(Deviations& deviations) const;
  bool Fit(View& view, const Rows& fitted, const Rows& seen) const;
  std::vector<double> RowOf(const View& view, std::span<const float> deviations, size_t entity,
                            std::span<const double> disunity) const;

  PastOptions options_;
  size_t entities_ = 0;
  size_t width_ = 0;
  std::vector<float> middle_;  // by entity, metric: what is usual; not a number: not known
  View own_;
  View peers_;
  bool has_peers_ = false;
  bool fitted_ = false;
};

}  // namespace rocescope
