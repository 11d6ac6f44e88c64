// SPDX-License-Identifier: BSD-3-Clause
// Hash of a FlowKey, for hash tables.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/hash.h"
#include "dataplane/record/record.h"

namespace rocescope {

struct FlowKeyHash {
  size_t operator()(const FlowKey& key) const {
    return HashCombine(FoldAddress(key.source) * 3 + FoldAddress(key.destination),
                       uint64_t{key.segment} << 32 | key.destination_qpn.value);
  }
};

}  // namespace rocescope
