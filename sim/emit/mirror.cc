// SPDX-License-Identifier: BSD-3-Clause
#include "sim/emit/mirror.h"

#include <fmt/format.h>

#include <algorithm>

#include "dataplane/wire/ethernet.h"
#include "dataplane/wire/ip.h"
#include "dataplane/wire/mirror.h"

namespace rocescope::sim {
namespace {

constexpr int64_t kSecondNs = 1'000'000'000;
constexpr uint8_t kPlatformWithSeconds = 5;
constexpr uint32_t kGreBytes = wire::GreHeader::kSize + 4;  // with the sequence number field

}  // namespace

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
  constexpr uint32_t kSwitchIdMask = 0x3ff;  // ten bits in the platform sub-header
  node_of_session_.push_back(node);
  sessions_.push_back(
      {.number = static_cast<uint16_t>(number),
       .switch_id = static_cast<uint16_t>(
           (at.int_switch_id == topology::kNone ? switch_number : at.int_switch_id) &
           kSwitchIdMask),
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
  const SimTime now = network_.engine().Now();
  Session& session = sessions_[entry.session];
  const uint32_t sequence = session.sequence++;
  ++counts_[entry.tap].copied;

  const uint32_t whole = packets_.LengthOf(frame);
  const uint32_t kept = options_.snap_length == 0 ? whole : std::min(whole, options_.snap_length);
  const uint32_t inside = kGreBytes + static_cast<uint32_t>(wire::Erspan3Header::kSize) +
                          (entry.names_port ? wire::ErspanPlatformSubheader::kSize : 0) + kept;
  const uint32_t length = session.envelope.Bytes() + inside;
  const std::span<uint8_t> room = port_.Begin(now, length);
  if (room.empty()) {
    ++counts_[entry.tap].lost;
    return;
  }
  wire::ByteWriter out(room.first(length - kept));
  WriteEnvelope(out, session.envelope, wire::kIpProtocolGre, static_cast<uint16_t>(sequence),
                inside);
  Write(out, wire::GreHeader{
                 .has_sequence = true, .protocol = wire::kEtherTypeErspan3, .sequence = sequence});
  const int64_t ns = ToNanoseconds(port_.WallTime(now) + session.clock_error);
  Write(out, wire::Erspan3Header{
                 .truncated = kept < whole,
                 .session = session.number,
                 .timestamp = static_cast<uint32_t>(entry.names_port ? ns % kSecondNs : ns / 100),
                 .egress = egress,
                 .granularity = entry.names_port ? wire::ErspanGranularity::kIeee1588
                                                 : wire::ErspanGranularity::k100Nanoseconds,
                 .has_platform_subheader = entry.names_port});
  if (entry.names_port) {
    Write(out, wire::ErspanPlatformSubheader{
                   .platform_id = kPlatformWithSeconds,
                   .info = uint32_t{session.switch_id} << 16 | (entry.port_index & 0xffff),
                   .word = static_cast<uint32_t>(ns / kSecondNs)});
  }
  packets_.WriteFrame(frame, room.subspan(length - kept, kept));
  port_.End();
}

}  // namespace rocescope::sim
