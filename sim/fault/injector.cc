// SPDX-License-Identifier: BSD-3-Clause
#include "sim/fault/injector.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "sim/fault/valley.h"

namespace rocescope::sim {
namespace {

SimTime EndOf(const FaultOptions& options) {
  return options.duration == kNever || options.onset > kNever - options.duration
             ? kNever
             : options.onset + options.duration;
}

// How far a counter has come since its beginning was noted.
std::function<uint64_t()> Since(const std::function<uint64_t()>& counter) {
  return [counter, start = counter()] { return counter() - start; };
}

constexpr double kStragglerFactor = 4;
// A pause of congestion lasts some tens of microseconds; all of a loop held for so long at once do
// not let go.
constexpr SimTime kStands = 100 * kMicrosecond;

}  // namespace

Injector::Injector(Network& network, std::vector<Job*> jobs, const Options& options)
    : network_(network),
      jobs_(std::move(jobs)),
      options_(options),
      failed_links_(network.fabric().links().size()) {}

Injector::~Injector() = default;

Status Injector::Add(const FaultOptions& options) {
  const FaultInfo& info = InfoOf(options.kind);
  const bool placed = (info.place == FaultPlace::kLink && options.link != topology::kNone) ||
                      (info.place == FaultPlace::kSwitch && options.node != topology::kNone) ||
                      (info.place == FaultPlace::kNic && options.nic != topology::kNone) ||
                      (info.place == FaultPlace::kGpu && options.gpu != topology::kNone);
  if (!placed) {
    constexpr std::string_view kNeeded[] = {"a link", "a switch", "a NIC", "a GPU"};
    return MakeError(ErrorCode::kInvalidArgument,
                     fmt::format("{} needs {} as its place", info.name,
                                 kNeeded[static_cast<size_t>(info.place)]));
  }
  const size_t number = happened_.size();
  Happened happened = {.options = options};
  Result<Effect> effect = MakeEffect(options, happened);
  if (!effect) return tl::unexpected(effect.error());
  happened_.push_back(std::move(happened));
  effects_.push_back(*std::move(effect));
  Engine& engine = network_.engine();
  engine.At(options.onset, [this, number] { Begin(number); });
  if (const SimTime end = EndOf(options); end != kNever) {
    engine.At(end, [this, number] { End(number); });
  }
  return {};
}

void Injector::Begin(size_t number) {
  Effect& effect = effects_[number];
  if (effect.affected) effect.affected = Since(effect.affected);
  effect.begin();
  if (effect.affected || effect.shows) {
    watched_.push_back(number);
    Watch(number);
  } else {
    happened_[number].visible = network_.engine().Now();
  }
}

void Injector::End(size_t number) {
  effects_[number].end();
  if (effects_[number].trails) return;
  Look(number);
  std::erase(watched_, number);  // what comes now is not its doing
}

void Injector::Finish() {
  for (const size_t number : watched_) Look(number);
}

void Injector::Look(size_t number) {
  const Effect& effect = effects_[number];
  Happened& happened = happened_[number];
  if (effect.affected) happened.affected = effect.affected();
  const bool shows = effect.shows ? effect.shows() : happened.affected >= effect.visible_from;
  if (happened.visible == kNever && shows) happened.visible = network_.engine().Now();
}

// Looks now and then.
void Injector::Watch(size_t number) {
  if (std::find(watched_.begin(), watched_.end(), number) == watched_.end()) return;
  Look(number);
  network_.engine().At(network_.engine().Now() + kLook, [this, number] { Watch(number); });
}

Result<Injector::Effect> Injector::MakeEffect(const FaultOptions& options, Happened& happened) {
  switch (options.kind) {
    case FaultKind::kLinkDown:
    case FaultKind::kFlap:
    case FaultKind::kDegradedRate:
    case FaultKind::kAddedLatency:
      return OfLink(options);
    case FaultKind::kGrayLoss:
    case FaultKind::kBitErrors:
      return OfWire(options);
    case FaultKind::kCorruption:
    case FaultKind::kPolarisation:
    case FaultKind::kBlackhole:
    case FaultKind::kSwitchCrash:
    case FaultKind::kMisconfiguredEcn:
    case FaultKind::kMisconfiguredAlpha:
    case FaultKind::kMtuMismatch:
    case FaultKind::kLostCnps:
    case FaultKind::kDeprioritisedCnps:
      return OfSwitch(options);
    case FaultKind::kPfcDeadlock:
      return OfValley(options, happened);
    case FaultKind::kSwappedCables:
      return OfCables(options);
    case FaultKind::kIncast:
    case FaultKind::kNoisyNeighbour:
    case FaultKind::kSlowReceiver:
    case FaultKind::kPfcStorm:
    case FaultKind::kNicCrash:
      return OfNic(options, happened);
    case FaultKind::kStraggler:
      return OfGpu(options);
    case FaultKind::kCount:
      break;
  }
  return MakeError(ErrorCode::kInternal, "no such fault");
}

std::vector<topology::PortIndex> Injector::Senders(const FaultOptions& options) const {
  if (options.sender != topology::kNone) return {options.sender};
  const auto& ends = network_.fabric().link(options.link).ends;
  return {ends[0], ends[1]};
}

// Links that went down are known to both ends at once, and to all routes after a while.
void Injector::SetLink(topology::LinkIndex link, bool up) {
  for (const topology::PortIndex port : network_.fabric().link(link).ends) {
    network_.port(port).SetUp(up);
  }
  failed_links_[link] = !up;
  ChangeRoutes();
}

// Half of each period in one state, then the other, until the fault ends.
void Injector::Flap(const FaultOptions& options, bool up) {
  const SimTime now = network_.engine().Now();
  if (now >= EndOf(options)) return;
  SetLink(options.link, up);
  network_.engine().At(now + options.period / 2, [this, options, up] { Flap(options, !up); });
}

void Injector::ChangeRoutes() {
  network_.engine().At(network_.engine().Now() + options_.reroute_delay,
                       [this] { network_.Reroute(failed_links_); });
}

Injector::Effect Injector::OfLink(const FaultOptions& options) {
  const topology::LinkIndex link = options.link;
  const std::vector<topology::PortIndex> senders = Senders(options);
  Effect effect;
  if (options.kind == FaultKind::kLinkDown) {
    return {.begin = [this, link] { SetLink(link, false); },
            .end = [this, link] { SetLink(link, true); }};
  }
  if (options.kind == FaultKind::kFlap) {
    return {.begin = [this, options] { Flap(options, false); },
            .end = [this, link] { SetLink(link, true); }};
  }
  const uint64_t rate = network_.fabric().link(link).bits_per_second;
  const SimTime delay = network_.fabric().link(link).delay.count() * kNanosecond;
  const bool slows = options.kind == FaultKind::kDegradedRate;
  const auto set = [this, senders, slows](uint64_t bits_per_second, SimTime to) {
    for (const topology::PortIndex port : senders) {
      if (slows) {
        network_.port(port).SetRate(bits_per_second);
      } else {
        network_.port(port).SetDelay(to);
      }
    }
  };
  effect.begin = [set, rate, delay, options] {
    set(static_cast<uint64_t>(static_cast<double>(rate) * options.factor), delay + options.delay);
  };
  effect.end = [set, rate, delay] { set(rate, delay); };
  effect.affected = [this, senders] {
    uint64_t frames = 0;
    for (const topology::PortIndex port : senders) {
      frames += network_.port(port).counters().tx_frames;
    }
    return frames;
  };
  return effect;
}

Injector::Effect Injector::OfWire(const FaultOptions& options) {
  const std::vector<topology::PortIndex> senders = Senders(options);
  std::vector<LossyWire*> wires;
  for (const topology::PortIndex sender : senders) {
    wires_.push_back(std::make_unique<LossyWire>(
        LossyWire::Options{.probability = options.probability,
                           .burst = options.burst,
                           .least_length = options.least_length,
                           .bit_errors = options.kind == FaultKind::kBitErrors,
                           .seed = HashCombine(options_.seed, sender)}));
    wires.push_back(wires_.back().get());
  }
  return {.begin =
              [this, senders, wires] {
                for (size_t i = 0; i < senders.size(); ++i) {
                  network_.port(senders[i]).SetFault(wires[i]);
                }
              },
          .end =
              [this, senders] {
                for (const topology::PortIndex port : senders) {
                  network_.port(port).SetFault(nullptr);
                }
              },
          .affected =
              [wires] {
                uint64_t lost = 0;
                for (const LossyWire* wire : wires) lost += wire->lost();
                return lost;
              },
          // The next MAC counts bit errors; of gray loss only frames tell.
          .visible_from = options.kind == FaultKind::kBitErrors ? uint64_t{1} : uint64_t{5}};
}

// Seen once the loop has closed. That stays when the routes are right again.
Result<Injector::Effect> Injector::OfValley(const FaultOptions& options, Happened& happened) {
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
            network_.engine().Now() - since >= kStands) {
          return true;
        }
      }
      return false;
    });
  };
  return Effect{
      .begin = [set] { set(true); }, .end = [set] { set(false); }, .shows = closed, .trails = true};
}

