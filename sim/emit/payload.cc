// SPDX-License-Identifier: BSD-3-Clause
#include "sim/emit/payload.h"

#include <zlib.h>

#include <array>

namespace rocescope::sim {

Payload::Payload(size_t longest) {
  constexpr std::array<uint8_t, 4> kZeros{};
  bytes_.reserve(longest);
  crc_.reserve(longest + 1);
  uLong crc = 0;
  for (size_t length = 0; length <= longest; ++length) {
    crc_.push_back(static_cast<uint32_t>(crc32_z(crc, kZeros.data(), (4 - length % 4) % 4)));
    if (length % 4 == 0) {
      operations_.push_back(static_cast<uint32_t>(crc32_combine_gen(static_cast<z_off_t>(length))));
    }
    if (length == longest) break;
    bytes_.push_back(static_cast<uint8_t>(length));
    crc = crc32_z(crc, &bytes_.back(), 1);
  }
  operations_.push_back(
      static_cast<uint32_t>(crc32_combine_gen(static_cast<z_off_t>(operations_.size() * 4))));
}

uint32_t Payload::CrcBehind(uint32_t before, size_t length) const {
  if (length == 0) return before;
  return static_cast<uint32_t>(
      crc32_combine_op(before, crc_[length], operations_[(length + 3) / 4]));
}

}  // namespace rocescope::sim
