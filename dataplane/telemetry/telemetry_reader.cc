// SPDX-License-Identifier: BSD-3-Clause
#include "dataplane/telemetry/telemetry_reader.h"

#include <algorithm>
#include <utility>

namespace rocescope {

TelemetryReader::TelemetryReader(Options options)
    : options_(std::move(options)),
      chooses_(!options_.filter.hosts.empty() || !options_.filter.qpns.empty()) {}

DropReason TelemetryReader::Take(const DecodedFrame& frame, TapId tap, Timestamp arrival,
                                 RecordBatch& out) {
  const Datagram datagram = {
      .tap = tap, .arrival = arrival, .source = frame.source, .cut = frame.cut, .out = out};
  if (frame.kind == FrameKind::kIntReport) return TakeIntReports(frame.telemetry, datagram);
  return TakeSflow(frame.telemetry, datagram);
}

bool TelemetryReader::ReadPacket(LinkType link_type, std::span<const uint8_t> bytes,
                                 TelemetryPacket& packet) {
  // Telemetry of telemetry packets does not concern RoCE.
  const TelemetryPorts ports = {.int_reports = 0, .int_md = options_.ports.int_md, .sflow = 0};
  const RawFrame raw = {.bytes = bytes,
                        .original_length = static_cast<uint32_t>(bytes.size()),
                        .link_type = link_type};
  packet.known = !bytes.empty() && DecodeFrame(raw, packet_, ports) == DropReason::kNone &&
                 packet_.kind == FrameKind::kRoce;
  if (!packet.known) return false;
  packet.flow = {.source = packet_.source,
                 .destination = packet_.destination,
                 .destination_qpn = packet_.destination_qpn,
                 .segment = packet_.segment};
  packet.opcode = packet_.opcode;
  packet.ttl = packet_.ttl;
  packet.traffic_class = packet_.traffic_class;
  packet.psn = packet_.psn;
  return true;
}

// An unknown packet is not excluded, because it could match.
bool TelemetryReader::Filters(const TelemetryPacket& packet) const {
  return chooses_ && (!packet.known || !options_.filter.Keeps(packet_));
}

template <typename Key>
SequenceFollower* TelemetryReader::FollowerOf(std::map<Key, SequenceFollower>& followers,
                                              const Key& key) {
  const auto known = followers.find(key);
  if (known != followers.end()) return &known->second;
  if (int_followers_.size() + sflow_followers_.size() >= kMaximumSources) return nullptr;
  return &followers[key];
}
template SequenceFollower* TelemetryReader::FollowerOf(
    std::map<TelemetryReader::IntKey, SequenceFollower>&, const TelemetryReader::IntKey&);
template SequenceFollower* TelemetryReader::FollowerOf(
    std::map<TelemetryReader::SflowKey, SequenceFollower>&, const TelemetryReader::SflowKey&);

DropReason TelemetryReader::CheckInt(uint32_t node_id, const Datagram& datagram) {
  if (!options_.senders || options_.senders->AllowsInt(node_id, datagram.source)) {
    return DropReason::kNone;
  }
  return Refuse(false, node_id, {}, datagram.source);
}

DropReason TelemetryReader::CheckSflow(const IpAddress& agent, const Datagram& datagram) {
  if (!options_.senders || options_.senders->AllowsSflow(agent, datagram.source)) {
    return DropReason::kNone;
  }
  return Refuse(true, 0, agent, datagram.source);
}

DropReason TelemetryReader::Refuse(bool is_sflow, uint32_t node_id, const IpAddress& agent,
                                   const IpAddress& source) {
  const std::tuple key(is_sflow, node_id, agent, source);
  const auto known = refused_.find(key);
  if (known != refused_.end()) {
    ++known->second;
  } else {
    // Replace the one with the fewest datagrams, so that many forged senders do not hide a
    // switch.
    if (refused_.size() >= kMaximumRefused) {
      refused_.erase(
          std::min_element(refused_.begin(), refused_.end(),
                           [](const auto& a, const auto& b) { return a.second < b.second; }));
    }
    refused_.emplace(key, 1);
  }
  return DropReason::kUnknownSender;
}

std::vector<RefusedSender> TelemetryReader::Refused() const {
  std::vector<RefusedSender> senders;
  for (const auto& [key, datagrams] : refused_) {
    const auto& [is_sflow, node_id, agent, source] = key;
    senders.push_back({.is_sflow = is_sflow,
                       .source = source,
                       .node_id = node_id,
                       .agent = agent,
                       .datagrams = datagrams});
  }
  return senders;
}

void TelemetryReader::Follow(SequenceFollower* follower, uint32_t sequence, uint32_t mask) {
  if (follower == nullptr) {
    ++counters_.untracked;
  } else {
    follower->Count(sequence, mask);
  }
}

std::vector<TelemetrySource> TelemetryReader::Sources() const {
  std::vector<TelemetrySource> sources;
  for (const auto& [key, follower] : int_followers_) {
    const auto& [tap, node_id, hardware_id] = key;
    sources.push_back({.tap = tap,
                       .node_id = node_id,
                       .hardware_id = hardware_id,
                       .datagrams = follower.received(),
                       .lost = follower.lost(),
                       .repeats = follower.repeats()});
  }
  for (const auto& [key, follower] : sflow_followers_) {
    const auto& [tap, agent, sub_agent] = key;
    sources.push_back({.is_sflow = true,
                       .tap = tap,
                       .agent = agent,
                       .sub_agent = sub_agent,
                       .datagrams = follower.received(),
                       .lost = follower.lost(),
                       .repeats = follower.repeats()});
  }
  return sources;
}

}  // namespace rocescope
