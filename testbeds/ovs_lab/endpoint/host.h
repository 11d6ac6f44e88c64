// SPDX-License-Identifier: BSD-3-Clause
// All NICs and jobs of one host. It has no I/O and no clock: the caller passes frames and times in.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <vector>

#include "testbeds/ovs_lab/endpoint/job.h"
#include "testbeds/ovs_lab/endpoint/lab_plan.h"
#include "testbeds/ovs_lab/endpoint/nic.h"
#include "testbeds/ovs_lab/endpoint/pacer.h"
#include "testbeds/ovs_lab/endpoint/timers.h"

namespace rocescope::endpoint {

// Receives the events of the jobs of a host.
class HostObserver : public JobObserver {
 public:
  virtual void JobStarted(const Job& job) = 0;
};

// Returns the NICs that the jobs use on a host, in the order of the topology.
std::vector<topology::NicIndex> NicsInUse(const LabPlan& plan, topology::NodeIndex host);

class Host {
 public:
  using Sinks = std::map<topology::NicIndex, FrameSink*>;

  // `sinks` has all NICs of NicsInUse. Jobs start at `begin` plus their own start. The references
  // must outlive it.
  Host(const LabPlan& plan, topology::NodeIndex host, Timestamp begin, const Sinks& sinks,
       HostObserver& observer);

  void Receive(topology::NicIndex nic, std::span<const uint8_t> frame, Timestamp now);
  // Executes all events that are due. Call it after Receive and at the time of Next.
  void Advance(Timestamp now);
  Timestamp Next() const;

  void SetSlowdown(double factor);
  const std::map<topology::NicIndex, std::unique_ptr<Nic>>& nics() const { return nics_; }
  const std::vector<std::unique_ptr<Job>>& jobs() const { return jobs_; }

 private:
  Pacer pacer_;
  Timers timers_;
  std::map<topology::NicIndex, std::unique_ptr<Nic>> nics_;
  std::vector<std::unique_ptr<Job>> jobs_;
};

}  // namespace rocescope::endpoint
