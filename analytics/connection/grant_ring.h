// SPDX-License-Identifier: BSD-3-Clause
// The buffers that one host granted to another and that wait for a WRITE. NCCL's receiver writes
// {address, size, rkeys, ...} into the sender's memory; the sender's next WRITE goes there.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/time.h"

namespace rocescope {

struct Grant {
  uint32_t flow = 0;  // on which it was granted
  uint32_t psn = 0;
  std::array<uint32_t, 6> words{};  // the rkeys and the size are among them
  Timestamp time;
  uint32_t used_by = UINT32_MAX;  // the last WRITE that used it, so that a second copy of the
  uint32_t used_psn = 0;          // same packet is not a second use
};

class GrantRing {
 public:
  explicit GrantRing(size_t capacity) : capacity_(capacity) {}

  // A flow that grants an address again replaces its earlier grant of it.
  void Insert(uint64_t address, const Grant& grant);

  struct Lookup {
    Grant* grant = nullptr;  // until the next Insert
    uint64_t address = 0;    // the grant's
    bool ambiguous = false;  // several flows granted it
  };
  // The grant for a WRITE: its very address, else the nearest one below that holds the whole WRITE
  // (a stripe writes its share at an offset).
  Lookup Find(uint64_t address, uint32_t length, uint32_t rkey);

  void Forget(uint32_t flow);

  uint64_t dropped() const { return dropped_; }  // overwritten before any use

 private:
  size_t capacity_;
  size_t next_ = 0;
  uint64_t dropped_ = 0;
  std::vector<uint64_t> addresses_;  // apart from the rest: the search reads only these
  std::vector<Grant> grants_;
};

}  // namespace rocescope
