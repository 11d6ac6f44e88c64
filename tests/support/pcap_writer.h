// SPDX-License-Identifier: BSD-3-Clause
// Writes capture files octet by octet, for tests and generators: nothing of libpcap's, so that
// readers are held against the format's description and not against themselves.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace rocescope::test {

struct CaptureFormat {
  bool big_endian = false;
  bool nanoseconds = true;  // pcap: else microseconds; pcapng: if_tsresol 9 or 6
  uint32_t link_type = 1;   // pcap: the whole field, FCS bits included
  uint32_t snap_length = 262144;
};

// One frame as a file holds it.
struct CapturedFrame {
  int64_t time_ns = 0;
  std::vector<uint8_t> bytes;
  uint32_t original_length = 0;  // 0: as captured
};

// Appends to `file`, which is how a generator can write it out in pieces.
void AppendPcapHeader(std::vector<uint8_t>& file, const CaptureFormat& format,
                      uint16_t version_minor = 4);
void AppendPcapRecord(std::vector<uint8_t>& file, const CaptureFormat& format, int64_t time_ns,
                      std::span<const uint8_t> bytes, uint32_t original_length = 0);

// A whole file.
std::vector<uint8_t> MakePcap(const CaptureFormat& format, std::span<const CapturedFrame> frames);

// A section header; then AppendPcapngInterface for each interface and packets on them.
void AppendPcapngHeader(std::vector<uint8_t>& file, const CaptureFormat& format);
void AppendPcapngInterface(std::vector<uint8_t>& file, const CaptureFormat& format);
void AppendPcapngPacket(std::vector<uint8_t>& file, const CaptureFormat& format, uint32_t interface,
                        const CapturedFrame& frame);
std::vector<uint8_t> MakePcapng(const CaptureFormat& format, std::span<const CapturedFrame> frames);

}  // namespace rocescope::test
