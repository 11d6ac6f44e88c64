// SPDX-License-Identifier: BSD-3-Clause
#include "sim/draw/fault_rules.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>

#include "sim/draw/loss_rate.h"
#include "sim/draw/scale.h"
#include "sim/fault/cables.h"
#include "sim/fault/valley.h"

namespace rocescope::sim {
namespace {

using topology::NicIndex;
using topology::NodeIndex;
using topology::PortIndex;

// Draws one fault.
class Drawer {
 public:
  Drawer(const DrawContext& context, RandomSource& dice, FaultOptions& fault)
      : context_(context), scale_(ScaleOf(context.outline.model)), dice_(dice), fault_(fault) {}

  // After about a third of the run, which shows the healthy state. Half of the faults last until
  // the run ends.
  void Time() {
    const SimTime run = context_.outline.duration;
    if (context_.field) {
      fault_.onset = RoundDown(dice_.Time(run / 10, run * 8 / 10), scale_);
      fault_.duration = dice_.Chance(0.5)
                            ? kNever
                            : RoundDown(static_cast<SimTime>(dice_.LogUniform(0.05, 0.5) *
                                                             static_cast<double>(run)),
                                        scale_);
      return;
    }
    fault_.onset = dice_.Time(run * 3 / 10, run / 2);
    fault_.duration = dice_.Chance(0.5) ? kNever : dice_.Time(run / 5, run * 2 / 5);
  }
  double Seconds() const {
    const SimTime left = context_.outline.duration - fault_.onset;
    return static_cast<double>(std::min(left, fault_.duration)) / kSecond;
  }

  // A job of the flow runs during the fault.
  bool IsActive(const Flow& flow) const {
    const Outline::Job& job = context_.outline.jobs[flow.job];
    return job.start < std::min(EndOf(fault_), context_.outline.duration) && fault_.onset < job.end;
  }
  bool HasFlows() const {
    return std::ranges::any_of(context_.traffic.flows(),
                               [this](const Flow& flow) { return IsActive(flow); });
  }
  // Prefers busy flows.
  const Flow& PickFlow() {
    std::vector<double> weights;
    for (const Flow& flow : context_.traffic.flows()) {
      weights.push_back(IsActive(flow) ? flow.frames : 0);
    }
    return context_.traffic.flows()[dice_.Weighted(weights)];
  }
  NodeIndex NodeAt(PortIndex port) const { return context_.fabric.port(port).node; }
  NodeIndex LeafOf(NicIndex nic) const {
    return context_.fabric.PeerNode(context_.fabric.nic(nic).port);
  }

  // Mostly a link between switches, else a host's link. With `one_way`, half of the faults affect
  // one direction only.
  bool Link(bool one_way) {
    if (context_.neighbour != nullptr) {
      const std::vector<PortIndex> near = PortsAtNeighbour();
      return !near.empty() && LinkAt(dice_.Pick(near), one_way);
    }
    const Flow& flow = PickFlow();
    std::vector<PortIndex> between;
    for (size_t i = 1; i + 1 < flow.ports.size(); ++i) between.push_back(flow.ports[i]);
    constexpr double kHostLinks = 0.15;
    const bool host = between.empty() || dice_.Chance(kHostLinks);
    const PortIndex port = !host               ? dice_.Pick(between)
                           : dice_.Chance(0.5) ? flow.ports.front()
                                               : flow.ports.back();
    return LinkAt(port, one_way);
  }
  bool LinkAt(PortIndex port, bool one_way) {
    fault_.link = context_.fabric.port(port).link;
    if (one_way && dice_.Chance(0.5)) fault_.sender = port;
    frames_ = ActiveFramesBy(port) * Seconds();
    return true;
  }

