// SPDX-License-Identifier: BSD-3-Clause
// For LD_PRELOAD: counts calls of one kind, and fails one of them or all from one on. $FAIL_CALLS
// is a file that the test maps too; see `Plan`. Without it, nothing fails.
//
// Only calls whose return address is in the program itself count; for files also those of SQLite,
// which writes the program's data, and for the clock those of libstdc++ (std::chrono). Calls inside
// other libraries do not fail: what those do then is not the program's decision. An allocation of
// std::string is such a call if libstdc++ contains the code.
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <new>

namespace {

enum Kind : uint32_t { kAllocation, kWrite, kSync, kConnect, kClock, kKinds };

constexpr size_t kSites = 1 << 14;

// A place in the program that calls, as an offset from the start of the program.
struct Site {
  std::atomic<uint64_t> offset;  // 0: free
  std::atomic<uint64_t> calls;
};

// The file, which tests/injection/injection.py writes and reads. Its fields are little-endian.
struct Plan {
  uint32_t kind = 0;
  uint32_t error = 0;    // errno, for files and sockets
  uint64_t first = 0;    // number of the first call that fails, from 1; 0: none
  uint64_t count = 0;    // how many calls fail
  uint64_t site = 0;     // only calls from this place count; 0: all
  int64_t clock_ns = 0;  // added to the wrong time
  std::atomic<uint64_t> calls[kKinds];
  std::atomic<uint64_t> failed;
  Site sites[kSites];  // allocations
};

struct Range {
  uintptr_t begin = 0;
  uintptr_t end = 0;
  bool Contains(uintptr_t address) const { return address >= begin && address < end; }
};

Plan* plan = nullptr;
Range program;
Range sqlite;
Range standard_library;

int Examine(dl_phdr_info* info, size_t, void*) {
  Range range = {UINTPTR_MAX, 0};
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr)& header = info->dlpi_phdr[i];
    if (header.p_type != PT_LOAD) continue;
    const uintptr_t begin = info->dlpi_addr + header.p_vaddr;
    if (begin < range.begin) range.begin = begin;
    if (begin + header.p_memsz > range.end) range.end = begin + header.p_memsz;
  }
  if (info->dlpi_name == nullptr || info->dlpi_name[0] == '\0') {
    if (program.end == 0) program = range;
  } else if (strstr(info->dlpi_name, "libsqlite3.so") != nullptr) {
    sqlite = range;
  } else if (strstr(info->dlpi_name, "libstdc++.so") != nullptr) {
    standard_library = range;
  }
  return 0;
}

// Before main, and before the program restricts its system calls.
__attribute__((constructor)) void Begin() {
  const char* const path = getenv("FAIL_CALLS");
  if (path == nullptr) return;
  const int file = open(path, O_RDWR | O_CLOEXEC);
  if (file < 0) return;
  void* const page = mmap(nullptr, sizeof(Plan), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  close(file);
  if (page == MAP_FAILED) return;
  dl_iterate_phdr(Examine, nullptr);
  plan = static_cast<Plan*>(page);
}

template <typename Function>
Function Real(const char* name) {
  return reinterpret_cast<Function>(dlsym(RTLD_NEXT, name));
}

void CountSite(uint64_t offset) {
  for (size_t i = 0, at = offset * 0x9e3779b97f4a7c15 >> 50; i < kSites; ++i) {
    Site& site = plan->sites[(at + i) % kSites];
    uint64_t found = 0;
    if (site.offset.compare_exchange_strong(found, offset) || found == offset) {
      ++site.calls;
      return;
    }
  }
}

// Counts a call. Returns whether it is to fail.
bool Fails(Kind kind, const void* caller) {
  if (plan == nullptr) return false;
  const auto address = reinterpret_cast<uintptr_t>(caller);
  const bool is_file = kind == kWrite || kind == kSync;
  if (!program.Contains(address) && !(is_file && sqlite.Contains(address)) &&
      !(kind == kClock && standard_library.Contains(address))) {
    return false;
  }
  if (kind == kAllocation) CountSite(address - program.begin);
  if (plan->site != 0 && plan->site != address - program.begin) return false;
  const uint64_t number = ++plan->calls[kind];
  if (plan->kind != kind || plan->first == 0 || number < plan->first ||
      number - plan->first >= plan->count) {
    return false;
  }
  ++plan->failed;
  if (kind != kAllocation) errno = static_cast<int>(plan->error);
  return true;
}

}  // namespace

