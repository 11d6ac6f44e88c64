// SPDX-License-Identifier: BSD-3-Clause
// Accounting of frames: received = decoded + filtered + the sum of dropped, exactly.
#pragma once

#include <array>
#include <cstdint>
#include <numeric>

#include "dataplane/decode/drop_reason.h"

namespace rocescope {

struct Ledger {
  uint64_t received = 0;
  uint64_t decoded = 0;
  uint64_t filtered = 0;  // excluded by the user's filters
  std::array<uint64_t, kDropReasonCount> dropped{};

  uint64_t DroppedTotal() const {
    return std::accumulate(dropped.begin(), dropped.end(), uint64_t{0});
  }
  Ledger& operator+=(const Ledger& other) {
    received += other.received;
    decoded += other.decoded;
    filtered += other.filtered;
    for (size_t i = 0; i < dropped.size(); ++i) dropped[i] += other.dropped[i];
    return *this;
  }
  friend bool operator==(const Ledger&, const Ledger&) = default;

  bool Balances() const { return received == decoded + filtered + DroppedTotal(); }
};

}  // namespace rocescope
