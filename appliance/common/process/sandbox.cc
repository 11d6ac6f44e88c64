// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/common/process/sandbox.h"

#include <sys/prctl.h>

#include <array>
#include <cerrno>
#include <iterator>
#include <system_error>

#include "appliance/common/process/every_thread.h"
#include "appliance/common/process/privileges.h"

namespace rocescope {

std::vector<FileRule> SystemFiles() {
  constexpr std::array kRead = {
      // name resolution, time zones and the configuration of OpenSSL
      "/etc/gai.conf", "/etc/group", "/etc/host.conf", "/etc/hosts", "/etc/localtime",
      "/etc/nsswitch.conf", "/etc/passwd", "/etc/protocols", "/etc/services", "/etc/ssl/certs",
      "/etc/ssl/openssl.cnf",
      // the dynamic linker, and modules of the C library (NSS, gconv)
      "/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/ld.so.conf.d", "/usr/lib", "/usr/lib64",
      "/usr/local/lib", "/lib", "/lib64", "/usr/share",
      // gRPC, DPDK and libpcap read the limits, memory and interfaces of this host
      "/proc/self", "/proc/sys", "/proc/cpuinfo", "/proc/meminfo", "/proc/stat", "/sys",
      "/dev/random", "/dev/urandom"};
  std::vector<FileRule> rules = {{.path = "/dev/null", .access = FileAccess::kWrite}};
  for (const char* const path : kRead) rules.push_back({.path = path});
  // A link to a file in /run, if a service manages the name servers.
  for (FileRule& rule : ReplaceableFile("/etc/resolv.conf")) {
    if (rule.path != "/etc") rules.push_back(std::move(rule));
  }
  rules.push_back({.path = "/etc/resolv.conf"});
  return rules;
}

bool HasSandbox() {
#ifdef ROCESCOPE_HAS_SANITIZER
  return false;
#else
  return true;
#endif
}

std::vector<std::string> EnterSandbox(const SandboxOptions& options) {
  std::vector<std::string> notes;
  if (!HasSandbox()) return notes;
  const auto note = [&](const Status& done) {
    if (!done) notes.push_back(done.error().message);
  };
  note(DropUnneededCapabilities(options.reads_processes));
  if (options.files) {
    std::vector<FileRule> rules = SystemFiles();
    rules.insert(rules.end(), options.files->begin(), options.files->end());
    note(RestrictFiles(rules));
  }
  note(RestrictSystemCalls(options.program));
  return notes;
}

}  // namespace rocescope
