// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/common/process/privileges.h"

#include <fmt/format.h>
#include <grp.h>
#include <linux/capability.h>
#include <pwd.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <fstream>
#include <system_error>

#include "appliance/common/process/every_thread.h"

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

constexpr uint64_t Mask(std::initializer_list<int> capabilities) {
  uint64_t mask = 0;
  for (const int capability : capabilities) mask |= uint64_t{1} << capability;
  return mask;
}

constexpr uint64_t kNeeded =
    Mask({CAP_NET_BIND_SERVICE, CAP_SYS_NICE, CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH});

std::atomic<uint64_t> kept = 0;

// Uses system calls only, because it runs in a signal handler.
bool ReduceThisThread() {
  std::array<__user_cap_data_struct, 2> sets{};
  __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3, .pid = 0};
  bool done = prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0;
  done = syscall(SYS_capget, &header, sets.data()) == 0 && done;
  bool has_more = false;
  for (size_t i = 0; i < sets.size(); ++i) {
    const auto keep = static_cast<uint32_t>(kept >> (32 * i));
    has_more = has_more || (sets[i].permitted & ~keep) != 0;
    sets[i].effective &= keep;
    sets[i].permitted &= keep;
    sets[i].inheritable = 0;  // which removes the ambient capabilities too
  }
  if (!has_more) return done;  // the unit of the agent does not permit capset
  return syscall(SYS_capset, &header, sets.data()) == 0 && done;
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

void ClearCapabilityBounds() {
  for (unsigned long capability = 0; prctl(PR_CAPBSET_READ, capability, 0, 0, 0) >= 0;
       ++capability) {
    (void)prctl(PR_CAPBSET_DROP, capability, 0, 0, 0);
  }
}

Status DropUnneededCapabilities(bool reads_processes) {
  kept = kNeeded | (reads_processes ? Mask({CAP_SYS_PTRACE}) : 0);
  const size_t missed = RunOnEveryThread(ReduceThisThread);
  if (missed == 0) return {};
  return MakeError(ErrorCode::kInternal, fmt::format("{} threads keep their capabilities", missed));
}

}  // namespace rocescope
