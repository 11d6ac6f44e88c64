// SPDX-License-Identifier: BSD-3-Clause
#include "sim/draw/fault_rules.h"

#include <algorithm>
#include <array>

#include "sim/draw/loss_rate.h"
#include "sim/fault/cables.h"
#include "sim/fault/valley.h"

namespace rocescope::sim {
namespace {

using topology::NicIndex;
using topology::NodeIndex;
using topology::PortIndex;

// One fault being drawn.
class Drawer {
 public:
  Drawer(const Scene& scene, RandomSource& dice, FaultOptions& fault)
      : scene_(scene), dice_(dice), fault_(fault) {}

  // Behind a third of the run, which shows what is healthy; half of the faults last to its end.
  void Time() {
    const SimTime run = scene_.outline.duration;
    fault_.onset = dice_.Time(run * 3 / 10, run / 2);
    fault_.duration = dice_.Chance(0.5) ? kNever : dice_.Time(run / 5, run * 2 / 5);
  }
  double Seconds() const {
    const SimTime left = scene_.outline.duration - fault_.onset;
    return static_cast<double>(std::min(left, fault_.duration)) / kSecond;
  }

  // A busy flow rather than an idle one.
  const Flow& PickFlow() {
    std::vector<double> weights;
    for (const Flow& flow : scene_.traffic.flows()) weights.push_back(flow.frames);
    return scene_.traffic.flows()[dice_.Weighted(weights)];
  }
  NodeIndex NodeAt(PortIndex port) const { return scene_.fabric.port(port).node; }
  NodeIndex LeafOf(NicIndex nic) const {
    return scene_.fabric.PeerNode(scene_.fabric.nic(nic).port);
  }

  // Between switches mostly; else a host's own. Where one way is enough, half of the faults have
  // but one.
  bool Link(bool one_way) {
    const Flow& flow = PickFlow();
    std::vector<PortIndex> between;
    for (size_t i = 1; i + 1 < flow.ports.size(); ++i) between.push_back(flow.ports[i]);
    constexpr double kHostLinks = 0.15;
    const bool host = between.empty() || dice_.Chance(kHostLinks);
    const PortIndex port = !host               ? dice_.Pick(between)
                           : dice_.Chance(0.5) ? flow.ports.front()
                                               : flow.ports.back();
    fault_.link = scene_.fabric.port(port).link;
    if (one_way && dice_.Chance(0.5)) fault_.sender = port;
    frames_ = scene_.traffic.FramesBy(port) * Seconds();
    return true;
  }

  // Any on a busy flow's way.
  bool Switch() {
    const Flow& flow = PickFlow();
    if (flow.ports.size() < 2) return false;
    const PortIndex port = flow.ports[dice_.Between(1, flow.ports.size() - 1)];
    return SwitchAt(NodeAt(port));
  }
  bool SwitchAt(NodeIndex node) {
    fault_.node = node;
    frames_ = 0;
    for (PortIndex port = 0; port < scene_.fabric.ports().size(); ++port) {
      if (NodeAt(port) == node) frames_ += scene_.traffic.FramesBy(port) * Seconds();
    }
    return true;
  }
  // One where flows have a choice of ways up.
  bool HashingSwitch() {
    const Flow& flow = PickFlow();
    std::vector<NodeIndex> nodes;
    for (size_t i = 1; i + 1 < flow.ports.size(); ++i) {
      const NodeIndex next = scene_.fabric.PeerNode(flow.ports[i]);
      if (scene_.fabric.node(next).tier > scene_.fabric.node(NodeAt(flow.ports[i])).tier) {
        nodes.push_back(NodeAt(flow.ports[i]));
      }
    }
    return !nodes.empty() && SwitchAt(dice_.Pick(nodes));
  }
  // The leaf of the NIC that the workload's streams overload: the last hop queues, marks and
  // pauses, and all of that NIC's CNPs pass it.
  bool CongestedLeaf() {
    if (scene_.outline.streams.empty()) return false;
    const Outline::Stream& stream = scene_.outline.streams.front();
    return SwitchAt(LeafOf(NicAt(stream.to_host, stream.to_nic))) && frames_ > 0;
  }

