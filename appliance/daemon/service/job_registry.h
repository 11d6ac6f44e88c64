// SPDX-License-Identifier: BSD-3-Clause
// Jobs that a scheduler has registered. Thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "dataplane/host/allocation.h"

namespace rocescope {

class JobRegistry {
 public:
  // Limits of all jobs together. When one is exceeded, the jobs that ended first are forgotten; if
  // no job has ended, a new one is refused.
  struct Limits {
    size_t jobs = 65'536;
    size_t nodes = size_t{1} << 20;
    uint64_t bytes = uint64_t{1} << 30;  // with the copies that the analysis and the job file hold
  };
  // The default limits, or lower ones if the appliance has little memory.
  static Limits LimitsFor(uint64_t memory);

  // Number of ended jobs, the latest ones, that `Reported` returns.
  static constexpr size_t kMaxEndedReported = 1000;

  JobRegistry() : JobRegistry(Limits{}) {}
  explicit JobRegistry(const Limits& limits) : limits_(limits) {}

  // Returns an error that names the limit if the registry is full. A job replaces an earlier one of
  // the same number, unless the earlier one has ended and has the same start time: then it is the
  // same job, registered late, and stays ended. Returns the number of this registration, for Undo.
  Result<uint64_t> Register(Allocation allocation);
  // Cancels a registration: restores the earlier job of the same number, or forgets the job.
  // Does nothing if the job was registered again or ended since.
  void Undo(uint64_t id, uint64_t registration, const std::optional<Allocation>& before);
  // Returns false if the job is unknown. A job that has already ended keeps its end time.
  bool End(uint64_t id, Timestamp end);

  // Returns a number that increases with each change.
  uint64_t version() const {
    const std::lock_guard lock(mutex_);
    return version_;
  }

  using Condition = std::function<bool(const Allocation&)>;
  // Returns whether a job with this number or name exists that fulfils the condition.
  bool Has(
      std::string_view name,
      const Condition& condition = [](const Allocation&) { return true; }) const;
  // Returns the jobs that fulfil the condition, in the order of ids.
  std::vector<Allocation> Select(const Condition& condition) const;
  // Returns all jobs in the order of ids.
  std::vector<Allocation> All() const;
  // Returns the jobs for the analysis and the job file: all running ones, and the last
  // kMaxEndedReported that ended, in the order of ids. The run time does not depend on the number
  // of other ended jobs.
  std::vector<Allocation> Reported() const;
  // Returns the jobs that have not ended, in the order of ids.
  std::vector<Allocation> Held() const;
  std::optional<Allocation> Find(uint64_t id) const;
  // Returns the number of jobs.
  size_t Count(bool ended_too) const;
  // Returns at most `most` jobs with ids above `after`, in the order of ids.
  std::vector<Allocation> After(uint64_t after, bool ended_too, size_t most) const;

 private:
  bool MakeRoom(uint64_t keep);
  void Forget(std::map<uint64_t, Allocation>::iterator at);
  void Keep(Allocation allocation);

  const Limits limits_;
  mutable std::mutex mutex_;
  std::map<uint64_t, Allocation> jobs_;
  std::map<uint64_t, uint64_t> registrations_;  // by id: number of the last registration or end
  uint64_t last_registration_ = 0;
  uint64_t version_ = 0;
  std::set<uint64_t> held_;                         // each job is in either held_ or ended_
  std::set<std::pair<Timestamp, uint64_t>> ended_;  // end time and id
  size_t nodes_ = 0;                                // of all jobs
  uint64_t bytes_ = 0;                              // of all jobs
};

}  // namespace rocescope
