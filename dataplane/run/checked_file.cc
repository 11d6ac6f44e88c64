// SPDX-License-Identifier: BSD-3-Clause
#include "dataplane/run/checked_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

namespace rocescope {

Result<CheckedFile> CheckedFile::Open(const std::string& path) {
  if (path == "-") return CheckedFile("standard output", STDOUT_FILENO);
  const int descriptor = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (descriptor < 0) {
    return MakeError(errno == ENOENT ? ErrorCode::kNotFound : ErrorCode::kPermissionDenied,
                     fmt::format("{}: cannot be created: {}", path, std::strerror(errno)));
  }
  return CheckedFile(path, descriptor);
}

CheckedFile::CheckedFile(std::string path, int descriptor)
    : path_(std::move(path)), descriptor_(descriptor) {}

CheckedFile::CheckedFile(CheckedFile&& other) noexcept
    : path_(std::move(other.path_)),
      descriptor_(std::exchange(other.descriptor_, -1)),
      written_(other.written_),
      reader_gone_(other.reader_gone_),
      status_(std::move(other.status_)) {}

CheckedFile::~CheckedFile() { static_cast<void>(Close()); }

void CheckedFile::Write(std::span<const uint8_t> bytes) {
  while (status_ && !bytes.empty()) {
    const ssize_t count = ::write(descriptor_, bytes.data(), bytes.size());
    if (count >= 0) {
      bytes = bytes.subspan(static_cast<size_t>(count));
      written_ += static_cast<size_t>(count);
    } else if (errno != EINTR) {
      const bool too_large = errno == EFBIG;
      const bool full = errno == ENOSPC || errno == EDQUOT;
      const char* advice = full        ? "; free some space or choose another directory"
                           : too_large ? "; raise the limit on the size of files (ulimit -f)"
                                       : "";
      reader_gone_ = errno == EPIPE;
      status_ =
          MakeError(full || too_large ? ErrorCode::kResourceExhausted : ErrorCode::kUnavailable,
                    fmt::format("{}: write failed after {} bytes: {}{}", path_, written_,
                                std::strerror(errno), advice));
    }
  }
}

void CheckedFile::Write(std::string_view text) {
  Write(std::span(reinterpret_cast<const uint8_t*>(text.data()), text.size()));
}

Status CheckedFile::Close() {
  const int descriptor = std::exchange(descriptor_, -1);
  if (descriptor >= 0 && ::close(descriptor) != 0 && status_) {
    status_ = MakeError(ErrorCode::kUnavailable,
                        fmt::format("{}: close failed: {}", path_, std::strerror(errno)));
  }
  return status_;
}

}  // namespace rocescope
