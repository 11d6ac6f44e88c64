// SPDX-License-Identifier: BSD-3-Clause
// Armadillo as this folder uses it. Include this header only in .cc files of this folder, because
// it is slow to compile. Armadillo runs on one thread with its own loops instead of BLAS, so that
// sums always use the same order. LAPACK is used only for eigenvectors of matrices whose dimension
// is an entity's number of metrics.
#pragma once

// IWYU pragma: begin_exports
#define ARMA_DONT_USE_WRAPPER
#define ARMA_DONT_USE_OPENMP
#define ARMA_DONT_USE_BLAS
#define ARMA_DONT_USE_ATLAS
#define ARMA_DONT_USE_ARPACK
#define ARMA_DONT_USE_SUPERLU
#define ARMA_DONT_USE_HDF5
#define ARMA_DONT_PRINT_ERRORS  // analytics never prints
#define ARMA_WARN_LEVEL 0
#include <armadillo>
// IWYU pragma: end_exports

#include "analytics/anomaly/model.h"

namespace rocescope {

// Returns the transposed rows (one column per row) with outliers clamped.
inline arma::mat ColumnsOf(const Rows& rows) {
  arma::mat columns(rows.values.data(), rows.width, rows.size());
  return arma::clamp(columns, -kMaxInFit, kMaxInFit);
}

}  // namespace rocescope
