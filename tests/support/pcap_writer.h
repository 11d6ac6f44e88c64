// SPDX-License-Identifier: BSD-3-Clause
// Writes capture files byte by byte for tests and generators, without libpcap, so that readers are
// tested against the format specification.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace rocescope::test {

struct CaptureFormat {
  bool big_endian = false;
  bool nanoseconds = true;  // pcap: else microseconds; pcapng: if_tsresol 9 or 6
  uint32_t link_type = 1;   // pcap: the complete field, including FCS bits
  uint32_t snap_length = 262144;
};

// One frame of a capture file.
struct CapturedFrame {
  int64_t time_ns = 0;
  std::vector<uint8_t> bytes;
  uint32_t original_length = 0;  // 0: equal to the captured length
};

// Appends to `file`, so that a generator can write it in pieces.
void AppendPcapHeader(std::vector<uint8_t>& file, const CaptureFormat& format,
                      uint16_t version_minor = 4);
void AppendPcapRecord(std::vector<uint8_t>& file, const CaptureFormat& format, int64_t time_ns,
                      std::span<const uint8_t> bytes, uint32_t original_length = 0);

// A complete file.
std::vector<uint8_t> MakePcap(const CaptureFormat& format, std::span<const CapturedFrame> frames);

// Writes a section header. AppendPcapngInterface for each interface and then packets follow.
void AppendPcapngHeader(std::vector<uint8_t>& file, const CaptureFormat& format);
void AppendPcapngInterface(std::vector<uint8_t>& file, const CaptureFormat& format);
void AppendPcapngPacket(std::vector<uint8_t>& file, const CaptureFormat& format, uint32_t interface,
                        const CapturedFrame& frame);
std::vector<uint8_t> MakePcapng(const CaptureFormat& format, std::span<const CapturedFrame> frames);

}  // namespace rocescope::test
