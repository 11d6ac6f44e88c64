// SPDX-License-Identifier: BSD-3-Clause
#include "sim/truth/recorder.h"

#include <algorithm>
#include <utility>

namespace rocescope::sim {

Recorder::Recorder(Network& network, uint64_t congested_from)
    : network_(network), congested_from_(congested_from) {}

void Recorder::Start() {
  const topology::Fabric& fabric = network_.fabric();
  for (topology::PortIndex port = 0; port < fabric.ports().size(); ++port) {
    if (fabric.node(fabric.port(port).node).IsSwitch()) watched_.push_back(port);
  }
  open_.assign(watched_.size() * kPriorities, kNoQueue);
  open_count_.assign(watched_.size(), 0);
  paths_.resize(network_.queue_pair_count());
  bytes_before_.resize(network_.queue_pair_count());
  Look();
}

void Recorder::Look() {
  const SimTime now = network_.engine().Now();
  if (network_.routing_version() != version_) LookAtPaths(now);
  LookAtQueues(now);
  network_.engine().At(now + kLook, look_);
}

void Recorder::LookAtPaths(SimTime now) {
  version_ = network_.routing_version();
  for (uint32_t i = 0; i < paths_.size(); ++i) {
    std::vector<Path>& known = paths_[i];
    std::vector<topology::PortIndex> ports = network_.PathOf(network_.queue_pair(i));
    if (!known.empty() && known.back().ports == ports) continue;
    EndPath(i, now);
    known.push_back({.start = now, .end = kNever, .ports = std::move(ports)});
  }
}

void Recorder::EndPath(uint32_t queue_pair, SimTime now) {
  if (paths_[queue_pair].empty()) return;
  const uint64_t sent = network_.queue_pair(queue_pair).bytes_sent();
  Path& path = paths_[queue_pair].back();
  path.end = now;
  path.bytes = sent - bytes_before_[queue_pair];
  bytes_before_[queue_pair] = sent;
}

void Recorder::LookAtQueues(SimTime now) {
  for (size_t i = 0; i < watched_.size(); ++i) {
    const Port& port = network_.port(watched_[i]);
    if (port.queued() == 0 && open_count_[i] == 0) continue;
    for (uint32_t priority = 0; priority < kPriorities; ++priority) {
      uint32_t& open = open_[i * kPriorities + priority];
      const uint64_t queued = port.queued(priority);
      const bool congested = queued >= congested_from_ || (queued > 0 && port.IsPaused(priority));
      if (congested && open == kNoQueue) {
        open = static_cast<uint32_t>(queues_.size());
        queues_.push_back(
            {.port = watched_[i], .priority = priority, .start = now, .end = kNever, .peak = 0});
        ++open_count_[i];
      }
      if (open == kNoQueue) continue;
      queues_[open].peak = std::max(queues_[open].peak, queued);
      if (congested) continue;
      queues_[open].end = now;
      open = kNoQueue;
      --open_count_[i];
    }
  }
}

void Recorder::Finish() {
  const SimTime now = network_.engine().Now();
  for (uint32_t i = 0; i < paths_.size(); ++i) EndPath(i, now);
  for (Queue& queue : queues_) queue.end = std::min(queue.end, now);
}

}  // namespace rocescope::sim
