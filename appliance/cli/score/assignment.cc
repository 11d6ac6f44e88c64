// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/cli/score/assignment.h"

#include <limits>

namespace rocescope {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// The shortest augmenting path method for the assignment problem (Jonker and Volgenant, Computing
// 38, 1987) on costs, which are negated weights. Each row also has a column of its own with cost 0,
// which stands for no assignment. Rows and columns count from 1; column 0 holds the row that is
// being added.
class Solver {
 public:
  explicit Solver(std::span<const std::vector<double>> weights)
      : weights_(weights),
        rows_(weights.size()),
        real_columns_(weights.empty() ? 0 : weights[0].size()),
        columns_(real_columns_ + rows_),
        row_potential_(rows_ + 1),
        column_potential_(columns_ + 1),
        row_of_(columns_ + 1) {}

  std::vector<int> Solve() {
    for (size_t row = 1; row <= rows_; ++row) AddRow(row);
    std::vector<int> column_of(rows_, -1);
    for (size_t column = 1; column <= real_columns_; ++column) {
      if (row_of_[column] != 0) column_of[row_of_[column] - 1] = static_cast<int>(column) - 1;
    }
    return column_of;
  }

 private:
  double CostOf(size_t row, size_t column) const {
    if (column > real_columns_) return column - real_columns_ == row ? 0 : kInfinity;
    const double weight = weights_[row - 1][column - 1];
    return weight > 0 ? -weight : kInfinity;
  }

  void AddRow(size_t row) {
    std::vector<double> distance(columns_ + 1, kInfinity);
    std::vector<size_t> previous(columns_ + 1, 0);
    std::vector<bool> is_done(columns_ + 1, false);
    row_of_[0] = row;
    size_t at = 0;
    while (row_of_[at] != 0) {
      is_done[at] = true;
      const size_t from = row_of_[at];
      double nearest = kInfinity;
      size_t next = 0;
      for (size_t column = 1; column <= columns_; ++column) {
        if (is_done[column]) continue;
        const double reduced =
            CostOf(from, column) - row_potential_[from] - column_potential_[column];
        if (reduced < distance[column]) {
          distance[column] = reduced;
          previous[column] = at;
        }
        if (distance[column] < nearest) {
          nearest = distance[column];
          next = column;
        }
      }
      // The row's own column is always reachable, so that `nearest` is finite.
      for (size_t column = 0; column <= columns_; ++column) {
        if (is_done[column]) {
          row_potential_[row_of_[column]] += nearest;
          column_potential_[column] -= nearest;
        } else {
          distance[column] -= nearest;
        }
      }
      at = next;
    }
    while (at != 0) {
      row_of_[at] = row_of_[previous[at]];
      at = previous[at];
    }
  }

  const std::span<const std::vector<double>> weights_;
  const size_t rows_;
  const size_t real_columns_;
  const size_t columns_;
  std::vector<double> row_potential_;
  std::vector<double> column_potential_;
  std::vector<size_t> row_of_;  // by column; 0: free
};

}  // namespace

std::vector<int> AssignByWeight(std::span<const std::vector<double>> weights) {
  return Solver(weights).Solve();
}

}  // namespace rocescope
