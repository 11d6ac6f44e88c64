// SPDX-License-Identifier: BSD-3-Clause
#include "tests/perf/truth.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>
#include <numeric>

#include "dataplane/wire/opcode.h"

namespace rocescope::perf {
namespace {

constexpr size_t kFlowsListed = 100;

void Accumulate(Counts& sum, const Counts& counts) {
  sum.packets += counts.packets;
  sum.wire_bytes += counts.wire_bytes;
  sum.payload_bytes += counts.payload_bytes;
  sum.messages += counts.messages;
  sum.ce_marks += counts.ce_marks;
  sum.cnps += counts.cnps;
  sum.acks += counts.acks;
  sum.request_psns_skipped += counts.request_psns_skipped;
  sum.response_psns_skipped += counts.response_psns_skipped;
}

nlohmann::ordered_json ToJson(const Counts& counts) {
  return {{"packets", counts.packets},
          {"wire_bytes", counts.wire_bytes},
          {"payload_bytes", counts.payload_bytes},
          {"messages", counts.messages},
          {"ce_marks", counts.ce_marks},
          {"cnps", counts.cnps},
          {"acks", counts.acks},
          {"request_psns_skipped", counts.request_psns_skipped},
          {"response_psns_skipped", counts.response_psns_skipped}};
}

nlohmann::ordered_json ToJson(const WorkloadOptions& options) {
  return {{"packets", options.packets},
          {"queue_pairs", options.queue_pairs},
          {"hosts", options.hosts},
          {"zipf", options.zipf_exponent},
          {"ce", options.ce_ratio},
          {"cnp", options.cnp_ratio},
          {"gap", options.gap_ratio},
          {"ipv6", options.ipv6_ratio},
          {"seed", options.seed},
          {"start_ns", options.start_ns},
          {"duration_ns", options.duration_ns}};
}

}  // namespace

void Truth::Add(const Packet& packet, const Frame& frame) {
  const wire::OpcodeInfo& info = wire::InfoOf(packet.bth.opcode);
  const bool cnp = info.operation == wire::Operation::kCnp;
  Counts& flow = flows_[packet.flow];
  ++flow.packets;
  flow.wire_bytes += frame.original_length;
  flow.payload_bytes += packet.payload_length;
  flow.messages += info.starts && !info.response && !cnp;
  flow.ce_marks += packet.congestion_experienced;
  flow.cnps += cnp;
  flow.acks += info.operation == wire::Operation::kAcknowledge;
  (info.response ? flow.response_psns_skipped : flow.request_psns_skipped) += packet.skipped_before;
  captured_bytes_ += frame.bytes.size();
  if (first_ns_ == 0) first_ns_ = packet.time_ns;
  last_ns_ = packet.time_ns;
}

Status Truth::WriteJson(const std::string& path, const WorkloadOptions& options) const {
  Counts total;
  size_t flows = 0;
  size_t connections = 0;
  size_t two_way_connections = 0;
  for (size_t i = 0; i < flows_.size(); i += 2) {
    const bool one = flows_[i].packets != 0;
    const bool other = flows_[i + 1].packets != 0;
    flows += static_cast<size_t>(one) + static_cast<size_t>(other);
    connections += one || other;
    two_way_connections += one && other;
    Accumulate(total, flows_[i]);
    Accumulate(total, flows_[i + 1]);
  }

  std::vector<uint32_t> order(flows_.size());
  std::iota(order.begin(), order.end(), 0u);
  std::stable_sort(order.begin(), order.end(), [this](uint32_t a, uint32_t b) {
    return flows_[a].packets > flows_[b].packets;
  });
  order.resize(std::min(order.size(), kFlowsListed));

  nlohmann::ordered_json json;
  json["parameters"] = ToJson(options);
  json["totals"] = ToJson(total);
  json["totals"]["captured_bytes"] = captured_bytes_;
  json["totals"]["first_ns"] = first_ns_;
  json["totals"]["last_ns"] = last_ns_;
  json["totals"]["flows"] = flows;
  json["totals"]["connections"] = connections;
  json["totals"]["two_way_connections"] = two_way_connections;
  for (const uint32_t index : order) {
    if (flows_[index].packets == 0) break;
    nlohmann::ordered_json flow = {{"source_ip", ToString(workload_.Sender(index).address)},
                                   {"destination_ip", ToString(workload_.Receiver(index).address)},
                                   {"destination_qpn", workload_.Receiver(index).qpn.value},
                                   {"reverse_qpn", workload_.Sender(index).qpn.value}};
    flow.update(ToJson(flows_[index]));
    json["top_flows"].push_back(std::move(flow));
  }

  std::ofstream file(path);
  file << json.dump(1) << '\n';
  file.close();
  if (!file) {
    return MakeError(ErrorCode::kUnavailable,
                     fmt::format("{}: cannot write: {}", path, std::strerror(errno)));
  }
  return {};
}

}  // namespace rocescope::perf
