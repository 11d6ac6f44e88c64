// SPDX-License-Identifier: BSD-3-Clause
#include "sim/emit/output_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

namespace rocescope::sim {
namespace {

std::span<const uint8_t> BytesOf(std::string_view text) {
  return {reinterpret_cast<const uint8_t*>(text.data()), text.size()};
}

}  // namespace

Result<OutputFile> OutputFile::Open(const std::string& path) {
  const int descriptor = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (descriptor < 0) {
    return MakeError(errno == ENOENT ? ErrorCode::kNotFound : ErrorCode::kPermissionDenied,
                     fmt::format("{}: cannot be made: {}", path, std::strerror(errno)));
  }
  return OutputFile(path, descriptor);
}

OutputFile OutputFile::StandardOutput() { return {"standard output", STDOUT_FILENO}; }

OutputFile::OutputFile(std::string path, int descriptor)
    : path_(std::move(path)), descriptor_(descriptor) {}

OutputFile::OutputFile(OutputFile&& other) noexcept
    : path_(std::move(other.path_)),
      descriptor_(std::exchange(other.descriptor_, -1)),
      written_(other.written_),
      status_(std::move(other.status_)) {}

OutputFile::~OutputFile() { static_cast<void>(Close()); }

void OutputFile::Write(std::span<const uint8_t> bytes) {
  while (status_ && !bytes.empty()) {
    const ssize_t count = ::write(descriptor_, bytes.data(), bytes.size());
    if (count >= 0) {
      bytes = bytes.subspan(static_cast<size_t>(count));
      written_ += static_cast<size_t>(count);
    } else if (errno != EINTR) {
      const bool full = errno == ENOSPC || errno == EDQUOT;
      status_ = MakeError(
          full ? ErrorCode::kResourceExhausted : ErrorCode::kUnavailable,
          fmt::format("{}: writing failed behind {} octets: {}{}", path_, written_,
                      std::strerror(errno), full ? "; make room, or choose another folder" : ""));
    }
  }
}

Status OutputFile::Close() {
  const int descriptor = std::exchange(descriptor_, -1);
  if (descriptor >= 0 && ::close(descriptor) != 0 && status_) {
    status_ = MakeError(ErrorCode::kUnavailable,
                        fmt::format("{}: closing failed: {}", path_, std::strerror(errno)));
  }
  return status_;
}

Result<TextFile> TextFile::Open(const std::string& path) {
  Result<OutputFile> file = OutputFile::Open(path);
  if (!file) return tl::unexpected(file.error());
  return TextFile(std::move(*file));
}

void TextFile::Relieve() {
  constexpr size_t kMuch = size_t{256} << 10;
  if (text_.size() >= kMuch) Flush();
}

void TextFile::Flush() {
  file_.Write(BytesOf(text_));
  text_.clear();
}

Status TextFile::Close() {
  Flush();
  return file_.Close();
}

Status WriteFile(const std::string& path, std::string_view text) {
  Result<OutputFile> file = OutputFile::Open(path);
  if (!file) return tl::unexpected(file.error());
  file->Write(BytesOf(text));
  return file->Close();
}

}  // namespace rocescope::sim