  // Of the sender of those streams' first: its CNPs come over the port that is overloaded too.
  bool AnsweredLeaf() {
    if (scene_.outline.streams.empty()) return false;
    const Outline::Stream& stream = scene_.outline.streams.front();
    return SwitchAt(LeafOf(NicAt(stream.from_host, stream.from_nic))) && frames_ > 0;
  }
  // Uplinks of two leaves of a pod.
  bool SwappedCables() {
    const Flow& flow = PickFlow();
    if (flow.ports.size() < 3) return false;
    const PortIndex first = flow.ports[1];
    std::vector<PortIndex> others;
    for (PortIndex port = 0; port < scene_.fabric.ports().size(); ++port) {
      const topology::Node& node = scene_.fabric.node(NodeAt(port));
      if (node.tier != topology::Tier::kLeaf || scene_.fabric.Peer(port) == topology::kNone ||
          scene_.fabric.node(scene_.fabric.PeerNode(port)).tier != topology::Tier::kSpine ||
          node.pod != scene_.fabric.node(NodeAt(first)).pod) {
        continue;
      }
      const std::array<PortIndex, 2> swapped = {first, port};
      if (NodeAt(port) != NodeAt(first) && SwapCables(scene_.fabric, swapped)) {
        others.push_back(port);
      }
    }
    if (others.empty()) return false;
    fault_.swapped = {first, dice_.Pick(others)};
    fault_.link = scene_.fabric.port(first).link;
    fault_.onset = 0;
    fault_.duration = kNever;
    return true;
  }
  // A leaf's link to a spine by which a loop of pauses can close.
  bool Loop() {
    std::vector<topology::LinkIndex> links;
    for (topology::LinkIndex link = 0; link < scene_.fabric.links().size(); ++link) {
      if (FindValleyLoop(scene_.fabric, link)) links.push_back(link);
    }
    if (links.empty()) return false;
    fault_.link = dice_.Pick(links);
    return true;
  }

  NicIndex NicAt(uint32_t host, uint32_t nic) const {
    return host * scene_.outline.fabric.nics_per_host + nic;
  }
  bool ReceivingNic() {
    fault_.nic = PickFlow().to;
    return true;
  }
  // Of other hosts than the NIC's.
  bool Senders(const std::vector<uint32_t>& hosts, uint64_t least, uint64_t most) {
    const NodeIndex victim = scene_.fabric.nic(fault_.nic).host;
    const uint32_t nics = scene_.outline.fabric.nics_per_host;
    std::vector<NicIndex> choices;
    for (const uint32_t host : hosts) {
      if (scene_.fabric.nic(NicAt(host, 0)).host == victim) continue;
      for (uint32_t nic = 0; nic < nics; ++nic) choices.push_back(NicAt(host, nic));
    }
    if (choices.size() < least) return false;
    dice_.Shuffle(choices);
    choices.resize(std::min<uint64_t>(choices.size(), dice_.Between(least, most)));
    std::sort(choices.begin(), choices.end());
    fault_.senders = std::move(choices);
    fault_.message = uint64_t{1} << dice_.Between(17, 20);
    return true;
  }
  std::vector<uint32_t> AllHosts() const {
    std::vector<uint32_t> hosts;
    const size_t nics = scene_.outline.fabric.nics_per_host;
    for (uint32_t i = 0; i < scene_.fabric.nics().size() / nics; ++i) hosts.push_back(i);
    return hosts;
  }
  std::vector<uint32_t> HostsOutsideOf(uint32_t job) const {
    const std::vector<uint32_t>& own = scene_.outline.jobs[job].hosts;
    std::vector<uint32_t> hosts = AllHosts();
    std::erase_if(
        hosts, [&](uint32_t host) { return std::find(own.begin(), own.end(), host) != own.end(); });
    return hosts;
  }

  void Loss() {
    const double rate = DrawLossRate(scene_.priors.loss_rates, dice_);
    fault_.probability = LiftedLossRate(rate, frames_, fault_.burst);
  }

