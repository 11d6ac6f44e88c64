// SPDX-License-Identifier: BSD-3-Clause
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "appliance/common/report/fabric_report.h"

namespace rocescope {
namespace {

using Json = nlohmann::ordered_json;
using topology::Fabric;
using topology::kNone;
using topology::Survey;

// 64-bit integers are strings, as in all JSON output.
std::string Text64(uint64_t value) { return fmt::format("{}", value); }

Json PortsOf(const Fabric& fabric, const topology::Node& node) {
  Json ports = Json::array();
  for (topology::PortIndex i = node.first_port; i < node.first_port + node.port_count; ++i) {
    Json port = {{"name", fabric.port(i).name}, {"number", fabric.port(i).number}};
    if (fabric.Peer(i) != kNone) port["peer"] = fabric.NameOf(fabric.Peer(i));
    ports.push_back(std::move(port));
  }
  return ports;
}

Json SwitchJson(const Fabric& fabric, const topology::Node& node) {
  Json json = {{"name", node.name}, {"tier", NameOf(node.tier)}};
  if (node.pod != kNone) json["pod"] = node.pod;
  if (node.int_switch_id != kNone) json["int_switch_id"] = node.int_switch_id;
  if (!node.sflow_agent.IsUnspecified()) json["sflow_agent"] = ToString(node.sflow_agent);
  if (!node.erspan_source.IsUnspecified()) json["erspan_source"] = ToString(node.erspan_source);
  json["ports"] = PortsOf(fabric, node);
  return json;
}

Json NicJson(const Fabric& fabric, const topology::Nic& nic) {
  Json json = {{"device", nic.device},
               {"port", fabric.port(nic.port).name},
               {"number", fabric.port(nic.port).number},
               {"rail", nic.rail}};
  if (!nic.pci.empty()) json["pci"] = nic.pci;
  json["addresses"] = Json::array();
  for (const topology::NicAddress& address : nic.addresses) {
    Json each = {{"address", ToString(address.address)}};
    if (address.segment != 0) each["segment"] = address.segment - 1;
    json["addresses"].push_back(std::move(each));
  }
  if (fabric.Peer(nic.port) != kNone) json["peer"] = fabric.NameOf(fabric.Peer(nic.port));
  return json;
}

Json HostJson(const Fabric& fabric, topology::NodeIndex host) {
  Json json = {{"name", fabric.node(host).name}, {"nics", Json::array()}, {"gpus", Json::array()}};
  for (const topology::NicIndex nic : fabric.NicsOf(host)) {
    json["nics"].push_back(NicJson(fabric, fabric.nic(nic)));
  }
  for (const topology::GpuIndex g : fabric.GpusOf(host)) {
    const topology::Gpu& gpu = fabric.gpu(g);
    Json each = {{"number", gpu.number}, {"rail", gpu.rail}};
    if (!gpu.pci.empty()) each["pci"] = gpu.pci;
    if (gpu.nic != kNone) each["nic"] = fabric.nic(gpu.nic).device;
    json["gpus"].push_back(std::move(each));
  }
  return json;
}

Json MirrorJson(const Fabric& fabric, const topology::Tap& tap) {
  Json ports = Json::array();
  for (const topology::PortIndex port : tap.ports) ports.push_back(fabric.port(port).name);
  return {{"switch", fabric.node(tap.node).name}, {"session", tap.session},
          {"direction", NameOf(tap.direction)},   {"names_port", tap.names_port},
          {"before_queue", tap.before_queue},     {"ports", std::move(ports)}};
}

Json PathsJson(const Fabric& fabric, const FabricPaths& shown) {
  Json list = Json::array();
  for (uint64_t i = 0; i < std::min(shown.paths.Count(), kMaxShownPaths); ++i) {
    Json hops = Json::array();
    const topology::Path path = shown.paths.At(i);
    for (const topology::PortIndex port : path.hops()) {
      hops.push_back(fabric.NameOf(port));
    }
    list.push_back(std::move(hops));
  }
  return {{"from", fabric.NameOf(fabric.nic(shown.from).port)},
          {"to", fabric.NameOf(fabric.nic(shown.to).port)},
          {"count", Text64(shown.paths.Count())},
          {"paths", std::move(list)}};
}

Json SurveyOf(const Fabric& fabric, const Survey& survey) {
  Json tiers = Json::array();
  for (size_t i = 0; i < survey.tiers.size(); ++i) {
    const topology::TierSurvey& tier = survey.tiers[i];
    if (tier.nodes == 0) continue;
    tiers.push_back({{"tier", NameOf(static_cast<topology::Tier>(i))},
                     {"nodes", tier.nodes},
                     {"ports", tier.ports},
                     {"plugged_in", tier.plugged},
                     {"down_bits_per_second", Text64(tier.down_bits_per_second)},
                     {"up_bits_per_second", Text64(tier.up_bits_per_second)}});
  }
  return {{"name", fabric.name()},           {"tiers", std::move(tiers)},
          {"nics", fabric.nics().size()},    {"gpus", fabric.gpus().size()},
          {"rails", survey.rails},           {"links", fabric.links().size()},
          {"mirrors", fabric.taps().size()}, {"notes", survey.notes}};
}

}  // namespace

std::string SurveyJson(const Fabric& fabric, const Survey& survey) {
  return SurveyOf(fabric, survey).dump() + "\n";
}

std::string FabricJson(const Fabric& fabric, const Survey& survey,
                       const std::optional<FabricPaths>& paths) {
  Json json = {{"name", fabric.name()},     {"survey", SurveyOf(fabric, survey)},
               {"switches", Json::array()}, {"hosts", Json::array()},
               {"links", Json::array()},    {"mirrors", Json::array()}};
  for (topology::NodeIndex i = 0; i < fabric.nodes().size(); ++i) {
    const topology::Node& node = fabric.node(i);
    if (node.IsSwitch()) {
      json["switches"].push_back(SwitchJson(fabric, node));
    } else {
      json["hosts"].push_back(HostJson(fabric, i));
    }
  }
  for (const topology::Link& link : fabric.links()) {
    json["links"].push_back({{"ends", {fabric.NameOf(link.ends[0]), fabric.NameOf(link.ends[1])}},
                             {"bits_per_second", Text64(link.bits_per_second)},
                             {"delay_ns", Text64(link.delay.count())}});
  }
  for (const topology::Tap& tap : fabric.taps()) json["mirrors"].push_back(MirrorJson(fabric, tap));
  if (paths) json["paths"] = PathsJson(fabric, *paths);
  return json.dump() + "\n";
}

}  // namespace rocescope
