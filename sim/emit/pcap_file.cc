// SPDX-License-Identifier: BSD-3-Clause
#include "sim/emit/pcap_file.h"

#include <initializer_list>
#include <utility>

namespace rocescope::sim {
namespace {

constexpr size_t kBuffer = size_t{1} << 20;
constexpr size_t kPcapRecord = 16;       // bytes before a frame
constexpr size_t kEnhancedPacket = 28;   // bytes before a frame, in pcapng
constexpr size_t kBehindPacket = 3 + 4;  // padding and the repeated block length
constexpr uint32_t kMagicNanoseconds = 0xa1b23c4d;
constexpr uint32_t kEthernet = 1;  // LINKTYPE_ETHERNET
constexpr int64_t kPcapSecondNs = 1'000'000'000;

// Little-endian on every machine; the magic number says so.
void Put32(uint8_t* at, uint32_t value) {
  for (int i = 0; i < 4; ++i) at[i] = static_cast<uint8_t>(value >> (8 * i));
}

void PutAll(uint8_t* at, std::initializer_list<uint32_t> values) {
  for (const uint32_t value : values) {
    Put32(at, value);
    at += 4;
  }
}

}  // namespace

Result<std::unique_ptr<PcapFile>> PcapFile::Open(const std::string& path) {
  Result<CheckedFile> file = CheckedFile::Open(path);
  if (!file) return tl::unexpected(file.error());
  return std::unique_ptr<PcapFile>(new PcapFile(std::move(*file), Format::kPcap));
}

std::unique_ptr<PcapFile> PcapFile::ToStandardOutput() {
  return std::unique_ptr<PcapFile>(new PcapFile(*CheckedFile::Open("-"), Format::kPcapng));
}

PcapFile::PcapFile(CheckedFile file, Format format)
    : file_(std::move(file)),
      format_(format),
      header_(format == Format::kPcap ? kPcapRecord : kEnhancedPacket),
      buffer_(kBuffer) {
  format == Format::kPcap ? BeginPcap() : BeginPcapng();
}

void PcapFile::BeginPcap() {
  PutAll(buffer_.data(),
         {kMagicNanoseconds, 2 | 4 << 16 /* version 2.4 */, 0, 0, kSnapLength, kEthernet});
  used_ = 24;
}

void PcapFile::BeginPcapng() {
  // A section of unknown length, version 1.0, then the interface description.
  constexpr uint32_t kSection = 0x0a0d0d0a;
  constexpr uint32_t kByteOrder = 0x1a2b3c4d;
  PutAll(buffer_.data(), {kSection, 28, kByteOrder, 1, UINT32_MAX, UINT32_MAX, 28});
  constexpr uint32_t kInterface = 1;
  constexpr uint32_t kIfTsresol = 9;  // 10^-9 s
  PutAll(buffer_.data() + 28,
         {kInterface, 32, kEthernet, kSnapLength, kIfTsresol | 1 << 16, 9, 0, 32});
  used_ = 28 + 32;
}

std::span<uint8_t> PcapFile::Room() {
  if (buffer_.size() - used_ < header_ + kMaxBytes + kBehindPacket) Flush();
  return std::span(buffer_).subspan(used_ + header_);
}

void PcapFile::Add(Timestamp arrival, size_t captured, uint32_t original) {
  const int64_t ns = ToNanoseconds(arrival);
  uint8_t* header = buffer_.data() + used_;
  const auto length = static_cast<uint32_t>(captured);
  used_ += header_ + captured;
  ++frames_;
  if (format_ == Format::kPcap) {
    PutAll(header, {static_cast<uint32_t>(ns / kPcapSecondNs),
                    static_cast<uint32_t>(ns % kPcapSecondNs), length, original});
    return;
  }
  while (used_ % 4 != 0) buffer_[used_++] = 0;  // blocks start at multiples of 4
  constexpr uint32_t kPacket = 6;
  const auto block =
      static_cast<uint32_t>(used_ + 4 - static_cast<size_t>(header - buffer_.data()));
  PutAll(header, {kPacket, block, 0, static_cast<uint32_t>(static_cast<uint64_t>(ns) >> 32),
                  static_cast<uint32_t>(ns), length, original});
  Put32(buffer_.data() + used_, block);
  used_ += 4;
}

void PcapFile::Flush() {
  file_.Write(std::span(buffer_).first(used_));
  used_ = 0;
}

Status PcapFile::Close() {
  Flush();
  return file_.Close();
}

}  // namespace rocescope::sim
