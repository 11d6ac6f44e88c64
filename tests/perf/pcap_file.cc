// SPDX-License-Identifier: BSD-3-Clause
#include "tests/perf/pcap_file.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>

#include "tests/support/pcap_writer.h"

namespace rocescope::perf {
namespace {

constexpr size_t kBuffer = 1 << 20;

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
  test::AppendPcapHeader(result.bytes_, {.snap_length = snap});
  result.WriteOut();
  return result;
}

void PcapFile::Append(int64_t time_ns, const Frame& frame) {
  test::AppendPcapRecord(bytes_, {}, time_ns, frame.bytes, frame.length);
  WriteOut();
}

void PcapFile::WriteOut() {
  std::fwrite(bytes_.data(), 1, bytes_.size(), file_.get());
  bytes_.clear();
}

Status PcapFile::Close() {
  std::FILE* file = file_.release();
  const bool failed = std::ferror(file) != 0;
  if (std::fclose(file) != 0 || failed) return tl::unexpected(CannotWrite(path_));
  return {};
}

}  // namespace rocescope::perf
