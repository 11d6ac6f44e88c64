// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/common/process/system_call_filter.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/sched.h>
#include <seccomp.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <memory>
#include <string_view>
#include <system_error>

namespace rocescope {
namespace {

using enum SandboxedProgram;

constexpr unsigned Bit(SandboxedProgram program) { return 1u << static_cast<unsigned>(program); }
constexpr unsigned kEvery = Bit(kAppliance) | Bit(kAgent) | Bit(kReader);
constexpr unsigned kNetworked = Bit(kAppliance) | Bit(kAgent);

struct SystemCalls {
  unsigned programs;         // that may make them
  std::string_view purpose;  // why
  std::string_view names;    // separated by spaces; names of other architectures are ignored
};

// The permitted system calls. Permit() adds those that depend on their arguments.
constexpr std::array kPermitted = {
    SystemCalls{
        kEvery, "memory of the C library, gRPC and DPDK",
        "brk get_mempolicy madvise mbind membarrier memfd_create mincore mlock mlock2 mlockall "
        "mremap munlock munlockall munmap set_mempolicy"},
    SystemCalls{
        kEvery, "threads, their names, cores and priorities",
        "arch_prctl exit exit_group futex get_robust_list getcpu getpid getppid getpriority "
        "gettid prctl rseq sched_get_priority_max sched_get_priority_min sched_getaffinity "
        "sched_getparam sched_getscheduler sched_setaffinity sched_yield set_robust_list "
        "set_tid_address setpriority"},
    SystemCalls{kEvery, "signals",
                "pause restart_syscall rt_sigaction rt_sigpending rt_sigprocmask rt_sigreturn "
                "rt_sigsuspend rt_sigtimedwait sigaltstack"},
    SystemCalls{kEvery, "time",
                "clock_getres clock_gettime clock_nanosleep getitimer gettimeofday nanosleep "
                "timer_create timer_delete timer_settime timerfd_create timerfd_gettime "
                "timerfd_settime times"},
    SystemCalls{kEvery, "limits and identity of this process",
                "capget getegid geteuid getgid getgroups getpgrp getrandom getresgid getresuid "
                "getrlimit getrusage getuid sysinfo umask uname"},
    SystemCalls{
        kEvery, "reading files, directories and pipes",
        "access close close_range dup dup2 dup3 faccessat faccessat2 fadvise64 fcntl flock "
        "fstat fstatfs getcwd getdents64 lseek lstat newfstatat pread64 preadv read readlink "
        "readlinkat readv stat statfs statx"},
    SystemCalls{kEvery, "writing to files that are open, and to standard output",
                "fdatasync fsync ftruncate pwrite64 write writev"},
    SystemCalls{kEvery, "waiting for events",
                "epoll_create epoll_create1 epoll_ctl epoll_pwait epoll_pwait2 epoll_wait eventfd2 "
                "pipe pipe2 poll ppoll pselect6 select"},
    SystemCalls{
        kEvery, "sockets that are open: telemetry, clients, and the threads of the EAL",
        "accept accept4 getpeername getsockname getsockopt recvfrom recvmmsg recvmsg sendmmsg "
        "sendmsg sendto setsockopt shutdown"},
    SystemCalls{kEvery, "further restrictions of itself, such as capset without a capability",
                "capset landlock_add_rule landlock_create_ruleset landlock_restrict_self seccomp"},
    SystemCalls{kNetworked, "connections to clients, exporters, the appliance and name servers",
                "bind connect inotify_add_watch inotify_init1 inotify_rm_watch listen socketpair"},
    SystemCalls{Bit(kAppliance), "files of the history, of registered jobs and of the EAL",
                "chmod fallocate fchmod fchmodat fchown mkdir open rename renameat renameat2 rmdir "
                "unlink unlinkat "
                "utimensat"},
};

// No part of rocescope makes these calls after it has started: a process that makes them runs
// injected code.
constexpr std::string_view kFatal =
    "acct add_key bpf chroot clock_adjtime clock_settime delete_module execve execveat "
    "finit_module "
    "fsconfig fsmount fsopen fspick init_module ioperm iopl kexec_file_load kexec_load keyctl "
    "mount "
    "mount_setattr move_mount name_to_handle_at open_by_handle_at open_tree perf_event_open "
    "pivot_root process_vm_readv process_vm_writev ptrace quotactl reboot request_key "
    "setdomainname "
    "sethostname setns settimeofday swapoff swapon syslog umount2 unshare userfaultfd";

class Filter {
 public:
  Filter() : context_(seccomp_init(SCMP_ACT_TRAP)) {
    if (context_ == nullptr) error_ = -ENOMEM;
  }
  ~Filter() {
    if (context_ != nullptr) seccomp_release(context_);
  }
  Filter(const Filter&) = delete;
  Filter& operator=(const Filter&) = delete;

