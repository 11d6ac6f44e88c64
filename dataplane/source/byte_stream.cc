// SPDX-License-Identifier: BSD-3-Clause
#include "dataplane/source/byte_stream.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "dataplane/source/capture.h"

namespace rocescope {
namespace {

class FileStream final : public ByteStream {
 public:
  FileStream(int descriptor, bool owned, std::string name)
      : descriptor_(descriptor), owned_(owned), name_(std::move(name)) {}
  ~FileStream() override {
    if (owned_) close(descriptor_);
  }
  FileStream(const FileStream&) = delete;
  FileStream& operator=(const FileStream&) = delete;

  Result<size_t> Read(std::span<uint8_t> out) override {
    while (true) {
      const ssize_t count = read(descriptor_, out.data(), out.size());
      if (count >= 0) return static_cast<size_t>(count);
      if (errno != EINTR) break;
    }
    return MakeError(ErrorCode::kUnavailable,
                     fmt::format("{}: reading failed: {}", name_, std::strerror(errno)));
  }

 private:
  int descriptor_;
  bool owned_;
  std::string name_;
};

ErrorCode CodeOfErrno(int error) {
  switch (error) {
    case ENOENT:
    case ENOTDIR:
      return ErrorCode::kNotFound;
    case EACCES:
    case EPERM:
      return ErrorCode::kPermissionDenied;
    case EMFILE:
    case ENFILE:
      return ErrorCode::kResourceExhausted;
    default:
      return ErrorCode::kUnavailable;
  }
}

}  // namespace

Result<std::span<const uint8_t>> PeekStream::Peek(size_t count) {
  count = std::min(count, kMaxPeek);
  while (head_end_ < count && !ended_) {
    auto read = inner_->Read(std::span(head_).subspan(head_end_, count - head_end_));
    if (!read) return tl::unexpected(read.error());
    ended_ = *read == 0;
    head_end_ += *read;
  }
  return std::span<const uint8_t>(head_.data(), std::min(count, head_end_));
}

Result<size_t> PeekStream::Read(std::span<uint8_t> out) {
  if (head_begin_ == head_end_) return ended_ ? Result<size_t>(size_t{0}) : inner_->Read(out);
  const size_t count = std::min(out.size(), head_end_ - head_begin_);
  std::memcpy(out.data(), head_.data() + head_begin_, count);
  head_begin_ += count;
  return count;
}

Result<std::unique_ptr<ByteStream>> OpenFileStream(const std::string& path) {
  const bool standard_input = path == kStandardInputPath;
  const std::string name = CaptureDisplayName(path);
  const int descriptor = standard_input ? STDIN_FILENO : open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) {
    const int error = errno;
    return MakeError(CodeOfErrno(error),
                     fmt::format("{}: cannot be opened: {}", name, std::strerror(error)));
  }
  auto stream = std::make_unique<FileStream>(descriptor, !standard_input, name);
  struct stat status;
  if (fstat(descriptor, &status) != 0) {
    return MakeError(ErrorCode::kUnavailable, fmt::format("{}: {}", name, std::strerror(errno)));
  }
  if (S_ISDIR(status.st_mode)) {
    return MakeError(ErrorCode::kInvalidArgument,
                     fmt::format("{}: is a directory: name the capture files in it", name));
  }
  if (isatty(descriptor)) {
    return MakeError(
        ErrorCode::kInvalidArgument,
        fmt::format("{}: is a terminal: pipe a capture into it, as `tcpdump -w -` writes", name));
  }
  // A hint only: it fails on pipes, which need none.
  (void)posix_fadvise(descriptor, 0, 0, POSIX_FADV_SEQUENTIAL);
  return stream;
}

}  // namespace rocescope
