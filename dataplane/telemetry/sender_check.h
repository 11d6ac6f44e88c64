// SPDX-License-Identifier: BSD-3-Clause
// Decides which senders of INT reports and sFlow are accepted. Neither protocol has authentication:
// the check excludes senders by mistake, and senders that cannot forge a source address.
#pragma once

#include <cstdint>
#include <set>
#include <utility>
#include <vector>

#include "base/address.h"
#include "base/ip_prefix.h"

namespace rocescope {

// Not changed while it is used; then thread-safe.
class SenderCheck {
 public:
  // Accepts telemetry from these source addresses: of known agents and nodes or, if none is known,
  // of all.
  void AllowSources(const IpPrefix& sources) { sources_.push_back(sources); }
  void KnowAgent(const IpAddress& agent) { known_agents_.insert(agent); }
  void KnowNode(uint32_t node_id) { known_nodes_.insert(node_id); }
  // Accepts sFlow with this agent address from this source address.
  void AllowAgent(const IpAddress& agent, const IpAddress& source) {
    agents_.emplace(agent, source);
  }
  // Accepts INT reports with this node ID from this source address.
  void AllowNode(uint32_t node_id, const IpAddress& source) { nodes_.emplace(node_id, source); }

  bool AllowsSflow(const IpAddress& agent, const IpAddress& source) const {
    return agents_.contains({agent, source}) ||
           ((IsEveryoneKnown() || known_agents_.contains(agent)) && AllowsSource(source));
  }
  bool AllowsInt(uint32_t node_id, const IpAddress& source) const {
    return nodes_.contains({node_id, source}) ||
           ((IsEveryoneKnown() || known_nodes_.contains(node_id)) && AllowsSource(source));
  }

 private:
  bool IsEveryoneKnown() const { return known_agents_.empty() && known_nodes_.empty(); }
  bool AllowsSource(const IpAddress& source) const {
    for (const IpPrefix& sources : sources_) {
      if (sources.Contains(source)) return true;
    }
    return false;
  }

  std::vector<IpPrefix> sources_;
  std::set<std::pair<IpAddress, IpAddress>> agents_;
  std::set<std::pair<uint32_t, IpAddress>> nodes_;
  std::set<IpAddress> known_agents_;
  std::set<uint32_t> known_nodes_;
};

}  // namespace rocescope