  const Scene& scene_;
  RandomSource& dice_;
  FaultOptions& fault_;
  double frames_ = 0;  // that would pass the place while the fault lasts
};

struct Rule {
  FaultKind kind;
  WorkloadNeeds needs;
  bool (*draw)(Drawer& drawer);  // the place, and what is not as usual
};

bool GrayLoss(Drawer& drawer) {
  if (!drawer.Link(true)) return false;
  if (drawer.dice_.Chance(0.3)) drawer.fault_.burst = drawer.dice_.LogUniform(2, 8);
  constexpr uint32_t kLongFrames = 1024;  // size-dependent: acknowledgements pass
  if (drawer.dice_.Chance(0.2)) drawer.fault_.least_length = kLongFrames;
  drawer.Loss();
  return true;
}
bool BitErrors(Drawer& drawer) {
  if (!drawer.Link(true)) return false;
  drawer.Loss();
  return true;
}
bool Corruption(Drawer& drawer) {
  if (!drawer.Switch()) return false;
  drawer.Loss();
  return true;
}
bool Flap(Drawer& drawer) {
  drawer.fault_.period = drawer.dice_.Time(200 * kMicrosecond, kMillisecond);
  return drawer.Link(false);
}
bool DegradedRate(Drawer& drawer) {
  drawer.fault_.factor = drawer.dice_.LogUniform(0.05, 0.5);
  return drawer.Link(true);
}
bool AddedLatency(Drawer& drawer) {
  drawer.fault_.delay = drawer.dice_.Time(2 * kMicrosecond, 50 * kMicrosecond);
  return drawer.Link(true);
}
bool Blackhole(Drawer& drawer) {
  const Flow& flow = drawer.PickFlow();
  if (flow.ports.size() < 2) return false;
  drawer.fault_.nic = flow.to;
  return drawer.SwitchAt(drawer.NodeAt(flow.ports[drawer.dice_.Between(1, flow.ports.size() - 1)]));
}
bool Incast(Drawer& drawer) {
  return drawer.ReceivingNic() && drawer.Senders(drawer.AllHosts(), 5, 12);
}
bool NoisyNeighbour(Drawer& drawer) {
  const Flow& flow = drawer.PickFlow();
  drawer.fault_.nic = flow.to;
  return drawer.Senders(drawer.HostsOutsideOf(flow.job), 2, 4);
}
bool SlowReceiver(Drawer& drawer) {
  drawer.fault_.rate = drawer.dice_.LogUniform(5e9, 30e9);
  return drawer.ReceivingNic();
}
bool MisconfiguredAlpha(Drawer& drawer) {
  drawer.fault_.alpha = drawer.dice_.LogUniform(1.0 / 2048, 1.0 / 256);
  return drawer.CongestedLeaf();
}
bool LostCnps(Drawer& drawer) {
  drawer.fault_.probability = drawer.dice_.Uniform(0.5, 1);
  return drawer.CongestedLeaf();
}
bool Straggler(Drawer& drawer) {
  const uint32_t number = drawer.PickFlow().job;
  const Outline::Job& job = drawer.scene_.outline.jobs[number];
  const topology::Fabric& fabric = drawer.scene_.fabric;
  const NicIndex nic = drawer.NicAt(drawer.dice_.Pick(job.hosts), 0);
  const auto gpus = fabric.GpusOf(fabric.nic(nic).host);
  drawer.fault_.gpu = gpus[drawer.dice_.Between(0, job.gpus - 1)];
  drawer.fault_.factor = drawer.dice_.LogUniform(1.5, 4);
  return true;
}
bool MtuMismatch(Drawer& drawer) {
  drawer.fault_.mtu = drawer.dice_.Chance(0.5) ? 1500 : 2200;
  return drawer.Switch();
}

// In the order of the kinds. A kind without a rule does not compile.
constexpr std::array<Rule, kFaultKinds> kRules = {{
    {FaultKind::kLinkDown, {}, [](Drawer& drawer) { return drawer.Link(false); }},
    {FaultKind::kFlap, {}, Flap},
    {FaultKind::kDegradedRate, {}, DegradedRate},
    {FaultKind::kAddedLatency, {}, AddedLatency},
    {FaultKind::kGrayLoss, {}, GrayLoss},
    {FaultKind::kBitErrors, {}, BitErrors},
    {FaultKind::kCorruption, {}, Corruption},
    // Queue pairs of one NIC pair are what no longer spreads.
    {FaultKind::kPolarisation,
     {.least_queue_pairs = 3},
     [](Drawer& drawer) { return drawer.HashingSwitch(); }},
    {FaultKind::kBlackhole, {}, Blackhole},
    {FaultKind::kSwitchCrash, {}, [](Drawer& drawer) { return drawer.Switch(); }},
    {FaultKind::kIncast, {}, Incast},
    {FaultKind::kSlowReceiver, {}, SlowReceiver},
    {FaultKind::kPfcStorm, {}, [](Drawer& drawer) { return drawer.ReceivingNic(); }},
    {FaultKind::kMisconfiguredEcn,
     {.congestion = true},
     [](Drawer& drawer) { return drawer.CongestedLeaf(); }},
    {FaultKind::kMisconfiguredAlpha, {.congestion = true}, MisconfiguredAlpha},
    {FaultKind::kStraggler, {}, Straggler},
    {FaultKind::kNoisyNeighbour, {}, NoisyNeighbour},
    {FaultKind::kNicCrash, {}, [](Drawer& drawer) { return drawer.ReceivingNic(); }},
    {FaultKind::kMtuMismatch, {}, MtuMismatch},
    {FaultKind::kLostCnps, {.congestion = true}, LostCnps},
    {FaultKind::kDeprioritisedCnps,
     {.congestion = true, .both_ways = true},
     [](Drawer& drawer) { return drawer.AnsweredLeaf(); }},
    {FaultKind::kPfcDeadlock, {.full_buffers = true}, [](Drawer& drawer) { return drawer.Loop(); }},
    {FaultKind::kSwappedCables, {}, [](Drawer& drawer) { return drawer.SwappedCables(); }},
}};
static_assert(
    [] {
      for (size_t i = 0; i < kFaultKinds; ++i) {
        if (kRules[i].draw == nullptr || kRules[i].kind != static_cast<FaultKind>(i)) return false;
      }
      return true;
    }(),
    "each kind of fault needs a rule by which it is drawn, in the order of the kinds");

}  // namespace

WorkloadNeeds NeedsOf(FaultKind kind) { return kRules[static_cast<size_t>(kind)].needs; }

bool DrawFault(FaultKind kind, const Scene& scene, RandomSource& dice, FaultOptions& fault) {
  fault = {.kind = kind};
  if (scene.traffic.flows().empty()) return false;
  Drawer drawer(scene, dice, fault);
  drawer.Time();
  return kRules[static_cast<size_t>(kind)].draw(drawer);
}

}  // namespace rocescope::sim
