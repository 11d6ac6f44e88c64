// SPDX-License-Identifier: BSD-3-Clause
#include "tests/perf/pcap_file.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>

namespace rocescope::perf {
namespace {

constexpr uint32_t kNanosecondMagic = 0xa1b23c4d;
constexpr uint32_t kLinkTypeEthernet = 1;
constexpr size_t kBuffer = 1 << 20;

struct FileHeader {
  uint32_t magic = kNanosecondMagic;
  uint16_t major = 2;
  uint16_t minor = 4;
  uint32_t reserved[2] = {};
  uint32_t snap = 0;
  uint32_t link_type = kLinkTypeEthernet;
};
static_assert(sizeof(FileHeader) == 24);

struct RecordHeader {
  uint32_t seconds = 0;
  uint32_t nanoseconds = 0;
  uint32_t captured = 0;
  uint32_t length = 0;
};
static_assert(sizeof(RecordHeader) == 16);

Error CannotWrite(const std::string& path) {
  return {.code = ErrorCode::kUnavailable,
          .message = fmt::format("{}: cannot write: {}", path, std::strerror(errno))};
}

}  // namespace

Result<PcapFile> PcapFile::Create(const std::string& path, uint32_t snap) {
  PcapFile result;
  result.path_ = path;
  result.file_.reset(std::fopen(path.c_str(), "wb"));
  if (!result.file_) return tl::unexpected(CannotWrite(path));
  std::setvbuf(result.file_.get(), nullptr, _IOFBF, kBuffer);
  const FileHeader header{.snap = snap};
  std::fwrite(&header, sizeof header, 1, result.file_.get());
  return result;
}

void PcapFile::Append(int64_t time_ns, const Frame& frame) {
  const RecordHeader header{.seconds = static_cast<uint32_t>(time_ns / 1'000'000'000),
                            .nanoseconds = static_cast<uint32_t>(time_ns % 1'000'000'000),
                            .captured = static_cast<uint32_t>(frame.bytes.size()),
                            .length = frame.length};
  std::fwrite(&header, sizeof header, 1, file_.get());
  std::fwrite(frame.bytes.data(), 1, frame.bytes.size(), file_.get());
}

Status PcapFile::Close() {
  std::FILE* file = file_.release();
  const bool failed = std::ferror(file) != 0;
  if (std::fclose(file) != 0 || failed) return tl::unexpected(CannotWrite(path_));
  return {};
}

}  // namespace rocescope::perf
