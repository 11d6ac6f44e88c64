// SPDX-License-Identifier: BSD-3-Clause
// Traffic of links and jobs since the appliance started, as counters for Prometheus. Snapshots
// report links by analysis window and may attribute fewer bytes to a job than earlier snapshots
// did; these totals never decrease.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "analytics/congestion/link_load.h"
#include "base/time.h"

namespace rocescope {

struct SeriesLimits {
  size_t max_links = 10'000;  // link directions
  size_t max_jobs = 1'000;
};

struct LinkTotals {
  uint64_t bytes = 0;    // on the wire
  uint64_t marked = 0;   // packets CE-marked in the queues of the port
  uint64_t dropped = 0;  // packets dropped because a queue was full
  uint64_t errors = 0;   // frames received with errors at the other end
  Duration paused{};     // time for which PFC paused the port, summed over priorities
};

// Thread-safe.
class TrafficCounters {
 public:
  explicit TrafficCounters(SeriesLimits limits = {}) : limits_(limits) {}

  // Adds the window of a snapshot, unless it was added before. `restarted` is Answer::restarted:
  // after a restart, windows older than the last one are new.
  void AddLinks(const LinkLoads& loads, uint32_t restarted);
  // Adds what this job has sent since the last call and returns its total; nullopt if max_jobs
  // other jobs have series. `bytes` is what the newest snapshot attributes to the job.
  std::optional<uint64_t> AddJob(const std::string& job, uint64_t bytes);
  // Forgets the jobs that are not among `current`, so that their series end.
  void KeepJobs(const std::set<std::string>& current);
  // Adds what agents have dropped since the last call. `dropped` has a count for each known host,
  // which starts at zero with each session.
  void AddAgents(std::map<std::string, uint64_t> dropped);

  // The first max_links ports with data, which keep their places.
  std::map<topology::PortIndex, LinkTotals> Links() const;
  uint64_t omitted_links() const;   // ports with data beyond max_links
  uint64_t missed_windows() const;  // no snapshot contained them
  uint64_t agent_lost_batches() const;

 private:
  struct Growing {
    uint64_t last = 0;
    uint64_t total = 0;
  };

  const SeriesLimits limits_;
  mutable std::mutex mutex_;
  std::map<topology::PortIndex, LinkTotals> links_;
  std::set<topology::PortIndex> omitted_;
  std::map<std::string, Growing> jobs_;
  std::map<std::string, uint64_t> agents_;  // as of the last call
  std::optional<Timestamp> last_from_;
  uint32_t restarted_ = 0;
  uint64_t missed_windows_ = 0;
  uint64_t agent_lost_batches_ = 0;
};

}  // namespace rocescope
