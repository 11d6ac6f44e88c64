// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/common/process/privileges.h"

#include <fmt/format.h>
#include <grp.h>
#include <pwd.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <fstream>
#include <system_error>

namespace rocescope {
namespace {

std::string Why() { return std::generic_category().message(errno); }

// Reads the capabilities of the calling thread without a library.
bool HasCapabilities() {
  std::ifstream status("/proc/thread-self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("CapEff:")) return line.find_first_of("123456789abcdef", 7) != line.npos;
  }
  return false;
}

}  // namespace

bool IsPrivileged() { return geteuid() == 0 || HasCapabilities(); }

Status BecomeUser(const std::string& user) {
  passwd found{};
  passwd* result = nullptr;
  std::array<char, 16'384> room;
  if (getpwnam_r(user.c_str(), &found, room.data(), room.size(), &result) != 0 ||
      result == nullptr) {
    return MakeError(
        ErrorCode::kNotFound,
        fmt::format("user {}: no such user on this host (create it with `useradd --system {}`)",
                    user, user));
  }
  if (found.pw_uid == 0) {
    return MakeError(ErrorCode::kInvalidArgument,
                     fmt::format("user {}: this is root; expected an unprivileged user", user));
  }
  if (getuid() == found.pw_uid && geteuid() == found.pw_uid) return {};
  if (geteuid() != 0) {
    return MakeError(ErrorCode::kPermissionDenied,
                     fmt::format("user {}: only root may switch users; start the program as root "
                                 "or as {}, or omit `user`",
                                 user, user));
  }
  // The C library applies each call to all threads (nptl(7)).
  if (initgroups(user.c_str(), found.pw_gid) != 0) {
    return MakeError(ErrorCode::kPermissionDenied,
                     fmt::format("cannot set the groups of {}: {}", user, Why()));
  }
  if (setresgid(found.pw_gid, found.pw_gid, found.pw_gid) != 0 ||
      setresuid(found.pw_uid, found.pw_uid, found.pw_uid) != 0) {
    return MakeError(ErrorCode::kInternal,
                     fmt::format("cannot switch to user {}: {}", user, Why()));
  }
  if (setuid(0) == 0 || HasCapabilities()) {
    return MakeError(ErrorCode::kInternal,
                     fmt::format("privileges remain after switching to user {}", user));
  }
  return {};
}

}  // namespace rocescope
