// SPDX-License-Identifier: BSD-3-Clause
#include "testbeds/ovs_lab/endpoint/host.h"

#include <algorithm>
#include <set>

namespace rocescope::endpoint {
namespace {

// Bytes of a full packet on the wire: with Ethernet, FCS, preamble and gap.
constexpr double kFullPacketOverhead = 14 + 20 + 8 + 12 + 4 + 24;

// A queue pair alone may use the whole rate of its host.
double LineRate(const LabPlan& plan, topology::NicIndex nic) {
  const RateLimit& limit = plan.rate;
  const double of_host = limit.bits_per_second > 0 ? limit.bits_per_second
                                                   : limit.packets_per_second * 8 *
                                                         (plan.transport.mtu + kFullPacketOverhead);
  const auto of_link = static_cast<double>(plan.fabric->SpeedOf(plan.fabric->nic(nic).port));
  return of_link > 0 ? std::min(of_host, of_link) : of_host;
}

}  // namespace

std::vector<topology::NicIndex> NicsInUse(const LabPlan& plan, topology::NodeIndex host) {
  std::set<topology::NicIndex> used;
  for (const JobPlan& job : plan.jobs) {
    for (size_t rank = 0; rank < job.nics.size(); ++rank) {
      if (job.hosts[rank] == host) used.insert(job.nics[rank]);
    }
  }
  return {used.begin(), used.end()};
}

Host::Host(const LabPlan& plan, topology::NodeIndex host, Timestamp begin, const Sinks& sinks,
           HostObserver& observer)
    : pacer_(plan.rate) {
  for (const topology::NicIndex nic : NicsInUse(plan, host)) {
    nics_[nic] =
        std::make_unique<Nic>(endpoint::AddressOf(*plan.fabric, nic), *sinks.at(nic), pacer_);
  }
  for (const JobPlan& each : plan.jobs) {
    auto job = std::make_unique<Job>(each, host, timers_, observer);
    if (!job->has_ranks()) continue;
    const Timestamp start = begin + each.options.start;
    job->Connect(
        {.nic = [this](topology::NicIndex nic) -> Nic& { return *nics_.at(nic); },
         .address =
             [&plan](topology::NicIndex nic) { return endpoint::AddressOf(*plan.fabric, nic); },
         .line_rate = [&plan](topology::NicIndex nic) { return LineRate(plan, nic); },
         .transport = &plan.transport,
         .patience_ends = start + plan.connect_timeout});
    timers_.At(start, [&observer, job = job.get()] {
      observer.JobStarted(*job);
      job->Start();
    });
    jobs_.push_back(std::move(job));
  }
}

void Host::Receive(topology::NicIndex nic, std::span<const uint8_t> frame, Timestamp now) {
  timers_.SetNow(now);
  nics_.at(nic)->Receive(frame, now);
}

void Host::Advance(Timestamp now) {
  timers_.Run(now);
  for (const auto& [index, nic] : nics_) nic->Advance(now);
  timers_.Run(now);  // a failure of a queue pair may have added calls
}

Timestamp Host::Next() const {
  Timestamp next = timers_.Next();
  for (const auto& [index, nic] : nics_) next = std::min(next, nic->Next());
  return next;
}

void Host::SetSlowdown(double factor) {
  for (const auto& job : jobs_) job->SetSlowdown(factor);
}

}  // namespace rocescope::endpoint
