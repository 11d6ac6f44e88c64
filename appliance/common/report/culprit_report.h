// SPDX-License-Identifier: BSD-3-Clause
// The sender of a flow: address, job and rank.
#pragma once

#include "analytics/engine/snapshot.h"
#include "analytics/job/flow_owner.h"

namespace rocescope {

namespace v1 {
class Culprit;
}

class FlowSenders {
 public:
  // The snapshot must outlive this object.
  explicit FlowSenders(const Snapshot& snapshot);

  // Fills in the flow and, if a job owns the sending endpoint, the job and the rank.
  void Fill(const FlowKey& flow, v1::Culprit& out) const;

 private:
  const Snapshot& snapshot_;
  FlowOwners owners_;
};

}  // namespace rocescope
