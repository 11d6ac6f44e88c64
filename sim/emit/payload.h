// SPDX-License-Identifier: BSD-3-Clause
// What all data packets carry: octets 0, 1, 2, ... 255, 0, ..., whose CRC is known beforehand for
// every length, so that a packet's iCRC costs what its headers cost.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace rocescope::sim {

class Payload {
 public:
  explicit Payload(size_t longest);

  size_t longest() const { return bytes_.size(); }
  std::span<const uint8_t> Bytes(size_t length) const { return {bytes_.data(), length}; }

  // The CRC-32 of something, whose CRC is `before`, with `length` octets of payload behind it and
  // padding of zeros up to a multiple of four. `length` is at most longest().
  uint32_t CrcBehind(uint32_t before, size_t length) const;

 private:
  std::vector<uint8_t> bytes_;
  std::vector<uint32_t> crc_;         // by length, with padding
  std::vector<uint32_t> operations_;  // by padded length / 4: moves a CRC by so many octets
};

}  // namespace rocescope::sim