  void Set(scmp_filter_attr attribute, uint32_t value) {
    if (error_ == 0) error_ = seccomp_attr_set(context_, attribute, value);
  }
  // Several rules for the same call permit it if one of them matches.
  template <typename... Condition>
  void Add(uint32_t action, std::string_view name, Condition... conditions) {
    if (error_ != 0) return;
    const int number = seccomp_syscall_resolve_name(std::string(name).c_str());
    if (number < 0) return;  // another architecture has it, or it is newer than the library
    const std::array<scmp_arg_cmp, sizeof...(conditions)> array = {conditions...};
    error_ = seccomp_rule_add_array(context_, action, number, array.size(), array.data());
  }
  void AddEach(uint32_t action, std::string_view names) {
    while (!names.empty()) {
      const std::string_view name = names.substr(0, names.find(' '));
      Add(action, name);
      names.remove_prefix(std::min(names.size(), name.size() + 1));
    }
  }
  // Zero, or a negative errno.
  int Load() { return error_ != 0 ? error_ : seccomp_load(context_); }

 private:
  const scmp_filter_ctx context_;
  int error_ = 0;
};

// Compares the bits in `mask` of an argument. Arguments of type int have 32 bits; the rest of the
// register is undefined.
scmp_arg_cmp Bits(unsigned argument, uint32_t mask, uint32_t value) {
  return {.arg = argument, .op = SCMP_CMP_MASKED_EQ, .datum_a = mask, .datum_b = value};
}
scmp_arg_cmp Is(unsigned argument, uint32_t value) { return Bits(argument, 0xffffffff, value); }

void Permit(SandboxedProgram program, Filter& filter) {
  for (const SystemCalls& calls : kPermitted) {
    if ((calls.programs & Bit(program)) != 0) filter.AddEach(SCMP_ACT_ALLOW, calls.names);
  }
  // New threads, but no namespaces. The flags of clone3 are in memory, which a filter cannot read;
  // the C library then uses clone.
  constexpr uint32_t kNamespaces = CLONE_NEWCGROUP | CLONE_NEWIPC | CLONE_NEWNET | CLONE_NEWNS |
                                   CLONE_NEWPID | CLONE_NEWUSER | CLONE_NEWUTS;
  filter.Add(SCMP_ACT_ALLOW, "clone", Bits(0, kNamespaces | CLONE_THREAD, CLONE_THREAD));
  filter.Add(SCMP_ACT_ERRNO(ENOSYS), "clone3");
  // Memory never becomes executable: only files are mapped as programs, for libraries that are
  // loaded late, and such memory is never writable.
  constexpr uint32_t kBoth = PROT_WRITE | PROT_EXEC;
  for (const uint32_t one : {0, PROT_WRITE}) {
    filter.Add(SCMP_ACT_ALLOW, "mmap", Bits(2, kBoth, one));
    filter.Add(SCMP_ACT_ALLOW, "mprotect", Bits(2, kBoth, one));
  }
  filter.Add(SCMP_ACT_ALLOW, "mmap", Bits(2, kBoth, PROT_EXEC), Bits(3, MAP_ANONYMOUS, 0));
  // Signals to this process only.
  filter.Add(SCMP_ACT_ALLOW, "tgkill", Is(0, static_cast<uint32_t>(getpid())));
  filter.Add(SCMP_ACT_ALLOW, "prlimit64", Is(0, 0));
  // Everything except characters for the terminal, which a shell would execute: requests that
  // differ from TIOCSTI in one of their 32 bits. The kernel ignores the other half of the register.
  for (uint32_t bit = 1; bit != 0; bit <<= 1) {
    filter.Add(SCMP_ACT_ALLOW, "ioctl", Bits(1, bit, ~uint32_t{TIOCSTI} & bit));
  }
  if (program == kAppliance) {
    filter.Add(SCMP_ACT_ALLOW, "openat");
  } else {
    constexpr uint32_t kWrites = O_ACCMODE | O_CREAT | O_TRUNC;
    filter.Add(SCMP_ACT_ALLOW, "openat", Bits(2, kWrites, O_RDONLY));
    filter.Add(SCMP_ACT_ALLOW, "open", Bits(1, kWrites, O_RDONLY));
  }
  for (const int family : {AF_UNIX, AF_INET, AF_INET6, AF_NETLINK}) {
    if (program != kReader) {
      filter.Add(SCMP_ACT_ALLOW, "socket", Is(0, static_cast<uint32_t>(family)));
    }
  }
}

std::atomic<uint64_t> denied = 0;
std::array<std::atomic<bool>, 1024> is_denied;  // by number of the system call

// The kernel sends SIGSYS in place of a denied call.
void OnDeniedCall(int, siginfo_t* information, void* context) {
  constexpr int kBySeccomp = 1;  // SYS_SECCOMP in siginfo.h of the kernel
  if (information->si_code != kBySeccomp) std::abort();
  ++denied;
  const auto number = static_cast<size_t>(information->si_syscall);
  if (number < is_denied.size()) is_denied[number] = true;
  auto& registers = static_cast<ucontext_t*>(context)->uc_mcontext;
#if defined(__x86_64__)
  registers.gregs[REG_RAX] = -EPERM;
#elif defined(__aarch64__)
  registers.regs[0] = static_cast<unsigned long long>(-EPERM);
#else
#error "which register has the result of a system call?"
#endif
}

}  // namespace

Status RestrictSystemCalls(SandboxedProgram program) {
  if (prctl(PR_GET_SECCOMP) < 0 && errno == EINVAL) {
    return MakeError(ErrorCode::kUnimplemented, "the kernel does not support seccomp");
  }
  Filter filter;
  Permit(program, filter);
  filter.AddEach(SCMP_ACT_KILL_PROCESS, kFatal);
  filter.Set(SCMP_FLTATR_CTL_TSYNC, 1);     // for all threads
  filter.Set(SCMP_FLTATR_CTL_OPTIMIZE, 2);  // binary search
  // Without it, kernels before 5.16 disable speculative stores for the process, which is slow.
  filter.Set(SCMP_FLTATR_CTL_SSB, 1);
  struct sigaction handler{};
  handler.sa_sigaction = OnDeniedCall;
  handler.sa_flags = SA_SIGINFO | SA_RESTART;
  sigaction(SIGSYS, &handler, nullptr);
  const int loaded = filter.Load();
  if (loaded == 0) return {};
  const bool is_missing = loaded == -EINVAL || loaded == -ENOSYS || loaded == -EOPNOTSUPP;
  return MakeError(is_missing ? ErrorCode::kUnimplemented : ErrorCode::kUnavailable,
                   fmt::format("cannot install a filter of system calls (seccomp): {}",
                               std::generic_category().message(-loaded)));
}

uint64_t DeniedSystemCalls() { return denied; }

std::vector<std::string> NamesOfDeniedSystemCalls() {
  std::vector<std::string> names;
  for (size_t number = 0; number < is_denied.size(); ++number) {
    if (!is_denied[number]) continue;
    const std::unique_ptr<char, decltype(&std::free)> name(
        seccomp_syscall_resolve_num_arch(SCMP_ARCH_NATIVE, static_cast<int>(number)), &std::free);
    names.push_back(name ? name.get() : fmt::format("number {}", number));
  }
  return names;
}

}  // namespace rocescope
