// SPDX-License-Identifier: BSD-3-Clause
// For LD_PRELOAD: a wall clock that runs faster than the real one. $FAST_CLOCK is "FACTOR ZERO":
// the wall clock shows ZERO + FACTOR * (real time - ZERO), with ZERO in nanoseconds since 1970. The
// monotonic clock does not change. The kernel's timestamps of datagrams are turned off, so that the
// program takes the time of their arrival from this clock.
#include <dlfcn.h>
#include <sys/socket.h>
#include <time.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>

namespace {

struct Speed {
  int64_t factor = 1;
  int64_t zero = 0;
};

Speed Configured() {
  Speed speed;
  const char* const text = getenv("FAST_CLOCK");
  long long factor = 1;
  long long zero = 0;
  if (text != nullptr && sscanf(text, "%lld %lld", &factor, &zero) == 2) speed = {factor, zero};
  return speed;
}

}  // namespace

extern "C" {

int clock_gettime(clockid_t clock, timespec* time) noexcept {
  using Function = int (*)(clockid_t, timespec*);
  static const auto real = reinterpret_cast<Function>(dlsym(RTLD_NEXT, "clock_gettime"));
  static const Speed speed = Configured();
  const int result = real(clock, time);
  if (result != 0 || clock != CLOCK_REALTIME) return result;
  constexpr int64_t kSecond = 1'000'000'000;
  const int64_t now = int64_t{time->tv_sec} * kSecond + time->tv_nsec;
  const int64_t shown = speed.zero + speed.factor * (now - speed.zero);
  time->tv_sec = shown / kSecond;
  time->tv_nsec = shown % kSecond;
  return 0;
}

int setsockopt(int socket, int level, int option, const void* value, socklen_t size) noexcept {
  using Function = int (*)(int, int, int, const void*, socklen_t);
  static const auto real = reinterpret_cast<Function>(dlsym(RTLD_NEXT, "setsockopt"));
  if (level == SOL_SOCKET && option == SO_TIMESTAMPNS) return 0;
  return real(socket, level, option, value, size);
}

}  // extern "C"
