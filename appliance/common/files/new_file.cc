// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/common/files/new_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <system_error>
#include <utility>

namespace rocescope {
namespace {

constexpr mode_t kOwnerOnly = 0600;

tl::unexpected<Error> Failure(const std::string& path, std::string_view what, int error) {
  return MakeError(
      error == ENOSPC ? ErrorCode::kResourceExhausted : ErrorCode::kPermissionDenied,
      fmt::format("{}: cannot {}: {}", path, what, std::generic_category().message(error)));
}

tl::unexpected<Error> Exists(const std::string& path) {
  return MakeError(ErrorCode::kInvalidArgument,
                   fmt::format("{}: exists and is not replaced; use another path", path));
}

bool IsThere(const std::string& path) {
  struct stat found = {};
  return lstat(path.c_str(), &found) == 0;
}

}  // namespace

Result<NewFile> NewFile::Create(const std::string& path, Existing existing) {
  if (existing == Existing::kRefused && IsThere(path)) return Exists(path);
  std::string partial = fmt::format("{}.partial-{}", path, getpid());
  Descriptor file(
      open(partial.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, kOwnerOnly));
  if (file.number() < 0) return Failure(partial, "create the file", errno);
  return NewFile(path, existing, std::move(partial), std::move(file));
}

NewFile::NewFile(NewFile&& other) noexcept
    : path_(std::move(other.path_)),
      existing_(other.existing_),
      partial_(std::exchange(other.partial_, "")),
      file_(std::move(other.file_)) {}

NewFile::~NewFile() {
  if (!partial_.empty()) unlink(partial_.c_str());
}

Status NewFile::Write(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = write(file_.number(), bytes.data(), bytes.size());
    if (written >= 0) {
      bytes.remove_prefix(static_cast<size_t>(written));
    } else if (errno != EINTR) {
      return Failure(path_, "write", errno);
    }
  }
  return {};
}

Status NewFile::Publish() {
  if (fsync(file_.number()) != 0) return Failure(path_, "write to the disk", errno);
  // link() does not replace a file, unlike rename(). Some file systems have no hard links.
  const bool refuses = existing_ == Existing::kRefused;
  if (refuses && link(partial_.c_str(), path_.c_str()) == 0) {
    unlink(partial_.c_str());
  } else if (refuses && IsThere(path_)) {
    return Exists(path_);
  } else if (std::rename(partial_.c_str(), path_.c_str()) != 0) {
    return Failure(path_, "create the file", errno);
  }
  partial_.clear();
  return SyncDirectoryOf(path_);
}

Status SyncDirectoryOf(const std::string& path) {
  const std::filesystem::path parent = std::filesystem::path(path).parent_path();
  const std::string directory = parent.empty() ? "." : parent.string();
  const Descriptor opened(open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  // EINVAL: the file system does not support it.
  if (opened.number() < 0 || (fsync(opened.number()) != 0 && errno != EINVAL)) {
    return Failure(directory, "write the directory to the disk", errno);
  }
  return {};
}

}  // namespace rocescope
