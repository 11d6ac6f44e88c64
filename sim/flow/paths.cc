// SPDX-License-Identifier: BSD-3-Clause
#include "sim/flow/paths.h"

namespace rocescope::sim {

void Paths::SetRoutes(std::vector<bool> avoided, std::vector<bool> hashes_addresses) {
  network_.Reroute(avoided);
  const topology::Fabric& fabric = network_.fabric();
  for (topology::NodeIndex node = 0; node < hashes_addresses.size(); ++node) {
    if (!fabric.node(node).IsSwitch()) continue;
    network_.switch_at(node).options().hash_fields =
        hashes_addresses[node] ? HashFields::kAddresses : HashFields::kFiveTuple;
  }
  constexpr size_t kMostStates = 64;
  if (known_.size() > kMostStates) known_.clear();
  current_ = states_
                 .try_emplace({std::move(avoided), std::move(hashes_addresses)},
                              static_cast<uint32_t>(states_.size()))
                 .first->second;
}

uint32_t Paths::Of(uint32_t queue_pair) {
  std::vector<uint32_t>& known = known_[current_];
  if (known.size() <= queue_pair) known.resize(network_.queue_pair_count(), topology::kNone);
  uint32_t& path = known[queue_pair];
  if (path != topology::kNone) return path;
  const QueuePair& sender = network_.queue_pair(queue_pair);
  std::vector<topology::PortIndex> ports = {network_.fabric().nic(sender.nic().number()).port};
  for (const topology::PortIndex port : network_.PathOf(sender)) ports.push_back(port);
  const auto [at, is_new] =
      numbers_.try_emplace(std::move(ports), static_cast<uint32_t>(paths_.size()));
  if (is_new) paths_.push_back(at->first);
  return path = at->second;
}

}  // namespace rocescope::sim
