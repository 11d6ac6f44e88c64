// SPDX-License-Identifier: BSD-3-Clause
// Whose flow it is: the job and rank that send it.
#pragma once

#include <unordered_map>

#include "analytics/connection/connection.h"
#include "analytics/job/attribution.h"
#include "dataplane/record/flow_key_hash.h"

namespace rocescope {

class FlowOwners {
 public:
  // Of one snapshot. The attribution must outlive it.
  FlowOwners(const ConnectionList& connections, const Attribution& attribution);

  // Null: no job claims the end that sends it. Of several owners of a queue pair number, the last.
  const RankClaim* Find(const FlowKey& flow) const {
    const auto at = owners_.find(flow);
    return at == owners_.end() ? nullptr : at->second;
  }

 private:
  std::unordered_map<FlowKey, const RankClaim*, FlowKeyHash> owners_;
};

}  // namespace rocescope