// The network was built that way. Every frame over one of the two cables tells.
Injector::Effect Injector::OfCables(const FaultOptions& options) {
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

Injector::Effect Injector::OfSwitch(const FaultOptions& options) {
  Switch& at = network_.switch_at(options.node);
  switch (options.kind) {
    case FaultKind::kCorruption:
      return {.begin = [&at, p = options.probability] { at.faults().corrupts = p; },
              .end = [&at] { at.faults().corrupts = 0; },
              .affected = [&at] { return at.corrupted(); }};
    case FaultKind::kLostCnps:
      return {.begin = [&at, p = options.probability] { at.faults().loses_cnps = p; },
              .end = [&at] { at.faults().loses_cnps = 0; },
              .affected = [&at] { return at.lost(LossCause::kSelective); }};
    case FaultKind::kDeprioritisedCnps:
      return {
          .begin = [this,
                    &at] { at.faults().cnp_priority = network_.nic(0).options().data_priority; },
          .end = [&at] { at.faults().cnp_priority.reset(); },
          .affected = [&at] { return at.held_up_cnps(); }};
    case FaultKind::kPolarisation:
      return {.begin =
                  [this, &at] {
                    at.options().hash_fields = HashFields::kAddresses;
                    network_.NoteRoutingChange();
                  },
              .end =
                  [this, &at] {
                    at.options().hash_fields = HashFields::kFiveTuple;
                    network_.NoteRoutingChange();
                  },
              .affected = [&at] { return at.misdirected(); }};
    case FaultKind::kBlackhole:
      return {.begin = [&at, nic = options.nic] { at.SetBlackhole(nic, true); },
              .end = [&at, nic = options.nic] { at.SetBlackhole(nic, false); },
              .affected = [&at] { return at.lost(LossCause::kBlackhole); }};
    case FaultKind::kMtuMismatch:
      return {.begin = [&at, mtu = options.mtu] { at.options().mtu = mtu; },
              .end = [&at, mtu = at.options().mtu] { at.options().mtu = mtu; },
              .affected = [&at] { return at.lost(LossCause::kTooLong); }};
    case FaultKind::kMisconfiguredEcn:
      return {
          .begin =
              [&at, ecn = EcnOptions{.minimum = options.ecn_minimum,
                                     .maximum = options.ecn_maximum,
                                     .maximum_probability = at.options().ecn.maximum_probability}] {
                at.faults().ecn = ecn;
              },
          .end = [&at] { at.faults().ecn.reset(); },
          .affected = [&at] { return at.marked_otherwise(); }};
    case FaultKind::kMisconfiguredAlpha:
      return {.begin = [&at, alpha = options.alpha] { at.SetAlpha(alpha); },
              .end = [&at, alpha = at.options().buffer.alpha] { at.SetAlpha(alpha); },
              .affected =
                  [&at] {
                    uint64_t pauses = 0;
                    for (size_t i = 0; i < at.port_count(); ++i) {
                      for (const uint64_t sent : at.port(i).counters().pause_tx) pauses += sent;
                    }
                    return pauses;
                  },
              .visible_from = 1};
    default:
      break;
  }
  // A crash: all its links go down with it.
  std::vector<topology::LinkIndex> links;
  for (const topology::Port& port : network_.fabric().PortsOf(options.node)) {
    if (port.link != topology::kNone) links.push_back(port.link);
  }
  const auto set = [this, &at, links](bool up) {
    at.SetUp(up);
    for (const topology::LinkIndex link : links) SetLink(link, up);
  };
  return {.begin = [set] { set(false); }, .end = [set] { set(true); }};
}

Injector::Effect Injector::OfNic(const FaultOptions& options, Happened& happened) {
  Nic& nic = network_.nic(options.nic);
  switch (options.kind) {
    case FaultKind::kSlowReceiver:
      return {.begin = [&nic, rate = options.rate] { nic.SetReceiveRate(rate); },
              .end = [&nic] { nic.SetReceiveRate(0); },
              .affected = [&nic] { return nic.kept_waiting(); }};
    case FaultKind::kPfcStorm:
      return {.begin = [&nic] { nic.SetStorm(true); }, .end = [&nic] { nic.SetStorm(false); }};
    case FaultKind::kNicCrash: {
      const topology::LinkIndex link =
          network_.fabric().port(network_.fabric().nic(options.nic).port).link;
      return {.begin =
                  [this, &nic, link] {
                    nic.SetUp(false);
                    SetLink(link, false);
                  },
              .end =
                  [this, &nic, link] {
                    nic.SetUp(true);
                    SetLink(link, true);
                  }};
    }
    default:
      break;
  }
  // Traffic that was not there before.
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

// Seen by the first iteration that it stretches.
Result<Injector::Effect> Injector::OfGpu(const FaultOptions& options) {
  const double factor = options.factor > 1 ? options.factor : kStragglerFactor;
  for (Job* job : jobs_) {
    const auto& gpus = job->options().gpus;
    const auto found = std::find(gpus.begin(), gpus.end(), options.gpu);
    if (found == gpus.end()) continue;
    const auto rank = static_cast<uint32_t>(found - gpus.begin());
    return Effect{.begin = [job, rank, factor] { job->SetSlowdown(rank, factor); },
                  .end = [job, rank] { job->SetSlowdown(rank, 1); },
                  .affected = [job, rank] { return job->SlowComputations(rank); },
                  .visible_from = 1,
                  .trails = true};
  }
  const topology::Fabric& fabric = network_.fabric();
  const topology::Gpu& gpu = fabric.gpu(options.gpu);
  return MakeError(ErrorCode::kInvalidArgument,
                   fmt::format("GPU {} of {} cannot be a straggler: no job uses it", gpu.number,
                               fabric.node(gpu.host).name));
}

}  // namespace rocescope::sim
