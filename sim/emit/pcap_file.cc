// SPDX-License-Identifier: BSD-3-Clause
#include "sim/emit/pcap_file.h"

#include <utility>

namespace rocescope::sim {
namespace {

constexpr size_t kBuffer = size_t{1} << 20;
constexpr size_t kFileHeader = 24;
constexpr size_t kRecordHeader = 16;
constexpr uint32_t kMagicNanoseconds = 0xa1b23c4d;
constexpr uint32_t kEthernet = 1;  // LINKTYPE_ETHERNET
constexpr int64_t kSecondNs = 1'000'000'000;

// Little-endian, whatever the machine: the magic number says so.
void Put32(uint8_t* at, uint32_t value) {
  for (int i = 0; i < 4; ++i) at[i] = static_cast<uint8_t>(value >> (8 * i));
}

}  // namespace

Result<std::unique_ptr<PcapFile>> PcapFile::Open(const std::string& path) {
  Result<OutputFile> file = OutputFile::Open(path);
  if (!file) return tl::unexpected(file.error());
  return std::unique_ptr<PcapFile>(new PcapFile(std::move(*file)));
}

PcapFile::PcapFile(OutputFile file) : file_(std::move(file)), buffer_(kBuffer), used_(kFileHeader) {
  uint8_t* header = buffer_.data();
  Put32(header, kMagicNanoseconds);
  Put32(header + 4, 2 | 4 << 16);  // version 2.4
  Put32(header + 16, kSnapLength);
  Put32(header + 20, kEthernet);
}

std::span<uint8_t> PcapFile::Room() {
  if (buffer_.size() - used_ < kRecordHeader + kMostOctets) Flush();
  return std::span(buffer_).subspan(used_ + kRecordHeader);
}

void PcapFile::Add(Timestamp arrival, size_t captured, uint32_t original) {
  const int64_t ns = ToNanoseconds(arrival);
  uint8_t* header = buffer_.data() + used_;
  Put32(header, static_cast<uint32_t>(ns / kSecondNs));
  Put32(header + 4, static_cast<uint32_t>(ns % kSecondNs));
  Put32(header + 8, static_cast<uint32_t>(captured));
  Put32(header + 12, original);
  used_ += kRecordHeader + captured;
  ++frames_;
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
