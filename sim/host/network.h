// SPDX-License-Identifier: BSD-3-Clause
// A simulated fabric: all switches and NICs of a topology::Fabric, connected, with routes and queue
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
  SwitchOptions switches;  // hash seeds are derived from `seed` unless `one_hash_seed` is set
  NicOptions nics;
  uint64_t seed = 1;
  // All switches use the same hash seed, which causes hash polarisation.
  bool one_hash_seed = false;
};

class Network final : public Forwarding {
 public:
  // The fabric must outlive the network.
  Network(const topology::Fabric& fabric, const NetworkOptions& options);
  ~Network() override;

  Engine& engine() { return engine_; }
  Shared& shared() { return shared_; }
  const topology::Fabric& fabric() const { return fabric_; }

  // The queue pairs at both ends.
  struct Connection {
    QueuePair* first;
    QueuePair* second;
  };
  // `observer` receives the events of both queue pairs; nullptr: no observer.
  Connection Connect(topology::NicIndex first, topology::NicIndex second,
                     QueuePairObserver* observer);

  // The ends of a connection that is not RoCE. `receiver` receives the frames of both ends;
  // nullptr: nobody does.
  Connection ConnectForeign(topology::NicIndex first, topology::NicIndex second,
                            ForeignReceiver* receiver);

  Nic& nic(topology::NicIndex index) { return *nics_[index]; }
  Switch& switch_at(topology::NodeIndex node) { return *switches_[switch_of_node_[node]]; }
  topology::NodeIndex NodeOf(const Switch& which) const { return nodes_[which.number()]; }
  Port& port(topology::PortIndex port);
  QueuePair& queue_pair(uint32_t number) { return *queue_pairs_[number]; }
  size_t queue_pair_count() const { return queue_pairs_.size(); }

  // Recomputes the routes without the failed links; the vector is indexed by LinkIndex.
  void Reroute(const std::vector<bool>& failed_links);
  // Adds a static route: `at` forwards to the NICs behind the edge switch through this port only,
  // whatever the state of its link. kNone removes the static route.
  void SetDetour(topology::NodeIndex at, topology::NodeIndex edge, topology::PortIndex out);
  // Returns whether data of the queue pair went down to a switch and up again because of a static
  // route.
  bool HasBounced(uint32_t queue_pair) const { return bounced_.contains(queue_pair); }
  // Returns the egress ports of the switches that the sender's packets currently use. Empty if
  // there is no path or if packets are sprayed.
  std::vector<topology::PortIndex> PathOf(const QueuePair& sender);
  // Incremented whenever paths may have changed.
  uint64_t routing_version() const { return routing_version_; }
  void NoteRoutingChange() { ++routing_version_; }

  Hops NextHops(uint32_t switch_number, const Frame& frame) override;
  uint64_t Digest(const Frame& frame, HashFields fields) const override;

 private:
  static constexpr uint32_t kUnknown = UINT32_MAX;
  struct Cached {
    uint32_t offset = kUnknown;  // index in next_hops_
    uint32_t count = 0;
    bool detour = false;
  };

  Connection Paired(QueuePair& first, QueuePair& second);
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
  std::vector<topology::NodeIndex> nodes_;  // nodes of switches_
  std::vector<uint32_t> switch_of_node_;
  std::vector<std::unique_ptr<Nic>> nics_;
  std::vector<std::unique_ptr<QueuePair>> queue_pairs_;
  std::vector<uint32_t> next_qpn_;          // indexed by NIC
  std::vector<uint32_t> edge_of_nic_;       // number of the edge switch
  std::vector<uint16_t> edge_port_of_nic_;  // port of the edge switch towards the NIC
  // Indexed by switch and edge switch; empty for a switch without traffic.
  std::vector<std::vector<Cached>> cache_;
  std::vector<uint16_t> next_hops_;
  std::map<std::pair<uint32_t, uint32_t>, uint16_t> detours_;  // keyed by switch and edge switch
  std::set<uint32_t> bounced_;                                 // queue pairs
  uint64_t routing_version_ = 0;
};

}  // namespace rocescope::sim
