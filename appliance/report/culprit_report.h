// SPDX-License-Identifier: BSD-3-Clause
// Who sends a flow: address, job and rank.
#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>

#include "analytics/engine/snapshot.h"
#include "dataplane/record/flow_key_hash.h"

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
  struct End {
    size_t connection = 0;
    size_t end = 0;
  };
  const Snapshot& snapshot_;
  std::unordered_map<FlowKey, End, FlowKeyHash> ends_;
};

}  // namespace rocescope
