// SPDX-License-Identifier: BSD-3-Clause
// The payload of all data packets: bytes 0, 1, 2, ... 255, 0, ... Its CRC is precomputed for every
// length, so that the cost of a packet's iCRC depends on its headers only.
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

  // Returns the CRC-32 of data whose CRC is `before`, followed by `length` bytes of payload and
  // zero padding to a multiple of four. `length` is at most longest().
  uint32_t CrcBehind(uint32_t before, size_t length) const;

 private:
  std::vector<uint8_t> bytes_;
  std::vector<uint32_t> crc_;  // indexed by length; includes padding
  // Indexed by padded length / 4; advances a CRC by that many bytes.
  std::vector<uint32_t> operations_;
};

}  // namespace rocescope::sim
