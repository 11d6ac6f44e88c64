// SPDX-License-Identifier: BSD-3-Clause
#include "dataplane/port/port_set.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "dataplane/port/spreader.h"

namespace rocescope {

bool PortSet::BySoftware() const {
  return options_.spread == SpreadBy::kAuto || options_.spread == SpreadBy::kSoftware;
}

Result<PortSet> PortSet::Open(const Options& options) {
  const Result<std::vector<uint16_t>> ids = FindPorts(options.ports);
  if (!ids) return tl::unexpected(ids.error());
  PortSet set(options);
  for (const uint16_t id : *ids) {
    auto port = Port::Open(
        id, {.lcores = options.lcores, .steer = set.BySoftware(), .mbufs = options.mbufs});
    if (!port) return tl::unexpected(port.error());
    set.ports_.push_back(std::move(*port));
  }
  return set;
}

std::vector<std::string> PortSet::Names() const {
  std::vector<std::string> names;
  for (const auto& port : ports_) names.push_back(port->name());
  return names;
}

Status PortSet::MakeLoops(const FrameProcessor::Options& processor, TapId first_tap) {
  const uint16_t lcores = options_.lcores;
  std::vector<ReceiveLoop::Options> loops(lcores);
  size_t next = 0;
  for (size_t i = 0; i < ports_.size(); ++i) {
    for (uint16_t queue = 0; queue < ports_[i]->queues(); ++queue) {
      loops[next++ % lcores].queues.push_back(
          {.port = ports_[i].get(), .queue = queue, .tap = static_cast<TapId>(first_tap + i)});
    }
  }
  std::shared_ptr<SpreadRings> rings;
  if (lcores > 1 && BySoftware()) {
    auto result = SpreadRings::Make(lcores);
    if (!result) return tl::unexpected(result.error());
    rings = std::move(*result);
  }
  FrameProcessor::Options shared = processor;
  ObservationBudget::Options& sightings = shared.flow_table.sightings;
  // The lcores share the appliance's budget of packet observations.
  if (lcores > 1 && !sightings.rate) {
    sightings.rate = std::make_shared<ObservationRate>(ObservationRate::Options{});
    sightings.always_per_interval = (sightings.always_per_interval + lcores - 1) / lcores;
  }
  const auto all = [this](auto holds) { return std::ranges::all_of(ports_, holds); };
  for (uint32_t lcore = 0; lcore < lcores; ++lcore) {
    ReceiveLoop::Options& loop = loops[lcore];
    loop.processor = shared;
    loop.spread = rings;
    loop.lcore = lcore;
    loop.wait = all([](const auto& port) { return port->is_file(); });
    loop.our_clock =
        all([](const auto& port) { return port->time() != PortTime::kEpochMicroseconds; });
    loops_.push_back(std::make_unique<ReceiveLoop>(std::move(loop)));
  }
  return {};
}

Status PortSet::Start() {
  for (const auto& port : ports_) {
    if (Status started = port->Start(); !started) return started;
  }
  return {};
}

// With --spread rss each lcore needs one queue of each port, and all ports must map the same
// address pairs to the same lcore.
Status PortSet::CheckSpread() const {
  if (options_.spread != SpreadBy::kRss || options_.lcores == 1) return {};
  for (const auto& port : ports_) {
    if (!port->spreads() || port->queues() != options_.lcores) {
      return MakeError(
          ErrorCode::kInvalidArgument,
          fmt::format("--spread rss: port {} ({}) does not support RSS on IPv4 addresses without "
                      "ports, or has no queue for each of the {} lcores; omit --spread to "
                      "distribute frames in software",
                      port->name(), port->driver(), options_.lcores));
    }
    if (ports_.size() > 1 &&
        (port->table_size() == 0 || port->table_size() != ports_.front()->table_size())) {
      return MakeError(
          ErrorCode::kInvalidArgument,
          fmt::format("--spread rss: ports {} and {} distribute frames differently (their "
                      "RSS tables have {} and {} writable entries), so the two "
                      "directions of a host pair may reach different lcores; omit "
                      "--spread or capture from one port",
                      ports_.front()->name(), port->name(), ports_.front()->table_size(),
                      port->table_size()));
    }
  }
  return {};
}

PortFindings FindingsOf(const Port& port, uint32_t mbufs_peak) {
  const std::optional<PortCounters> told = port.Counters();
  const PortCounters counters = told.value_or(PortCounters{});
  return {.name = port.name(),
          .driver = port.driver(),
          .counted = told.has_value(),
          .losses_counted = told.has_value() && port.counts_losses(),
          .received = counters.delivered,
          .missed = counters.missed,
          .no_mbuf = counters.no_mbuf,
          .errors = counters.errors,
          .mbufs = port.mbufs(),
          .mbufs_in_use = port.MbufsInUse(),
          .mbufs_peak = mbufs_peak};
}

}  // namespace rocescope