  // Frames per second of the flows that are active during the fault, by port.
  double ActiveFramesBy(PortIndex port) {
    if (active_frames_.empty()) {
      active_frames_.resize(context_.fabric.ports().size());
      for (const Flow& flow : context_.traffic.flows()) {
        if (!IsActive(flow)) continue;
        for (const PortIndex passed : flow.ports) active_frames_[passed] += flow.frames;
      }
    }
    return active_frames_[port];
  }
  // Sending ports with traffic at the link, switch or host of the other fault.
  std::vector<PortIndex> PortsAtNeighbour() {
    const FaultOptions& other = *context_.neighbour;
    const std::vector<NodeIndex> nodes = NodesOfNeighbour();
    std::vector<PortIndex> ports;
    for (PortIndex port = 0; port < context_.fabric.ports().size(); ++port) {
      if (ActiveFramesBy(port) <= 0) continue;
      const bool near =
          other.link != topology::kNone
              ? context_.fabric.port(port).link == other.link
              : std::ranges::find(nodes, NodeAt(port)) != nodes.end() ||
                    std::ranges::find(nodes, context_.fabric.PeerNode(port)) != nodes.end();
      if (near) ports.push_back(port);
    }
    return ports;
  }
  std::vector<NodeIndex> NodesOfNeighbour() const {
    return NodesAt(context_.fabric, *context_.neighbour);
  }
  bool SwitchAtNeighbour() {
    std::vector<NodeIndex> switches = NodesOfNeighbour();
    std::erase_if(switches, [&](NodeIndex node) { return !context_.fabric.node(node).IsSwitch(); });
    return !switches.empty() && SwitchAt(dice_.Pick(switches)) && frames_ > 0;
  }
  // A NIC that an active flow uses, at the host of the other fault.
  bool NicAtNeighbour() {
    const std::vector<NodeIndex> nodes = NodesOfNeighbour();
    std::vector<NicIndex> nics;
    for (const Flow& flow : context_.traffic.flows()) {
      if (IsActive(flow) &&
          std::ranges::find(nodes, context_.fabric.nic(flow.to).host) != nodes.end()) {
        nics.push_back(flow.to);
      }
    }
    if (nics.empty()) return false;
    fault_.nic = dice_.Pick(nics);
    return true;
  }

  // Any switch on the path of a busy flow.
  bool Switch() {
    if (context_.neighbour != nullptr) return SwitchAtNeighbour();
    const Flow& flow = PickFlow();
    if (flow.ports.size() < 2) return false;
    const PortIndex port = flow.ports[dice_.Between(1, flow.ports.size() - 1)];
    return SwitchAt(NodeAt(port));
  }
  bool SwitchAt(NodeIndex node) {
    fault_.node = node;
    frames_ = 0;
    for (PortIndex port = 0; port < context_.fabric.ports().size(); ++port) {
      if (NodeAt(port) == node) frames_ += ActiveFramesBy(port) * Seconds();
    }
    return true;
  }
  // A switch where flows have several uplinks to choose from.
  bool HashingSwitch() {
    const Flow& flow = PickFlow();
    std::vector<NodeIndex> nodes;
    for (size_t i = 1; i + 1 < flow.ports.size(); ++i) {
      const NodeIndex next = context_.fabric.PeerNode(flow.ports[i]);
      if (context_.fabric.node(next).tier > context_.fabric.node(NodeAt(flow.ports[i])).tier) {
        nodes.push_back(NodeAt(flow.ports[i]));
      }
    }
    return !nodes.empty() && SwitchAt(dice_.Pick(nodes));
  }
  // The leaf of the NIC that the workload's streams overload. Its port to the NIC queues, marks and
  // pauses, and all CNPs of the NIC pass it.
  bool CongestedLeaf() {
    if (context_.outline.streams.empty()) return false;
    const Outline::Stream& stream = context_.outline.streams.front();
    return SwitchAt(LeafOf(NicAt(stream.to_host, stream.to_nic))) && frames_ > 0;
  }

  // The leaf of the first stream's sender: its CNPs pass the overloaded port too.
  bool AnsweredLeaf() {
    if (context_.outline.streams.empty()) return false;
    const Outline::Stream& stream = context_.outline.streams.front();
    return SwitchAt(LeafOf(NicAt(stream.from_host, stream.from_nic))) && frames_ > 0;
  }
  // Uplinks of two leaves of one pod.
  bool SwappedCables() {
    const Flow& flow = PickFlow();
    if (flow.ports.size() < 3) return false;
    const PortIndex first = flow.ports[1];
    std::vector<PortIndex> others;
    for (PortIndex port = 0; port < context_.fabric.ports().size(); ++port) {
      const topology::Node& node = context_.fabric.node(NodeAt(port));
      if (node.tier != topology::Tier::kLeaf || context_.fabric.Peer(port) == topology::kNone ||
          context_.fabric.node(context_.fabric.PeerNode(port)).tier != topology::Tier::kSpine ||
          node.pod != context_.fabric.node(NodeAt(first)).pod) {
        continue;
      }
      const std::array<PortIndex, 2> swapped = {first, port};
      if (NodeAt(port) != NodeAt(first) && SwapCables(context_.fabric, swapped)) {
        others.push_back(port);
      }
    }
    if (others.empty()) return false;
    fault_.swapped = {first, dice_.Pick(others)};
    fault_.link = context_.fabric.port(first).link;
    fault_.onset = 0;
    fault_.duration = kNever;
    return true;
  }
  // A link between a leaf and a spine on which a cycle of pauses can close.
  bool Loop() {
    std::vector<topology::LinkIndex> links;
    for (topology::LinkIndex link = 0; link < context_.fabric.links().size(); ++link) {
      if (FindValleyLoop(context_.fabric, link)) links.push_back(link);
    }
    if (links.empty()) return false;
    fault_.link = dice_.Pick(links);
    return true;
  }

