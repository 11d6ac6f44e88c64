// SPDX-License-Identifier: BSD-3-Clause
// What each fault kind does to the network.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "sim/fault/injector.h"
#include "sim/fault/valley.h"

namespace rocescope::sim {
namespace {

// A congestion pause lasts some tens of microseconds. Ports of a cycle that are all paused for this
// long at once do not resume.
constexpr SimTime kDeadlocked = 100 * kMicrosecond;

}  // namespace

// A kind without a case does not compile: -Wswitch is an error.
Result<Injector::Effect> Injector::MakeEffect(const FaultOptions& options, Happened& happened) {
  switch (options.kind) {
    case FaultKind::kLinkDown:
      return LinkDown(options);
    case FaultKind::kFlap:
      return Flap(options);
    case FaultKind::kDegradedRate:
      return DegradedRate(options);
    case FaultKind::kAddedLatency:
      return AddedLatency(options);
    case FaultKind::kGrayLoss:
      return FaultyLink(options, WireFault::Fate::kLost);
    case FaultKind::kBitErrors:
      return FaultyLink(options, WireFault::Fate::kBitError);
    case FaultKind::kCorruption:
      return Corruption(options);
    case FaultKind::kPolarisation:
      return Polarisation(options);
    case FaultKind::kBlackhole:
      return Blackhole(options);
    case FaultKind::kSwitchCrash:
      return SwitchCrash(options);
    case FaultKind::kIncast:
    case FaultKind::kNoisyNeighbour:
      return AddedTraffic(options, happened);
    case FaultKind::kSlowReceiver:
      return SlowReceiver(options);
    case FaultKind::kPfcStorm:
      return PfcStorm(options);
    case FaultKind::kMisconfiguredEcn:
      return MisconfiguredEcn(options);
    case FaultKind::kMisconfiguredAlpha:
      return MisconfiguredAlpha(options);
    case FaultKind::kStraggler:
      return Straggler(options);
    case FaultKind::kNicCrash:
      return NicCrash(options);
    case FaultKind::kMtuMismatch:
      return MtuMismatch(options);
    case FaultKind::kLostCnps:
      return LostCnps(options);
    case FaultKind::kDeprioritisedCnps:
      return DeprioritisedCnps(options);
    case FaultKind::kPfcDeadlock:
      return PfcDeadlock(options, happened);
    case FaultKind::kSwappedCables:
      return SwappedCables(options);
    case FaultKind::kReordering:
      return FaultyLink(options, WireFault::Fate::kDelayed);
  }
  return MakeError(ErrorCode::kInternal, "unknown fault kind");
}

std::vector<topology::PortIndex> Injector::Senders(const FaultOptions& options) const {
  if (options.sender != topology::kNone) return {options.sender};
  const auto& ends = network_.fabric().link(options.link).ends;
  return {ends[0], ends[1]};
}

std::function<uint64_t()> Injector::FramesSentBy(std::vector<topology::PortIndex> ports) {
  return [this, ports = std::move(ports)] {
    uint64_t frames = 0;
    for (const topology::PortIndex port : ports) frames += network_.port(port).counters().tx_frames;
    return frames;
  };
}

// Changes the state of the link every half period until the fault ends.
void Injector::SetFlap(const FaultOptions& options, const std::shared_ptr<bool>& down) {
  const SimTime now = network_.engine().Now();
  if (now >= EndOf(options)) return;
  *down = !*down;
  outages_.LinkDown(options.link, *down);
  network_.engine().At(now + options.period / 2, [this, options, down] { SetFlap(options, down); });
}

Injector::Effect Injector::LinkDown(const FaultOptions& options) {
  return {.begin = [this, link = options.link] { outages_.LinkDown(link, true); },
          .end = [this, link = options.link] { outages_.LinkDown(link, false); },
          .shows = [this, link = options.link] { return outages_.HasOneReason(link); }};
}

Injector::Effect Injector::Flap(const FaultOptions& options) {
  const auto down = std::make_shared<bool>(false);
  return {
      .begin = [this, options, down] { SetFlap(options, down); },
      .end =
          [this, options, down] {
            if (std::exchange(*down, false)) outages_.LinkDown(options.link, false);
          },
      .shows = [this, link = options.link, down] { return *down && outages_.HasOneReason(link); }};
}

Injector::Effect Injector::DegradedRate(const FaultOptions& options) {
  const uint64_t rate = network_.fabric().link(options.link).bits_per_second;
  const std::vector<topology::PortIndex> senders = Senders(options);
  const auto set = [this, senders](uint64_t bits_per_second) {
    for (const topology::PortIndex port : senders) network_.port(port).SetRate(bits_per_second);
  };
  const auto degrade = [set, rate, factor = options.factor](double severity) {
    set(static_cast<uint64_t>(static_cast<double>(rate) * (1 - (1 - factor) * severity)));
  };
  return {.begin =
              [set, rate, factor = options.factor] {
                set(static_cast<uint64_t>(static_cast<double>(rate) * factor));
              },
          .end = [set, rate] { set(rate); },
          .affected = FramesSentBy(senders),
          .grow = degrade};
}

Injector::Effect Injector::AddedLatency(const FaultOptions& options) {
  const SimTime delay = network_.fabric().link(options.link).delay.count() * kNanosecond;
  const std::vector<topology::PortIndex> senders = Senders(options);
  const auto set = [this, senders](SimTime to) {
    for (const topology::PortIndex port : senders) network_.port(port).SetDelay(to);
  };
  return {.begin = [set, delay, added = options.delay] { set(delay + added); },
          .end = [set, delay] { set(delay); },
          .affected = FramesSentBy(senders),
          .grow =
              [set, delay, added = options.delay](double severity) {
                set(delay + static_cast<SimTime>(static_cast<double>(added) * severity));
              }};
}

Injector::Effect Injector::FaultyLink(const FaultOptions& options, WireFault::Fate fate) {
  const std::vector<topology::PortIndex> senders = Senders(options);
  std::vector<FaultyWire*> wires;
  for (const topology::PortIndex sender : senders) {
    wires_.push_back(std::make_unique<FaultyWire>(
        FaultyWire::Options{.probability = options.probability,
                            .burst = options.burst,
                            .least_length = options.least_length,
                            .fate = fate,
                            .delay = options.delay,
                            .seed = HashCombine(options_.seed, sender)}));
    wires.push_back(wires_.back().get());
  }
  return {.begin =
              [this, senders, wires] {
                for (size_t i = 0; i < senders.size(); ++i) {
                  wire_faults_.Add(senders[i], *wires[i]);
                }
              },
          .end =
              [this, senders, wires] {
                for (size_t i = 0; i < senders.size(); ++i) {
                  wire_faults_.Remove(senders[i], *wires[i]);
                }
              },
          .affected =
              [wires] {
                uint64_t affected = 0;
                for (const FaultyWire* wire : wires) affected += wire->affected();
                return affected;
              },
          .grow =
              [wires, p = options.probability](double severity) {
                for (FaultyWire* wire : wires) wire->SetProbability(p * severity);
              }};
}

// Visible once the cycle has closed. The deadlock remains when the routes are correct again.
Result<Injector::Effect> Injector::PfcDeadlock(const FaultOptions& options, Happened& happened) {
  const Result<ValleyLoop> loop = FindValleyLoop(network_.fabric(), options.link);
  if (!loop) return tl::unexpected(loop.error());
  happened.ports.assign(loop->ports.begin(), loop->ports.end());
  const auto set = [this, detours = loop->detours](bool on) {
    for (const ValleyLoop::Detour& detour : detours) {
      network_.SetDetour(detour.at, detour.edge, on ? detour.out : topology::kNone);
    }
  };
  const auto closed = [this, ports = loop->ports] {
    return std::all_of(ports.begin(), ports.end(), [this](topology::PortIndex index) {
      const Port& port = network_.port(index);
      for (uint32_t priority = 0; priority < kPriorities; ++priority) {
        const SimTime since = port.PausedSince(priority);
        if (since != kNever && port.queued(priority) > 0 &&
            network_.engine().Now() - since >= kDeadlocked) {
          return true;
        }
      }
      return false;
    });
  };
  return Effect{
      .begin = [set] { set(true); }, .end = [set] { set(false); }, .shows = closed, .trails = true};
}

// The network is built with exchanged cables. Every frame over one of the two cables shows it.
Injector::Effect Injector::SwappedCables(const FaultOptions& options) {
  return {.begin = [] {},
          .end = [] {},
          .affected =
              [this, swapped = options.swapped] {
                uint64_t frames = 0;
                for (const topology::PortIndex port : swapped) {
                  if (port == topology::kNone) continue;
                  frames += network_.port(port).counters().tx_frames +
                            network_.port(port).counters().rx_frames;
                }
                return frames;
              }};
}

Injector::Effect Injector::Corruption(const FaultOptions& options) {
  Switch& at = network_.switch_at(options.node);
  return {.begin = [&at, p = options.probability] { at.faults().corrupts = p; },
          .end = [&at] { at.faults().corrupts = 0; },
          .affected = [&at] { return at.corrupted(); },
          .grow = [&at, p = options.probability](
                      double severity) { at.faults().corrupts = p * severity; }};
}

Injector::Effect Injector::LostCnps(const FaultOptions& options) {
  Switch& at = network_.switch_at(options.node);
  return {.begin = [&at, p = options.probability] { at.faults().loses_cnps = p; },
          .end = [&at] { at.faults().loses_cnps = 0; },
          .affected = [&at] { return at.lost(LossCause::kSelective); },
          .grow = [&at, p = options.probability](
                      double severity) { at.faults().loses_cnps = p * severity; }};
}

Injector::Effect Injector::DeprioritisedCnps(const FaultOptions& options) {
  Switch& at = network_.switch_at(options.node);
  return {
      .begin = [this, &at] { at.faults().cnp_priority = network_.nic(0).options().data_priority; },
      .end = [&at] { at.faults().cnp_priority.reset(); },
      .affected = [&at] { return at.held_up_cnps(); }};
}

Injector::Effect Injector::Polarisation(const FaultOptions& options) {
  Switch& at = network_.switch_at(options.node);
  const auto set = [this, &at](HashFields fields) {
    at.options().hash_fields = fields;
    network_.NoteRoutingChange();
  };
  return {.begin = [set] { set(HashFields::kAddresses); },
          .end = [set] { set(HashFields::kFiveTuple); },
          .affected = [&at] { return at.misdirected(); }};
}

Injector::Effect Injector::Blackhole(const FaultOptions& options) {
  Switch& at = network_.switch_at(options.node);
  return {.begin = [&at, nic = options.nic] { at.SetBlackhole(nic, true); },
          .end = [&at, nic = options.nic] { at.SetBlackhole(nic, false); },
          .affected = [&at] { return at.lost(LossCause::kBlackhole); }};
}

Injector::Effect Injector::MtuMismatch(const FaultOptions& options) {
  Switch& at = network_.switch_at(options.node);
  return {.begin = [&at, mtu = options.mtu] { at.options().mtu = mtu; },
          .end = [&at, mtu = at.options().mtu] { at.options().mtu = mtu; },
          .affected = [&at] { return at.lost(LossCause::kTooLong); }};
}

Injector::Effect Injector::MisconfiguredEcn(const FaultOptions& options) {
  Switch& at = network_.switch_at(options.node);
  const EcnOptions ecn = {.minimum = options.ecn_minimum,
                          .maximum = options.ecn_maximum,
                          .maximum_probability = at.options().ecn.maximum_probability};
  return {.begin = [&at, ecn] { at.faults().ecn = ecn; },
          .end = [&at] { at.faults().ecn.reset(); },
          .affected = [&at] { return at.marked_otherwise(); }};
}

Injector::Effect Injector::MisconfiguredAlpha(const FaultOptions& options) {
  Switch& at = network_.switch_at(options.node);
  return {.begin = [&at, alpha = options.alpha] { at.SetAlpha(alpha); },
          .end = [&at, alpha = at.options().buffer.alpha] { at.SetAlpha(alpha); },
          .affected = [&at] { return at.early_pauses(); },
          .visible_from = 1};
}

// All links of the switch go down with it.
Injector::Effect Injector::SwitchCrash(const FaultOptions& options) {
  return {.begin = [this, node = options.node] { outages_.SwitchDown(node, true); },
          .end = [this, node = options.node] { outages_.SwitchDown(node, false); },
          .shows =
              [this, links = outages_.LinksOf(options.node)] {
                return std::ranges::any_of(
                    links, [this](auto link) { return outages_.HasOneReason(link); });
              }};
}

Injector::Effect Injector::SlowReceiver(const FaultOptions& options) {
  Nic& nic = network_.nic(options.nic);
  return {.begin = [&nic, rate = options.rate] { nic.SetReceiveRate(rate); },
          .end = [&nic] { nic.SetReceiveRate(0); },
          .affected = [&nic] { return nic.kept_waiting(); }};
}

Injector::Effect Injector::PfcStorm(const FaultOptions& options) {
  Nic& nic = network_.nic(options.nic);
  return {.begin = [&nic] { nic.SetStorm(true); }, .end = [&nic] { nic.SetStorm(false); }};
}

Injector::Effect Injector::NicCrash(const FaultOptions& options) {
  return {.begin = [this, nic = options.nic] { outages_.NicDown(nic, true); },
          .end = [this, nic = options.nic] { outages_.NicDown(nic, false); },
          .shows =
              [this, port = network_.fabric().nic(options.nic).port] {
                const topology::LinkIndex link = network_.fabric().port(port).link;
                return link == topology::kNone || outages_.HasOneReason(link);
              }};
}

// Streams from all senders to the NIC while the fault lasts.
Injector::Effect Injector::AddedTraffic(const FaultOptions& options, Happened& happened) {
  std::vector<Stream*> streams;
  for (const topology::NicIndex sender : options.senders) {
    streams_.push_back(std::make_unique<Stream>(
        network_, Stream::Options{.from = sender,
                                  .to = options.nic,
                                  .message = options.message,
                                  .seed = HashCombine(options_.seed, sender)}));
    streams.push_back(streams_.back().get());
    happened.culprits.push_back(streams.back()->requester().identity().number);
  }
  return {.begin =
              [streams] {
                for (Stream* stream : streams) stream->Begin();
              },
          .end =
              [streams] {
                for (Stream* stream : streams) stream->End();
              },
          .affected =
              [streams] {
                uint64_t frames = 0;
                for (const Stream* stream : streams) frames += stream->requester().frames_sent();
                return frames;
              },
          .trails = true};
}

// Visible in the first computation that it prolongs.
Result<Injector::Effect> Injector::Straggler(const FaultOptions& options) {
  const double factor = options.factor > 1 ? options.factor : kStragglerFactor;
  // Several, if the job restarts or if jobs use the GPU in turn.
  std::vector<std::pair<Job*, uint32_t>> ranks;
  for (Job* job : jobs_) {
    const auto& gpus = job->options().gpus;
    const auto found = std::find(gpus.begin(), gpus.end(), options.gpu);
    if (found != gpus.end()) ranks.emplace_back(job, static_cast<uint32_t>(found - gpus.begin()));
  }
  const auto set = [ranks](double slowdown) {
    for (const auto& [job, rank] : ranks) job->SetSlowdown(rank, slowdown);
  };
  if (!ranks.empty()) {
    return Effect{.begin = [set, factor] { set(factor); },
                  .end = [set] { set(1); },
                  .affected =
                      [ranks] {
                        uint64_t slow = 0;
                        for (const auto& [job, rank] : ranks) slow += job->SlowComputations(rank);
                        return slow;
                      },
                  .visible_from = 1,
                  .trails = true,
                  .grow = [set, factor](double severity) { set(1 + (factor - 1) * severity); }};
  }
  const topology::Fabric& fabric = network_.fabric();
  const topology::Gpu& gpu = fabric.gpu(options.gpu);
  return MakeError(ErrorCode::kInvalidArgument,
                   fmt::format("GPU {} of {} cannot be a straggler: no job uses it", gpu.number,
                               fabric.node(gpu.host).name));
}

}  // namespace rocescope::sim
