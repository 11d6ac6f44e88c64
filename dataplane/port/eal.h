// SPDX-License-Identifier: BSD-3-Clause
// DPDK's environment abstraction layer (EAL): memory, devices and lcores, started once a process.
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
  // Takes a line of warning that DPDK says after the start; called by any thread.
  using Log = std::function<void(std::string_view)>;

  // Starts EAL with `words` as dpdk programs take them behind their name ("--no-huge", "-l", "0").
  // The calling thread becomes EAL's main lcore and is pinned to its core. DPDK starts once a
  // process: a second start is an error, also after this object is gone. The error has what EAL
  // said and, where it is known, what to do; nothing is printed. It is kUnavailable where a file or
  // interface that a device needs is not there or not what it takes, else kInvalidArgument. It is
  // an error too if a device that `words` name (-a, --vdev) is no port; complaints of a start that
  // succeeds go to `log`.
  static Result<std::unique_ptr<Eal>> Start(const std::vector<std::string>& words, Log log = {});

  ~Eal();
  Eal(const Eal&) = delete;
  Eal& operator=(const Eal&) = delete;

  size_t lcore_count() const;  // the main one included

  // Runs `loop(i)` for i below `count`, each on an lcore of its own, 0 on the main one, which is
  // this thread; returns when all have ended. `count` is 1 to lcore_count(). What a loop throws is
  // thrown again then, the first one's; to end the others is the caller's matter.
  void RunOnLcores(size_t count, const std::function<void(size_t)>& loop);

  // The machine's cores that lcores run on.
  std::vector<int> Cores() const;

 private:
  Eal() = default;
};

// The sentence that helps with what EAL said; empty if none is known.
std::string EalAdvice(std::string_view said);

}  // namespace rocescope
