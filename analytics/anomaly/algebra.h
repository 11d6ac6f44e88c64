// SPDX-License-Identifier: BSD-3-Clause
// Armadillo as this folder uses it: only here, and only from .cc files, as it is long to compile.
// One thread and its own loops instead of BLAS, so that sums are always taken in the same order;
// LAPACK is left for eigenvectors, of matrices as large as an entity has metrics.
#pragma once

// IWYU pragma: begin_exports
#define ARMA_DONT_USE_WRAPPER
#define ARMA_DONT_USE_OPENMP
#define ARMA_DONT_USE_BLAS
#define ARMA_DONT_USE_ATLAS
#define ARMA_DONT_USE_ARPACK
#define ARMA_DONT_USE_SUPERLU
#define ARMA_DONT_USE_HDF5
#define ARMA_DONT_PRINT_ERRORS  // analytics does not print
#define ARMA_WARN_LEVEL 0
#include <armadillo>
// IWYU pragma: end_exports

#include "analytics/anomaly/model.h"

namespace rocescope {

// A column for each row, outliers cut.
inline arma::mat ColumnsOf(const Rows& rows) {
  arma::mat columns(rows.values.data(), rows.width, rows.size());
  return arma::clamp(columns, -kMaxInFit, kMaxInFit);
}

}  // namespace rocescope
