// SPDX-License-Identifier: BSD-3-Clause
#include "tests/support/pcap_writer.h"

namespace rocescope::test {
namespace {

// Numbers in the file's byte order.
class Appender {
 public:
  Appender(std::vector<uint8_t>& file, bool big_endian) : file_(file), big_endian_(big_endian) {}

  void U16(uint16_t value) { Number(value, 2); }
  void U32(uint32_t value) { Number(value, 4); }
  void Bytes(std::span<const uint8_t> bytes) {
    file_.insert(file_.end(), bytes.begin(), bytes.end());
  }
  void PadTo4() {
    while (file_.size() % 4 != 0) file_.push_back(0);
  }

 private:
  void Number(uint32_t value, int size) {
    for (int i = 0; i < size; ++i) {
      const int shift = 8 * (big_endian_ ? size - 1 - i : i);
      file_.push_back(static_cast<uint8_t>(value >> shift));
    }
  }

  std::vector<uint8_t>& file_;
  bool big_endian_;
};

int64_t UnitsPerSecond(const CaptureFormat& format) {
  return format.nanoseconds ? 1'000'000'000 : 1'000'000;
}

uint32_t OriginalLength(std::span<const uint8_t> bytes, uint32_t given) {
  return given == 0 ? static_cast<uint32_t>(bytes.size()) : given;
}

}  // namespace

void AppendPcapHeader(std::vector<uint8_t>& file, const CaptureFormat& format,
                      uint16_t version_minor) {
  Appender out(file, format.big_endian);
  out.U32(format.nanoseconds ? 0xa1b23c4d : 0xa1b2c3d4);
  out.U16(2);
  out.U16(version_minor);
  out.U32(0);
  out.U32(0);
  out.U32(format.snap_length);
  out.U32(format.link_type);
}

void AppendPcapRecord(std::vector<uint8_t>& file, const CaptureFormat& format, int64_t time_ns,
                      std::span<const uint8_t> bytes, uint32_t original_length) {
  Appender out(file, format.big_endian);
  const int64_t per_second = UnitsPerSecond(format);
  const int64_t units = time_ns / (1'000'000'000 / per_second);
  out.U32(static_cast<uint32_t>(units / per_second));
  out.U32(static_cast<uint32_t>(units % per_second));
  out.U32(static_cast<uint32_t>(bytes.size()));
  out.U32(OriginalLength(bytes, original_length));
  out.Bytes(bytes);
}

std::vector<uint8_t> MakePcap(const CaptureFormat& format, std::span<const CapturedFrame> frames) {
  std::vector<uint8_t> file;
  AppendPcapHeader(file, format);
  for (const CapturedFrame& frame : frames) {
    AppendPcapRecord(file, format, frame.time_ns, frame.bytes, frame.original_length);
  }
  return file;
}

// draft-ietf-opsawg-pcapng, 4.1: block type 0x0a0d0d0a, length, byte-order magic, version 1.0,
// section length unknown, length again.
void AppendPcapngHeader(std::vector<uint8_t>& file, const CaptureFormat& format) {
  Appender out(file, format.big_endian);
  out.U32(0x0a0d0d0a);
  out.U32(28);
  out.U32(0x1a2b3c4d);
  out.U16(1);
  out.U16(0);
  out.U32(0xffffffff);
  out.U32(0xffffffff);
  out.U32(28);
}

// 4.2: type 1; option 9, if_tsresol, is one byte: a negative power of ten.
void AppendPcapngInterface(std::vector<uint8_t>& file, const CaptureFormat& format) {
  Appender out(file, format.big_endian);
  out.U32(1);
  out.U32(32);
  out.U16(static_cast<uint16_t>(format.link_type));
  out.U16(0);
  out.U32(format.snap_length);
  out.U16(9);
  out.U16(1);
  file.push_back(format.nanoseconds ? 9 : 6);
  out.PadTo4();
  out.U32(0);  // end of options
  out.U32(32);
}

// 4.3, the enhanced packet block: type 6.
void AppendPcapngPacket(std::vector<uint8_t>& file, const CaptureFormat& format, uint32_t interface,
                        const CapturedFrame& frame) {
  Appender out(file, format.big_endian);
  const auto captured = static_cast<uint32_t>(frame.bytes.size());
  const uint32_t length = 32 + (captured + 3) / 4 * 4;
  const uint64_t units =
      static_cast<uint64_t>(frame.time_ns / (1'000'000'000 / UnitsPerSecond(format)));
  out.U32(6);
  out.U32(length);
  out.U32(interface);
  out.U32(static_cast<uint32_t>(units >> 32));
  out.U32(static_cast<uint32_t>(units));
  out.U32(captured);
  out.U32(OriginalLength(frame.bytes, frame.original_length));
  out.Bytes(frame.bytes);
  out.PadTo4();
  out.U32(length);
}

std::vector<uint8_t> MakePcapng(const CaptureFormat& format,
                                std::span<const CapturedFrame> frames) {
  std::vector<uint8_t> file;
  AppendPcapngHeader(file, format);
  AppendPcapngInterface(file, format);
  for (const CapturedFrame& frame : frames) AppendPcapngPacket(file, format, 0, frame);
  return file;
}

}  // namespace rocescope::test
