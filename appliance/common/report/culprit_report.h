// SPDX-License-Identifier: BSD-3-Clause
// Who sends a flow: address, job and rank.
#pragma once

#include "analytics/engine/snapshot.h"
#include "analytics/job/flow_owner.h"

namespace rocescope {

namespace v1 {
class Culprit;
}

class FlowSenders {
 public:
  // The snapshot must outlive it.
  explicit FlowSenders(const Snapshot& snapshot);

  // The flow and, where a job claims the end that sends it, job and rank.
  void Fill(const FlowKey& flow, v1::Culprit& out) const;

 private:
  const Snapshot& snapshot_;
  FlowOwners owners_;
};

}  // namespace rocescope
