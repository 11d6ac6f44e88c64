// SPDX-License-Identifier: BSD-3-Clause
// DPDK's Environment Abstraction Layer (EAL): memory, devices and lcores. Started once per process.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace rocescope {

class Eal {
 public:
  // Receives the warnings that DPDK logs after the start. Called by any thread.
  using Log = std::function<void(std::string_view)>;

  // Starts EAL with `words`, the arguments that DPDK programs take ("--no-huge", "-l", "0"). The
  // calling thread becomes EAL's main lcore and is pinned to its core. EAL can start only once per
  // process; a second start is an error even after this object was destroyed. The error contains
  // EAL's message and, if known, what to do; nothing is printed. Its code is kUnavailable if a file
  // or interface that a device needs is missing or unsuitable, otherwise kInvalidArgument. It is
  // also an error if a device in `words` (-a, --vdev) is not a port. Warnings during a successful
  // start go to `log`.
  static Result<std::unique_ptr<Eal>> Start(const std::vector<std::string>& words, Log log = {});

  ~Eal();
  Eal(const Eal&) = delete;
  Eal& operator=(const Eal&) = delete;

  size_t lcore_count() const;  // including the main one

  // Runs `loop(i)` for 0 <= i < `count`, each on its own lcore, loop 0 on the main lcore, which is
  // this thread. Returns when all loops have returned. `count` is 1 to lcore_count(). If a loop
  // throws, the others continue, and its exception is rethrown when all have ended: `loop` itself
  // must make the others stop.
  void RunOnLcores(size_t count, const std::function<void(size_t)>& loop);

  // The CPU cores that the lcores run on.
  std::vector<int> Cores() const;

 private:
  Eal() = default;
};

// Returns advice for an EAL message, or an empty string.
std::string EalAdvice(std::string_view said);

}  // namespace rocescope
