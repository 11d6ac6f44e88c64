// SPDX-License-Identifier: BSD-3-Clause
#include "dataplane/source/byte_stream.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <optional>
#include <string_view>

#include "dataplane/source/capture.h"

namespace rocescope {
namespace {

// Limits after a request to end. The writer of a pipe that received the same Ctrl-C still flushes
// its buffer (tcpdump buffers kilobytes). A writer that continues is read only for a limited time.
constexpr std::chrono::milliseconds kLongestSilence{250};
constexpr std::chrono::milliseconds kLongestFarewell{1000};

int end_descriptor = -1;  // see EndInputsWhenReadable

bool EndIsAsked() {
  pollfd end = {.fd = end_descriptor, .events = POLLIN, .revents = 0};  // -1 is ignored by poll
  return poll(&end, 1, 0) > 0;
}

class FileStream final : public ByteStream {
 public:
  FileStream(int descriptor, bool owned, bool is_file, std::string name)
      : descriptor_(descriptor), owned_(owned), is_file_(is_file), name_(std::move(name)) {}
  ~FileStream() override {
    if (owned_) close(descriptor_);
  }
  FileStream(const FileStream&) = delete;
  FileStream& operator=(const FileStream&) = delete;

  Result<size_t> Read(std::span<uint8_t> out) override {
    while (true) {
      if (!WaitForInput()) return size_t{0};
      const ssize_t count = read(descriptor_, out.data(), out.size());
      if (count >= 0) return static_cast<size_t>(count);
      // Another process may share the descriptor and take the bytes first, or may have made it
      // non-blocking.
      if (errno != EINTR && errno != EAGAIN && errno != EWOULDBLOCK) break;
    }
    return MakeError(ErrorCode::kUnavailable,
                     fmt::format("{}: read error: {}", name_, std::strerror(errno)));
  }

  std::string EndNote() const override { return left_ ? "interrupted by a signal" : std::string(); }
  bool IsInterrupted() const override { return left_; }

 private:
  // Returns false if the input must end here.
  bool WaitForInput() {
    if (is_file_) {
      left_ = EndIsAsked();
      return !left_;
    }
    if (!last_moment_) {
      std::array<pollfd, 2> wait = {{{.fd = descriptor_, .events = POLLIN, .revents = 0},
                                     {.fd = end_descriptor, .events = POLLIN, .revents = 0}}};
      while (poll(wait.data(), wait.size(), -1) < 0 && errno == EINTR) {
      }
      if (wait[1].revents == 0) return true;  // input, its end, or an error that read() reports
      last_moment_ = std::chrono::steady_clock::now() + kLongestFarewell;
    }
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
        *last_moment_ - std::chrono::steady_clock::now());
    const auto timeout = std::min(left, kLongestSilence);
    pollfd input = {.fd = descriptor_, .events = POLLIN, .revents = 0};
    return timeout.count() > 0 && poll(&input, 1, static_cast<int>(timeout.count())) > 0;
  }

  int descriptor_;
  bool owned_;
  bool is_file_;  // never blocks
  std::string name_;
  bool left_ = false;  // the file was not read to its end
  std::optional<std::chrono::steady_clock::time_point> last_moment_;
};

constexpr std::string_view kManyFilesHint =
    ": raise the limit (`ulimit -n 4096`) or pass fewer captures at once";

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

void EndInputsWhenReadable(int descriptor) { end_descriptor = descriptor; }

Result<std::unique_ptr<ByteStream>> OpenFileStream(const std::string& path) {
  const bool standard_input = path == kStandardInputPath;
  const std::string name = CaptureDisplayName(path);
  const int descriptor = standard_input ? STDIN_FILENO : open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) {
    const int error = errno;
    return MakeError(CodeOfErrno(error),
                     fmt::format("{}: cannot open: {}{}", name, std::strerror(error),
                                 error == EMFILE ? kManyFilesHint : ""));
  }
  struct stat status{};
  const bool known = fstat(descriptor, &status) == 0;
  auto stream =
      std::make_unique<FileStream>(descriptor, !standard_input, S_ISREG(status.st_mode), name);
  if (!known) {
    return MakeError(ErrorCode::kUnavailable, fmt::format("{}: {}", name, std::strerror(errno)));
  }
  if (S_ISDIR(status.st_mode)) {
    return MakeError(ErrorCode::kInvalidArgument,
                     fmt::format("{}: is a directory; pass the capture files in it", name));
  }
  if (isatty(descriptor)) {
    return MakeError(
        ErrorCode::kInvalidArgument,
        fmt::format("{}: is a terminal; pipe a capture into it, for example from `tcpdump -w -`",
                    name));
  }
  // Only a hint: it fails on pipes, which do not need it.
  (void)posix_fadvise(descriptor, 0, 0, POSIX_FADV_SEQUENTIAL);
  return stream;
}

}  // namespace rocescope
