// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/daemon/grpc/watched_texts.h"

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace rocescope {
namespace {

Status Wrong(std::string_view what) {
  return MakeError(
      ErrorCode::kUnavailable,
      fmt::format("cannot {} the TLS certificates in memory: {}", what, std::strerror(errno)));
}

}  // namespace

Result<std::unique_ptr<WatchedTexts>> WatchedTexts::Make(const TlsTexts& texts) {
  std::unique_ptr<WatchedTexts> made(new WatchedTexts);
  for (int& file : made->files_) {
    file = memfd_create("rocescope-tls", MFD_CLOEXEC);
    if (file < 0) return tl::unexpected(Wrong("keep").error());
  }
  if (const Status set = made->Set(texts); !set) return tl::unexpected(set.error());
  return made;
}

WatchedTexts::~WatchedTexts() {
  for (const int file : files_) {
    if (file >= 0) close(file);
  }
}

// gRPC reads a file again if its time of modification changed while it was read.
Status WatchedTexts::Set(const TlsTexts& texts) {
  const std::array<const std::string*, 3> contents = {&texts.certificate, &texts.key,
                                                      &texts.peer_ca};
  for (size_t i = 0; i < files_.size(); ++i) {
    const std::string& text = *contents[i];
    if (ftruncate(files_[i], static_cast<off_t>(text.size())) != 0 ||
        pwrite(files_[i], text.data(), text.size(), 0) != static_cast<ssize_t>(text.size())) {
      return Wrong("change");
    }
  }
  return {};
}

std::string WatchedTexts::PathOf(size_t file) const {
  return fmt::format("/proc/self/fd/{}", files_[file]);
}

}  // namespace rocescope