  // A GPU of the job of a busy flow.
  bool JobGpu() {
    if (context_.neighbour != nullptr) {
      if (!NicAtNeighbour()) return false;
      const auto gpus = context_.fabric.GpusOf(context_.fabric.nic(fault_.nic).host);
      for (const topology::GpuIndex gpu : gpus) {
        if (context_.fabric.gpu(gpu).nic == fault_.nic) fault_.gpu = gpu;
      }
      fault_.nic = topology::kNone;
      return fault_.gpu != topology::kNone;
    }
    const uint32_t number = PickFlow().job;
    const Outline::Job& job = context_.outline.jobs[number];
    const NicIndex nic = NicAt(dice_.Pick(job.hosts), 0);
    const auto gpus = context_.fabric.GpusOf(context_.fabric.nic(nic).host);
    fault_.gpu = gpus[dice_.Between(0, job.gpus - 1)];
    return true;
  }

  NicIndex NicAt(uint32_t host, uint32_t nic) const {
    return host * context_.outline.fabric.nics_per_host + nic;
  }
  bool ReceivingNic() {
    if (context_.neighbour != nullptr) return NicAtNeighbour();
    fault_.nic = PickFlow().to;
    return true;
  }
  // NICs of other hosts than the host of the fault's NIC.
  bool Senders(const std::vector<uint32_t>& hosts, uint64_t least, uint64_t most) {
    const NodeIndex victim = context_.fabric.nic(fault_.nic).host;
    const uint32_t nics = context_.outline.fabric.nics_per_host;
    std::vector<NicIndex> choices;
    for (const uint32_t host : hosts) {
      if (context_.fabric.nic(NicAt(host, 0)).host == victim) continue;
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
    const size_t nics = context_.outline.fabric.nics_per_host;
    for (uint32_t i = 0; i < context_.fabric.nics().size() / nics; ++i) hosts.push_back(i);
    return hosts;
  }
  std::vector<uint32_t> HostsOutsideOf(uint32_t job) const {
    const std::vector<uint32_t>& own = context_.outline.jobs[job].hosts;
    std::vector<uint32_t> hosts = AllHosts();
    std::erase_if(
        hosts, [&](uint32_t host) { return std::find(own.begin(), own.end(), host) != own.end(); });
    return hosts;
  }

  void Loss() {
    const auto& field = context_.priors.field_loss_rates;
    const bool whole_range = context_.field && !field.empty();
    const double rate = DrawLossRate(whole_range ? field : context_.priors.loss_rates, dice_);
    Growth();
    // The mean severity of a fault that grows exponentially.
    const double mean = fault_.growth < 1 ? (1 - fault_.growth) / -std::log(fault_.growth) : 1;
    fault_.probability = context_.lift ? LiftedLossRate(rate, frames_ * mean, fault_.burst) : rate;
  }
  void Growth() {
    if (!context_.field || !dice_.Chance(context_.priors.growing)) return;
    fault_.growth = dice_.LogUniform(1e-3, 0.3);
  }

  const DrawContext& context_;
  const Scale& scale_;
  RandomSource& dice_;
  FaultOptions& fault_;
  double frames_ = 0;                  // expected at the place while the fault lasts
  std::vector<double> active_frames_;  // empty: not known yet
};

// Draws the place and the severity. False: the workload has no suitable place.
using DrawFunction = bool (*)(Drawer& drawer);

bool GrayLoss(Drawer& drawer) {
  if (!drawer.Link(true)) return false;
  if (drawer.dice_.Chance(0.3)) drawer.fault_.burst = drawer.dice_.LogUniform(2, 8);
  constexpr uint32_t kLongFrames = 1024;  // bytes: acknowledgements are not affected
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
  const Scale& scale = drawer.scale_;
  if (!drawer.context_.field) {
    drawer.fault_.period = drawer.dice_.Time(scale.shortest_flap, 5 * scale.shortest_flap);
    return drawer.Link(false);
  }
  const SimTime run = drawer.context_.outline.duration;
  const SimTime lasts = std::min(drawer.fault_.duration, run - drawer.fault_.onset);
  const SimTime longest = std::max(5 * scale.shortest_flap,
                                   scale.fewest_flaps > 0 ? lasts / scale.fewest_flaps : run / 4);
  drawer.fault_.period =
      RoundDown(static_cast<SimTime>(drawer.dice_.LogUniform(
                    static_cast<double>(scale.shortest_flap), static_cast<double>(longest))),
                scale);
  return drawer.Link(false);
}
bool DegradedRate(Drawer& drawer) {
  drawer.fault_.factor = drawer.dice_.LogUniform(0.05, drawer.context_.field ? 0.9 : 0.5);
  drawer.Growth();
  return drawer.Link(true);
}
bool AddedLatency(Drawer& drawer) {
  drawer.fault_.delay = drawer.dice_.Time(2 * kMicrosecond, 50 * kMicrosecond);
  drawer.Growth();
  return drawer.Link(true);
}
bool Reordering(Drawer& drawer) {
  drawer.fault_.probability = drawer.dice_.LogUniform(0.005, 0.1);
  drawer.fault_.delay = drawer.dice_.Time(2 * kMicrosecond, 50 * kMicrosecond);
  drawer.Growth();
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
  const double speed = static_cast<double>(drawer.context_.outline.fabric.host_bits_per_second);
  drawer.fault_.rate = drawer.dice_.LogUniform(0.05, 0.3) * speed;
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
  if (!drawer.JobGpu()) return false;
  drawer.fault_.factor =
      drawer.dice_.LogUniform(drawer.scale_.slowdown.least, drawer.scale_.slowdown.most);
  drawer.Growth();
  return true;
}
bool MtuMismatch(Drawer& drawer) {
  drawer.fault_.mtu = drawer.dice_.Chance(0.5) ? 1500 : 2200;
  return drawer.Switch();
}

struct Rule {
  FaultKind kind;
  DrawFunction draw;
  WorkloadNeeds needs = {};
};

using enum FaultKind;

// Other kinds get a random place on the path of a busy flow, and the default parameters.
constexpr Rule kRules[] = {
    {kFlap, Flap},
    {kDegradedRate, DegradedRate},
    {kAddedLatency, AddedLatency},
    {kGrayLoss, GrayLoss},
    {kBitErrors, BitErrors},
    {kCorruption, Corruption},
    // Several queue pairs between the same two NICs no longer spread.
    {kPolarisation,
     [](Drawer& drawer) { return drawer.HashingSwitch(); },
     {.least_queue_pairs = 3}},
    {kBlackhole, Blackhole},
    {kIncast, Incast},
    {kSlowReceiver, SlowReceiver},
    {kMisconfiguredEcn,
     [](Drawer& drawer) { return drawer.CongestedLeaf(); },
     {.congestion = true}},
    {kMisconfiguredAlpha, MisconfiguredAlpha, {.congestion = true}},
    {kStraggler, Straggler},
    {kNoisyNeighbour, NoisyNeighbour},
    {kMtuMismatch, MtuMismatch},
    {kLostCnps, LostCnps, {.congestion = true}},
    {kDeprioritisedCnps,
     [](Drawer& drawer) { return drawer.AnsweredLeaf(); },
     {.congestion = true, .both_ways = true}},
    {kPfcDeadlock, [](Drawer& drawer) { return drawer.Loop(); }, {.full_buffers = true}},
    {kSwappedCables, [](Drawer& drawer) { return drawer.SwappedCables(); }},
    {kReordering, Reordering},
};

const Rule* FindRule(FaultKind kind) {
  const auto* const rule = std::find_if(std::begin(kRules), std::end(kRules),
                                        [&](const Rule& one) { return one.kind == kind; });
  return rule == std::end(kRules) ? nullptr : rule;
}

bool DrawPlace(PlaceKind place, Drawer& drawer) {
  switch (place) {
    case PlaceKind::kLink:
      return drawer.Link(false);
    case PlaceKind::kSwitch:
      return drawer.Switch();
    case PlaceKind::kNic:
      return drawer.ReceivingNic();
    case PlaceKind::kGpu:
      return drawer.JobGpu();
  }
  return false;
}

}  // namespace

std::vector<NodeIndex> NodesAt(const topology::Fabric& fabric, const FaultOptions& fault) {
  switch (InfoOf(fault.kind).place) {
    case PlaceKind::kLink: {
      const auto& ends = fabric.link(fault.link).ends;
      return {fabric.port(ends[0]).node, fabric.port(ends[1]).node};
    }
    case PlaceKind::kSwitch:
      return {fault.node};
    case PlaceKind::kNic:
      return {fabric.nic(fault.nic).host};
    case PlaceKind::kGpu:
      return {fabric.gpu(fault.gpu).host};
  }
  return {};
}

WorkloadNeeds NeedsOf(FaultKind kind) {
  const Rule* const rule = FindRule(kind);
  return rule == nullptr ? WorkloadNeeds{} : rule->needs;
}

bool DrawFault(FaultKind kind, const DrawContext& context, RandomSource& dice,
               FaultOptions& fault) {
  fault = {.kind = kind};
  Drawer drawer(context, dice, fault);
  drawer.Time();
  if (!drawer.HasFlows()) return false;
  const Rule* const rule = FindRule(kind);
  return rule == nullptr ? DrawPlace(InfoOf(kind).place, drawer) : rule->draw(drawer);
}

}  // namespace rocescope::sim
