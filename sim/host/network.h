// SPDX-License-Identifier: BSD-3-Clause
// A fabric that works: every switch and NIC of a topology::Fabric, connected, with routes and queue
// pairs.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "sim/engine/engine.h"
#include "sim/host/nic.h"
#include "sim/host/queue_pair.h"
#include "sim/net/switch.h"
#include "topology/fabric.h"
#include "topology/route.h"

namespace rocescope::sim {

struct NetworkOptions {
  SwitchOptions switches;  // hash seeds are drawn from `seed` unless `one_hash_seed`
  NicOptions nics;
  uint64_t seed = 1;
  bool one_hash_seed = false;  // every switch hashes alike: polarisation
};

class Network final : public Forwarding {
 public:
  Network(const topology::Fabric& fabric, const NetworkOptions& options);  // that outlives it
  ~Network() override;

  Engine& engine() { return engine_; }
  Shared& shared() { return shared_; }
  const topology::Fabric& fabric() const { return fabric_; }

  // One end at each NIC.
  struct Connection {
    QueuePair* first;
    QueuePair* second;
  };
  // `observer` is told of both ends; nullptr: nobody.
  Connection Connect(topology::NicIndex first, topology::NicIndex second,
                     QueuePairObserver* observer);

  Nic& nic(topology::NicIndex index) { return *nics_[index]; }
  Switch& switch_at(topology::NodeIndex node) { return *switches_[switch_of_node_[node]]; }
  topology::NodeIndex NodeOf(const Switch& which) const { return nodes_[which.number()]; }
  Port& port(topology::PortIndex port);
  QueuePair& queue_pair(uint32_t number) { return *queue_pairs_[number]; }
  size_t queue_pair_count() const { return queue_pairs_.size(); }

  // What routing uses from now on; by LinkIndex.
  void Reroute(const std::vector<bool>& failed_links);
  // A route that routing did not make: `at` forwards to the NICs of the edge switch by this port of
  // its alone, whatever becomes of its link. kNone: as routing says.
  void SetDetour(topology::NodeIndex at, topology::NodeIndex edge, topology::PortIndex out);
  // Data of the queue pair came down to a switch and went up again, by a detour.
  bool HasBounced(uint32_t queue_pair) const { return bounced_.contains(queue_pair); }
  // The egress ports of the switches that the sender's packets pass from now on; empty if there is
  // no way, or packets are sprayed.
  std::vector<topology::PortIndex> PathOf(const QueuePair& sender);
  // Raised whenever paths may have changed.
  uint64_t routing_version() const { return routing_version_; }
  void NoteRoutingChange() { ++routing_version_; }

  Hops NextHops(uint32_t switch_number, const Frame& frame) override;
  uint64_t Digest(const Frame& frame, HashFields fields) const override;

 private:
  static constexpr uint32_t kUnknown = UINT32_MAX;
  struct Cached {
    uint32_t offset = kUnknown;  // in next_hops_
    uint32_t count = 0;
    bool detour = false;
  };

  void NoteBounce(uint32_t switch_number, const Frame& frame, uint16_t out);
  void ForgetRoutes();
  void Look(Cached& cached, uint32_t switch_number, uint32_t edge, topology::NicIndex destination);
  void MakeSwitches(const NetworkOptions& options);
  void MakeNics(const NetworkOptions& options);
  void ConnectPorts();
  uint64_t DigestOf(const QueuePair& sender, HashFields fields) const;

  const topology::Fabric& fabric_;
  Engine engine_;
  Shared shared_{engine_};
  topology::Routes routes_;
  Random random_;
  std::vector<std::unique_ptr<Switch>> switches_;
  std::vector<topology::NodeIndex> nodes_;  // of switches_
  std::vector<uint32_t> switch_of_node_;
  std::vector<std::unique_ptr<Nic>> nics_;
  std::vector<std::unique_ptr<QueuePair>> queue_pairs_;
  std::vector<uint32_t> next_qpn_;          // by NIC
  std::vector<uint32_t> edge_of_nic_;       // number of the switch before it
  std::vector<uint16_t> edge_port_of_nic_;  // that switch's port towards it
  std::vector<Cached> cache_;               // by switch and edge switch
  std::vector<uint16_t> next_hops_;
  std::map<std::pair<uint32_t, uint32_t>, uint16_t> detours_;  // by switch and edge switch
  std::set<uint32_t> bounced_;                                 // queue pairs
  uint64_t routing_version_ = 0;
};

}  // namespace rocescope::sim
