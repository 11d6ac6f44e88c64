// SPDX-License-Identifier: BSD-3-Clause
#include "sim/emit/pcap_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

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
  const int descriptor = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (descriptor < 0) {
    return MakeError(errno == ENOENT ? ErrorCode::kNotFound : ErrorCode::kPermissionDenied,
                     fmt::format("{}: cannot be made: {}", path, std::strerror(errno)));
  }
  return std::unique_ptr<PcapFile>(new PcapFile(path, descriptor));
}

PcapFile::PcapFile(std::string path, int descriptor)
    : path_(std::move(path)), descriptor_(descriptor), buffer_(kBuffer), used_(kFileHeader) {
  uint8_t* header = buffer_.data();
  Put32(header, kMagicNanoseconds);
  Put32(header + 4, 2 | 4 << 16);  // version 2.4
  Put32(header + 16, kSnapLength);
  Put32(header + 20, kEthernet);
}

PcapFile::~PcapFile() { static_cast<void>(Close()); }

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
  size_t done = 0;
  while (status_ && done < used_) {
    const ssize_t count = ::write(descriptor_, buffer_.data() + done, used_ - done);
    if (count >= 0) {
      done += static_cast<size_t>(count);
    } else if (errno != EINTR) {
      status_ = MakeError(
          errno == ENOSPC || errno == EDQUOT ? ErrorCode::kResourceExhausted
                                             : ErrorCode::kUnavailable,
          fmt::format(
              "{}: writing failed behind {} octets: {}; make room, or choose another folder", path_,
              written_ + done, std::strerror(errno)));
    }
  }
  written_ += done;
  used_ = 0;
}

Status PcapFile::Close() {
  if (descriptor_ < 0) return status_;
  Flush();
  const int descriptor = std::exchange(descriptor_, -1);
  if (::close(descriptor) != 0 && status_) {
    status_ = MakeError(ErrorCode::kUnavailable,
                        fmt::format("{}: closing failed: {}", path_, std::strerror(errno)));
  }
  return status_;
}

}  // namespace rocescope::sim
