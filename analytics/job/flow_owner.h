// SPDX-License-Identifier: BSD-3-Clause
// Maps a flow to the job and rank that send it.
#pragma once

#include <unordered_map>

#include "analytics/connection/connection.h"
#include "analytics/job/attribution.h"
#include "dataplane/record/flow_key_hash.h"

namespace rocescope {

class FlowOwners {
 public:
  // Both arguments must belong to one snapshot; the attribution must outlive this object.
  FlowOwners(const ConnectionList& connections, const Attribution& attribution);

  // Returns null if no job claims the sending end. If a queue pair number had several owners,
  // returns the last one.
  const RankClaim* Find(const FlowKey& flow) const {
    const auto at = owners_.find(flow);
    return at == owners_.end() ? nullptr : at->second;
  }

 private:
  std::unordered_map<FlowKey, const RankClaim*, FlowKeyHash> owners_;
};

}  // namespace rocescope
