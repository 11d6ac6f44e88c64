// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/cli/score/baseline.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>
#include <utility>

#include "appliance/api/message_value.h"
#include "appliance/cli/score/place.h"
#include "rocescope/v1/report.pb.h"
#include "rocescope/v1/score.pb.h"
#include "rocescope/v1/truth.pb.h"
#include "topology/fabric.h"
#include "topology/fault/fault_kind.h"

namespace rocescope {
namespace {

constexpr double kBusy = 0.9;
constexpr double kMinVotes = 0.01;

// The path with most of its bytes, among asserted paths.
const v1::PathInterval* MainStretch(const v1::FlowPath& path) {
  const v1::PathInterval* main = nullptr;
  for (const v1::PathInterval& stretch : path.intervals()) {
    const bool asserted = stretch.state() == v1::PathInterval::STATE_EXACT ||
                          stretch.state() == v1::PathInterval::STATE_LIKELY;
    if (!asserted || stretch.ports().empty()) continue;
    if (main == nullptr || stretch.bytes() > main->bytes()) main = &stretch;
  }
  return main;
}

bool IsAt(const v1::TruthFault& fault, std::string_view link) {
  if (IsRightPlace(fault, link, "")) return true;
  const auto* const kind = std::ranges::find(kFaultInfos, fault.kind(), &FaultInfo::name);
  if (kind == kFaultInfos.end() || kind->place == PlaceKind::kLink) return false;
  const std::string_view element = fault.place();
  return Touches(link, element.substr(0, element.find(":gpu:")));
}

const Alarm* StrongestSince(std::span<const Alarm> alarms, int64_t from_ns) {
  const Alarm* strongest = nullptr;
  for (const Alarm& alarm : alarms) {
    if (alarm.until_ns < from_ns) continue;
    if (strongest == nullptr || alarm.strength > strongest->strength) strongest = &alarm;
  }
  return strongest;
}

}  // namespace

LinkOfPort LinksByPort(const topology::Fabric& fabric) {
  LinkOfPort links;
  for (topology::PortIndex port = 0; port < fabric.ports().size(); ++port) {
    const topology::LinkIndex link = fabric.port(port).link;
    if (link != topology::kNone) links[fabric.NameOf(port)] = fabric.NameOfLink(link);
  }
  return links;
}

void UtilisationBaseline::Take(std::span<const CounterRecord> records) {
  for (const CounterRecord& record : records) {
    const CounterEntity& entity = record.entity;
    const bool is_port = entity.kind == EntityKind::kPort || entity.kind == EntityKind::kNic;
    const bool is_wanted = record.metric == Metric::kTxBytes || record.metric == Metric::kLinkSpeed;
    if (!is_port || !is_wanted || entity.port.empty()) continue;
    PortState& port = ports_[fmt::format("{}:{}", entity.node, entity.port)];
    if (record.metric == Metric::kLinkSpeed) {
      port.bits_per_second = record.value;
    } else {
      TakeBytes(record, port);
    }
  }
}

void UtilisationBaseline::TakeBytes(const CounterRecord& record, PortState& port) const {
  const Reading now = {.time_ns = ToNanoseconds(record.event_time), .bytes = record.value};
  const Reading before = port.last;
  const bool is_first = !std::exchange(port.has_reading, true) || now.bytes < before.bytes;
  if (!is_first && now.time_ns - before.time_ns < window_ns_) return;
  port.last = now;
  if (is_first || port.bits_per_second == 0) return;
  const double sent = 8 * static_cast<double>(now.bytes - before.bytes);
  const double seconds = static_cast<double>(now.time_ns - before.time_ns) * 1e-9;
  const double utilisation = sent / seconds / static_cast<double>(port.bits_per_second);
  if (utilisation <= kBusy) return;
  port.alarms.push_back(
      {.link = {}, .from_ns = before.time_ns, .until_ns = now.time_ns, .strength = utilisation});
}

std::vector<Alarm> UtilisationBaseline::Alarms(const LinkOfPort& links) const {
  std::vector<Alarm> alarms;
  for (const auto& [name, port] : ports_) {
    const auto link = links.find(name);
    if (link == links.end()) continue;
    for (Alarm alarm : port.alarms) {
      alarm.link = link->second;
      alarms.push_back(std::move(alarm));
    }
  }
  return alarms;
}

std::vector<Alarm> VotingAlarms(const v1::ReplayReport& report, const LinkOfPort& links) {
  using Key = std::tuple<bool, uint32_t, std::string, std::string, uint32_t>;
  std::map<Key, const v1::FlowPath*> paths;
  for (const v1::FlowPath& path : report.paths()) {
    paths[{path.has_vni(), path.vni(), path.source(), path.destination(), path.destination_qpn()}] =
        &path;
  }
  std::map<std::string, double> votes;  // by egress port
  double all = 0;
  for (const v1::Flow& flow : report.flows()) {
    if (flow.loss().retransmitted_packets() == 0 && flow.loss().missing_packets() == 0) continue;
    const auto at = paths.find(
        {flow.has_vni(), flow.vni(), flow.source(), flow.destination(), flow.destination_qpn()});
    if (at == paths.end()) continue;
    const v1::PathInterval* stretch = MainStretch(*at->second);
    if (stretch == nullptr) continue;
    for (const std::string& port : stretch->ports()) votes[port] += 1.0 / stretch->ports_size();
    ++all;
  }
  const auto most =
      std::ranges::max_element(votes, {}, [](const auto& vote) { return vote.second; });
  if (most == votes.end() || most->second < kMinVotes * all) return {};
  const auto link = links.find(most->first);
  if (link == links.end()) return {};
  return {{.link = link->second,
           .from_ns = Nanoseconds(report.extent().start_time()),
           .until_ns = Nanoseconds(report.extent().end_time()),
           .strength = most->second}};
}

void ScoreBaseline(const v1::Truth& truth, std::string_view name, std::span<const Alarm> alarms,
                   v1::FindingScore& score) {
  v1::BaselineScore& out = *score.add_baselines();
  out.set_name(std::string(name));
  if (truth.faults().empty()) {
    out.set_healthy(1);
    out.set_healthy_alarms(alarms.empty() ? 0 : 1);
    return;
  }
  int64_t visible_ns = 0;
  for (const v1::TruthFault& fault : truth.faults()) {
    if (fault.visible_ns() == 0) continue;
    visible_ns = visible_ns == 0 ? fault.visible_ns() : std::min(visible_ns, fault.visible_ns());
  }
  if (visible_ns == 0) return;
  out.set_visible(1);
  const Alarm* alarm = StrongestSince(alarms, visible_ns);
  if (alarm == nullptr) return;
  out.set_detected(1);
  out.set_place_right(std::ranges::any_of(truth.faults(), [&](const v1::TruthFault& fault) {
    return fault.visible_ns() != 0 && IsAt(fault, alarm->link);
  }));
}

}  // namespace rocescope
