// SPDX-License-Identifier: BSD-3-Clause
// Buffers that one host granted to another and that no WRITE has used yet. An NCCL receiver writes
// {address, size, rkeys, ...} into the sender's memory; the sender's next WRITE goes to that
// address.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/time.h"

namespace rocescope {

struct Grant {
  uint32_t flow = 0;  // flow that carried the grant
  uint32_t psn = 0;
  std::array<uint32_t, 6> words{};  // contains the rkeys and the size
  Timestamp time;
  // Flow and PSN of the last WRITE that used the grant. The PSN prevents another copy of the same
  // packet from counting as a second use.
  uint32_t used_by = UINT32_MAX;
  uint32_t used_psn = 0;
};

class GrantRing {
 public:
  explicit GrantRing(size_t capacity) : capacity_(capacity) {}

  // A new grant of an address by the same flow replaces the earlier one.
  void Insert(uint64_t address, const Grant& grant);

  struct Lookup {
    Grant* grant = nullptr;  // valid until the next Insert
    uint64_t address = 0;    // address of the grant
    bool ambiguous = false;  // several flows granted this address
  };
  // Returns the grant for a WRITE: the grant at this exact address, otherwise the nearest lower one
  // that contains the whole WRITE (each queue pair of a stripe writes its part at an offset).
  Lookup Find(uint64_t address, uint32_t length, uint32_t rkey);

  void Forget(uint32_t flow);

  uint64_t dropped() const { return dropped_; }  // overwritten before they were used

 private:
  size_t capacity_;
  size_t next_ = 0;
  uint64_t dropped_ = 0;
  // Separate from grants_, because the search reads only the addresses.
  std::vector<uint64_t> addresses_;
  std::vector<Grant> grants_;
};

}  // namespace rocescope