#define CALLER __builtin_extract_return_addr(__builtin_return_address(0))

void* operator new(size_t size) {
  static const auto real = Real<void* (*)(size_t)>("_Znwm");
  if (Fails(kAllocation, CALLER)) throw std::bad_alloc();
  return real(size);
}

void* operator new[](size_t size) {
  static const auto real = Real<void* (*)(size_t)>("_Znam");
  if (Fails(kAllocation, CALLER)) throw std::bad_alloc();
  return real(size);
}

void* operator new(size_t size, std::align_val_t alignment) {
  static const auto real = Real<void* (*)(size_t, std::align_val_t)>("_ZnwmSt11align_val_t");
  if (Fails(kAllocation, CALLER)) throw std::bad_alloc();
  return real(size, alignment);
}

void* operator new(size_t size, const std::nothrow_t& none) noexcept {
  static const auto real = Real<void* (*)(size_t, const std::nothrow_t&)>("_ZnwmRKSt9nothrow_t");
  return Fails(kAllocation, CALLER) ? nullptr : real(size, none);
}

extern "C" {

ssize_t write(int file, const void* bytes, size_t size) {
  static const auto real = Real<ssize_t (*)(int, const void*, size_t)>("write");
  // Standard error works: otherwise, messages could not be checked.
  return file != STDERR_FILENO && Fails(kWrite, CALLER) ? -1 : real(file, bytes, size);
}

ssize_t writev(int file, const iovec* parts, int count) {
  static const auto real = Real<ssize_t (*)(int, const iovec*, int)>("writev");
  return Fails(kWrite, CALLER) ? -1 : real(file, parts, count);
}

ssize_t pwrite(int file, const void* bytes, size_t size, off_t offset) {
  static const auto real = Real<ssize_t (*)(int, const void*, size_t, off_t)>("pwrite");
  return Fails(kWrite, CALLER) ? -1 : real(file, bytes, size, offset);
}

ssize_t pwrite64(int file, const void* bytes, size_t size, off64_t offset) {
  static const auto real = Real<ssize_t (*)(int, const void*, size_t, off64_t)>("pwrite64");
  return Fails(kWrite, CALLER) ? -1 : real(file, bytes, size, offset);
}

int fsync(int file) {
  static const auto real = Real<int (*)(int)>("fsync");
  return Fails(kSync, CALLER) ? -1 : real(file);
}

int fdatasync(int file) {
  static const auto real = Real<int (*)(int)>("fdatasync");
  return Fails(kSync, CALLER) ? -1 : real(file);
}

int connect(int socket, const sockaddr* address, socklen_t size) {
  static const auto real = Real<int (*)(int, const sockaddr*, socklen_t)>("connect");
  return Fails(kConnect, CALLER) ? -1 : real(socket, address, size);
}

int clock_gettime(clockid_t clock, timespec* time) noexcept {
  static const auto real = Real<int (*)(clockid_t, timespec*)>("clock_gettime");
  const int result = real(clock, time);
  if (result != 0 || clock != CLOCK_REALTIME || !Fails(kClock, CALLER)) return result;
  constexpr int64_t kSecond = 1'000'000'000;
  const int64_t now = int64_t{time->tv_sec} * kSecond + time->tv_nsec + plan->clock_ns;
  time->tv_sec = now / kSecond;
  time->tv_nsec = now % kSecond;
  return result;
}

}  // extern "C"
