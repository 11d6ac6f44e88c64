// SPDX-License-Identifier: BSD-3-Clause
#include "sim/emit/mirror.h"

#include <fmt/format.h>

#include <algorithm>

namespace rocescope::sim {

Result<std::unique_ptr<Mirror>> Mirror::Make(Network& network, PacketWriter& packets,
                                             CollectorPort& port, const MirrorOptions& options) {
  std::unique_ptr<Mirror> mirror(new Mirror(network, packets, port, options));
  for (topology::TapIndex tap = 0; tap < network.fabric().taps().size(); ++tap) {
    const Status added = mirror->Add(tap);
    if (!added) return tl::unexpected(added.error());
  }
  return mirror;
}

Mirror::Mirror(Network& network, PacketWriter& packets, CollectorPort& port,
               const MirrorOptions& options)
    : network_(network),
      packets_(packets),
      port_(port),
      options_(options),
      watched_(network.fabric().ports().size()),
      counts_(network.fabric().taps().size()) {
  for (topology::NodeIndex node = 0; node < network.fabric().nodes().size(); ++node) {
    if (!network.fabric().node(node).IsSwitch()) continue;
    first_port_.push_back(network.fabric().node(node).first_port);
    watches_.push_back(false);
  }
}

uint32_t Mirror::SessionOf(topology::NodeIndex node, uint32_t number) {
  for (uint32_t i = 0; i < sessions_.size(); ++i) {
    if (node_of_session_[i] == node && sessions_[i].number == number) return i;
  }
  const topology::Node& at = network_.fabric().node(node);
  const uint32_t switch_number = network_.switch_at(node).number();
  node_of_session_.push_back(node);
  sessions_.push_back(
      {.number = static_cast<uint16_t>(number),
       .switch_id = static_cast<uint16_t>(at.int_switch_id == topology::kNone ? switch_number
                                                                              : at.int_switch_id),
       .clock_error = options_.clock_errors.empty() ? Duration(0) : options_.clock_errors[node],
       .envelope = {.source_mac = MacOfSwitch(switch_number),
                    .destination_mac = port_.options().mac,
                    .source = at.erspan_source,
                    .destination = port_.options().address}});
  return static_cast<uint32_t>(sessions_.size() - 1);
}

Status Mirror::Add(topology::TapIndex index) {
  const topology::Tap& tap = network_.fabric().tap(index);
  const topology::Node& node = network_.fabric().node(tap.node);
  if (node.erspan_source.IsUnspecified()) {
    return MakeError(ErrorCode::kInvalidArgument,
                     fmt::format("{} has mirror session {} but no ERSPAN source address", node.name,
                                 tap.session));
  }
  watches_[network_.switch_at(tap.node).number()] = true;
  const uint32_t session = SessionOf(tap.node, tap.session);
  for (const topology::PortIndex port : tap.ports) {
    const auto add = [&](uint32_t& first) {
      entries_.push_back({.tap = index,
                          .session = session,
                          .port_index = network_.fabric().port(port).number,
                          .names_port = tap.names_port,
                          .next = first});
      first = static_cast<uint32_t>(entries_.size() - 1);
    };
    Watched& watched = watched_[port];
    if (tap.direction != topology::TapDirection::kEgress) add(watched.ingress);
    if (tap.direction != topology::TapDirection::kIngress) {
      add(tap.before_queue ? watched.before_queue : watched.egress);
    }
  }
  return {};
}

void Mirror::Arrives(const Switch& at, const Port& port, const Frame& frame) {
  Copy(At(at, port).ingress, frame, false);
}

void Mirror::Queues(const Switch& at, const Port& port, const Frame& frame) {
  Copy(At(at, port).before_queue, frame, true);
}

void Mirror::Departs(const Switch& at, const Port& port, const Frame& frame, uint64_t) {
  Copy(At(at, port).egress, frame, true);
}

void Mirror::Copy(uint32_t first, const Frame& frame, bool egress) {
  for (uint32_t i = first; i != kNoTap; i = entries_[i].next) CopyTo(entries_[i], frame, egress);
}

void Mirror::CopyTo(const Entry& entry, const Frame& frame, bool egress) {
  ++counts_[entry.tap].copied;
  const uint32_t whole = packets_.LengthOf(frame);
  const uint32_t kept = options_.snap_length == 0 ? whole : std::min(whole, options_.snap_length);
  const std::span<uint8_t> room =
      BeginErspanCopy(port_, network_.engine().Now(), sessions_[entry.session],
                      {.port_index = entry.port_index,
                       .names_port = entry.names_port,
                       .egress = egress,
                       .frame_bytes = whole,
                       .kept_bytes = kept});
  if (room.empty()) {
    ++counts_[entry.tap].lost;
    return;
  }
  packets_.WriteFrame(frame, room);
  port_.End();
}

}  // namespace rocescope::sim
