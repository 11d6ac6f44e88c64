// SPDX-License-Identifier: BSD-3-Clause
// What a job's own traffic shows of a fault: retransmissions, and iterations that take longer.
#pragma once

#include <cstdint>
#include <vector>

#include "analytics/diagnosis/diagnosis_input.h"

namespace rocescope {

enum class Slowdown : uint8_t {
  kUnknown,  // too few iterations, during the fault or outside of it
  kNone,
  kSlower,
};

class JobEffects {
 public:
  // `input` must outlive this object.
  explicit JobEffects(const DiagnosisInput& input);

  // Whether packets of the flow were retransmitted, or refused by their receiver, in the analysis
  // windows from the one of `from` until the one of `until`.
  bool HasLoss(const FlowKey& flow, Timestamp from, Timestamp until) const;

  // Compares the iterations of a job between two times with those outside. One iteration that is
  // longer than all others counts, because a fault can delay a single one.
  Slowdown SlowdownOf(uint32_t job, Timestamp from, Timestamp until) const;

 private:
  const DiagnosisInput& input_;
  std::vector<const JobIterationPattern*> pattern_of_;  // indexed by job; null: none
  Timestamp reached_;                                   // the end of the last iteration of any job
};

}  // namespace rocescope
