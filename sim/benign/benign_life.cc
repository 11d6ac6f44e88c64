// SPDX-License-Identifier: BSD-3-Clause
#include "sim/benign/benign_life.h"

#include <algorithm>
#include <cmath>

#include "dataplane/wire/tcp.h"

namespace rocescope::sim {
namespace {

using topology::NicIndex;
using topology::PortIndex;

constexpr uint32_t kBurstPayload = 1460;          // bytes: full Ethernet frames
constexpr uint32_t kBurstHeaders = 14 + 20 + 20;  // Ethernet, IPv4, TCP

std::vector<SimTime> RandomTimes(Random& random, uint32_t count, SimTime end) {
  std::vector<SimTime> times;
  for (uint32_t i = 0; i < count; ++i) {
    times.push_back(static_cast<SimTime>(random.Below(static_cast<uint64_t>(end))));
  }
  std::sort(times.begin(), times.end());
  return times;
}

BenignKind KindOf(MaintenanceKind kind) {
  switch (kind) {
    case MaintenanceKind::kLinkDrain:
      return BenignKind::kLinkDrain;
    case MaintenanceKind::kSwitchUpgrade:
      return BenignKind::kSwitchUpgrade;
    case MaintenanceKind::kHostReboot:
      return BenignKind::kHostReboot;
  }
  return BenignKind::kLinkDrain;
}

}  // namespace

BenignLife::BenignLife(Network& network, Outages& outages, WireFaults& wire_faults,
                       const Options& options)
    : network_(network), outages_(outages), wire_faults_(wire_faults), options_(options) {
  if (options_.benign.has_link_errors()) PrepareLinkErrors();
  if (options_.benign.microbursts.period > 0) PrepareBursts();
}

void BenignLife::PrepareLinkErrors() {
  const BenignOptions& benign = options_.benign;
  const topology::Fabric& fabric = network_.fabric();
  const bool fec = benign.pre_fec_bit_error_ratio.on();
  link_errors_.resize(fabric.ports().size());
  for (PortIndex sender = 0; sender < fabric.ports().size(); ++sender) {
    const topology::LinkIndex link = fabric.port(sender).link;
    if (link == topology::kNone) continue;
    const auto speed = static_cast<double>(fabric.link(link).bits_per_second);
    LinkErrors::Options own = {
        .damage_rate = DamageRate(
            DrawRatio(benign.bit_error_ratio, options_.seed, "bit errors", sender), speed, fec),
        .corrected_rate = CorrectedRate(DrawRatio(benign.pre_fec_bit_error_ratio, options_.seed,
                                                  "bit errors before FEC", sender),
                                        speed),
        .seed = options_.seed,
        .number = sender};
    Random random(options_.seed, "frame errors", sender);
    if (random.Chance(benign.frame_errors.ports)) {
      own.strikes = RandomTimes(random, benign.frame_errors.frames, options_.end);
    }
    if (own.damage_rate <= 0 && own.strikes.empty() && !fec) continue;
    Port& port = network_.port(sender);
    link_errors_[sender] = std::make_unique<LinkErrors>(network_.engine(), port, std::move(own));
    wire_faults_.Add(sender, *link_errors_[sender]);
    if (fec) network_.port(fabric.Peer(sender)).SetFec(link_errors_[sender].get());
  }
}

// The connections of all bursts exist from the start.
void BenignLife::PrepareBursts() {
  const BenignOptions::Microbursts& own = options_.benign.microbursts;
  const topology::Fabric& fabric = network_.fabric();
  std::vector<NicIndex> nics;
  for (NicIndex nic = 0; nic < fabric.nics().size(); ++nic) {
    if (fabric.port(fabric.nic(nic).port).link != topology::kNone) nics.push_back(nic);
  }
  if (nics.size() < 2) return;
  Random random(options_.seed, "microbursts", 0);
  double time = 0;
  while (true) {
    time += -std::log(1 - random.Uniform()) * static_cast<double>(own.period);
    if (time >= static_cast<double>(options_.end)) return;
    for (size_t i = nics.size(); i > 1; --i) std::swap(nics[i - 1], nics[random.Below(i)]);
    Burst burst = {.time = static_cast<SimTime>(time), .to = nics[0]};
    const size_t senders = std::min<size_t>(own.senders, nics.size() - 1);
    for (size_t i = 1; i <= senders; ++i) {
      burst.senders.push_back(network_.ConnectForeign(nics[i], burst.to, nullptr).first);
    }
    bursts_.push_back(std::move(burst));
  }
}

void BenignLife::Start() {
  for (const Burst& burst : bursts_) {
    network_.engine().At(burst.time, [this, &burst] { SendBurst(burst); });
  }
  StartDiscards();
  StartMaintenance();
}

void BenignLife::SendBurst(const Burst& burst) {
  for (QueuePair* const sender : burst.senders) {
    for (uint32_t i = 0; i < options_.benign.microbursts.frames; ++i) {
      Frame& frame = sender->NewForeignFrame(kBurstPayload, kBurstHeaders, options_.burst_priority);
      frame.sequence = uint64_t{i} * kBurstPayload;
      frame.opcode = wire::kTcpAck;
      sender->nic().SendForeign(frame);
    }
  }
}

void BenignLife::StartDiscards() {
  const BenignOptions::HarmlessDiscards& own = options_.benign.harmless_discards;
  if (own.ports <= 0) return;
  const topology::Fabric& fabric = network_.fabric();
  for (PortIndex port = 0; port < fabric.ports().size(); ++port) {
    if (!fabric.node(fabric.port(port).node).IsSwitch() ||
        fabric.port(port).link == topology::kNone) {
      continue;
    }
    Random random(options_.seed, "harmless discards", port);
    if (!random.Chance(own.ports)) continue;
    discarding_.push_back(port);
    const auto phase = static_cast<SimTime>(random.Below(static_cast<uint64_t>(own.period)));
    network_.engine().At(phase, [this, port] { Discard(port); });
  }
}

void BenignLife::Discard(PortIndex port) {
  Port& at = network_.port(port);
  at.counters().harmless_discards += at.up();
  network_.engine().At(network_.engine().Now() + options_.benign.harmless_discards.period,
                       [this, port] { Discard(port); });
}

void BenignLife::StartMaintenance() {
  Engine& engine = network_.engine();
  for (const MaintenanceOptions& work : options_.maintenance) {
    engine.At(work.start, [this, &work] { Drain(work, true); });
    engine.At(work.start + work.drain, [this, &work] { Maintain(work, true); });
    engine.At(work.start + work.drain + work.duration, [this, &work] {
      Maintain(work, false);
      Drain(work, false);
    });
  }
}

void BenignLife::Maintain(const MaintenanceOptions& work, bool down) {
  switch (work.kind) {
    case MaintenanceKind::kLinkDrain:
      outages_.LinkDown(work.link, down);
      for (const PortIndex end : network_.fabric().link(work.link).ends) {
        network_.port(end).SetEnabled(!down);
      }
      return;
    case MaintenanceKind::kSwitchUpgrade:
      outages_.SwitchDown(work.node, down);
      return;
    case MaintenanceKind::kHostReboot:
      for (const NicIndex nic : network_.fabric().NicsOf(work.node)) outages_.NicDown(nic, down);
      return;
  }
}

// A host that reboots is not drained: nothing is forwarded through it.
void BenignLife::Drain(const MaintenanceOptions& work, bool drained) {
  if (work.kind == MaintenanceKind::kLinkDrain) {
    outages_.Drain(work.link, drained);
  } else if (work.kind == MaintenanceKind::kSwitchUpgrade) {
    for (const topology::LinkIndex link : outages_.LinksOf(work.node)) {
      outages_.Drain(link, drained);
    }
  }
}

std::vector<BenignEvent> BenignLife::Events() const {
  const topology::Fabric& fabric = network_.fabric();
  const SimTime now = network_.engine().Now();
  std::vector<BenignEvent> events;
  for (PortIndex sender = 0; sender < link_errors_.size(); ++sender) {
    if (!link_errors_[sender]) continue;
    for (const SimTime time : link_errors_[sender]->broken()) {
      events.push_back({.kind = BenignKind::kFrameError,
                        .place = fabric.NameOfLink(fabric.port(sender).link),
                        .direction = fabric.NameOf(sender),
                        .start = time,
                        .end = time,
                        .count = 1});
    }
  }
  const BenignOptions::Microbursts& bursts = options_.benign.microbursts;
  for (const Burst& burst : bursts_) {
    if (burst.time >= now) continue;
    const PortIndex port = fabric.nic(burst.to).port;
    const uint64_t frames = burst.senders.size() * bursts.frames;
    const SimTime length = TransmitTime(frames * (kBurstPayload + kBurstHeaders),
                                        network_.port(port).bits_per_second());
    events.push_back({.kind = BenignKind::kMicroburst,
                      .place = fabric.NameOfLink(fabric.port(port).link),
                      .direction = fabric.NameOf(fabric.Peer(port)),
                      .start = burst.time,
                      .end = std::min(now, burst.time + length),
                      .count = frames});
  }
  for (const PortIndex port : discarding_) {
    if (network_.port(port).counters().harmless_discards == 0) continue;
    events.push_back({.kind = BenignKind::kHarmlessDiscards,
                      .place = fabric.NameOfLink(fabric.port(port).link),
                      .direction = fabric.NameOf(fabric.Peer(port)),
                      .start = 0,
                      .end = now,
                      .count = network_.port(port).counters().harmless_discards});
  }
  for (const MaintenanceOptions& work : options_.maintenance) {
    if (work.start >= now) continue;
    events.push_back({.kind = KindOf(work.kind),
                      .place = work.kind == MaintenanceKind::kLinkDrain
                                   ? fabric.NameOfLink(work.link)
                                   : fabric.node(work.node).name,
                      .start = work.start,
                      .end = std::min(now, work.start + work.drain + work.duration)});
  }
  return events;
}

}  // namespace rocescope::sim
