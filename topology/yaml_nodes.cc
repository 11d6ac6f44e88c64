// SPDX-License-Identifier: BSD-3-Clause
// Reads the sections `switches` and `hosts`.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/text/name_range.h"
#include "base/text/quantity.h"
#include "topology/check.h"
#include "topology/yaml_reader.h"

namespace rocescope::topology {
namespace {

using Kind = YamlNode::Kind;

constexpr uint32_t kMaxSegment = (1u << 24) - 1;  // VXLAN and Geneve identifiers have 24 bits

auto WholeNumber(uint64_t least, uint64_t most) {
  return [least, most](std::string_view text) -> Result<uint32_t> {
    if (const auto value = ParseWholeNumber(text, least, most)) {
      return static_cast<uint32_t>(*value);
    }
    return MakeError(
        ErrorCode::kInvalidArgument,
        fmt::format("expected a whole number from {} to {}, found \"{}\"", least, most, text));
  };
}

}  // namespace

void FabricReader::ReadSwitches(const YamlNode& node) {
  for (const YamlNode& item : ReadList(node, errors_)) {
    if (errors_.full()) return;
    ReadSwitch(item);
  }
}

void FabricReader::ReadSwitch(const YamlNode& item) {
  constexpr std::array<std::string_view, 3> kTiers = {"leaf", "spine", "core"};
  const YamlMap map(
      item, "a switch",
      {"name", "tier", "pod", "erspan_source", "sflow_agent", "int_switch_id", "ports"}, errors_);
  const YamlNode* name = map.Require("name");
  if (name == nullptr) return;
  const std::vector<std::string> names = ReadNames(*name);
  std::optional<Tier> tier;
  if (const YamlNode* at = map.Find("tier")) {
    const auto choice = ReadChoice(*at, kTiers, errors_);
    if (choice) tier = static_cast<Tier>(*choice + static_cast<size_t>(Tier::kLeaf));
  }
  const auto each = [&](std::string_view key, auto parse) {
    const YamlNode* at = map.Find(key);
    return at == nullptr ? decltype(ReadEach(*at, 0, parse)){} : ReadEach(*at, names.size(), parse);
  };
  const auto pods = each("pod", WholeNumber(0, kMaxNodes));
  const auto erspan_sources = each("erspan_source", ParseIpAddress);
  const auto sflow_agents = each("sflow_agent", ParseIpAddress);
  const auto ids = each("int_switch_id", WholeNumber(0, kNone - uint64_t{1}));
  const YamlNode* ports = map.Find("ports");
  const std::vector<PortRow> rows = ports == nullptr ? std::vector<PortRow>() : ReadPorts(*ports);

  for (size_t i = 0; i < names.size() && !errors_.full(); ++i) {
    const NodeIndex index = draft_.Describe(names[i], true, PlaceOf(*name));
    if (index == kNone) continue;
    if (map.Find("tier") == nullptr && !draft_.IsGenerated(index)) {
      errors_.Add(item,
                  fmt::format("the tier of {} is missing; expected leaf, spine or core", names[i]));
      return;
    }
    Node& node = draft_.parts().nodes[index];
    if (tier) node.tier = *tier;
    if (!pods.empty()) node.pod = pods[i];
    if (!erspan_sources.empty()) node.erspan_source = erspan_sources[i];
    if (!sflow_agents.empty()) node.sflow_agent = sflow_agents[i];
    if (!ids.empty()) node.int_switch_id = ids[i];
    if (ports == nullptr) continue;
    draft_.ListPorts(index);
    DescribePorts(index, rows);
  }
}

std::vector<FabricReader::PortRow> FabricReader::ReadPorts(const YamlNode& node) {
  std::vector<PortRow> rows;
  const auto add = [&](const YamlNode& names, const YamlNode* number) {
    const std::vector<std::string> read = ReadNames(names);
    std::vector<uint32_t> numbers;
    if (number != nullptr) {
      numbers = ReadEach(*number, read.size(), WholeNumber(1, kNone - uint64_t{1}));
      const bool same =
          number->kind == Kind::kScalar && number->text.find_first_of("[,") == std::string::npos;
      // A single number is that of the first port; the others count up from it.
      for (size_t i = 1; same && i < numbers.size(); ++i) numbers[i] = numbers[0] + i;
    }
    for (size_t i = 0; i < read.size(); ++i) {
      rows.push_back(
          {.name = read[i], .number = numbers.empty() ? 0 : numbers[i], .place = PlaceOf(names)});
    }
  };
  if (node.kind == Kind::kScalar) {
    add(node, nullptr);
    return rows;
  }
  for (const YamlNode& item : ReadList(node, errors_)) {
    if (item.kind == Kind::kScalar) {
      add(item, nullptr);
      continue;
    }
    const YamlMap map(item, "a port", {"name", "number"}, errors_);
    if (const YamlNode* names = map.Require("name")) add(*names, map.Find("number"));
  }
  return rows;
}

void FabricReader::DescribePorts(NodeIndex node, const std::vector<PortRow>& rows) {
  const bool generated = draft_.IsGenerated(node);
  for (const PortRow& row : rows) {
    if (errors_.full()) return;
    const PortIndex known =
        generated ? draft_.FindPort(fmt::format("{}:{}", draft_.parts().nodes[node].name, row.name))
                  : kNone;
    if (known == kNone) {
      draft_.AddPort(node, row.number, row.name, row.place);
    } else if (row.number != 0) {
      draft_.parts().ports[known].number = row.number;
      draft_.Override(PartKind::kPort, known, row.place);
    }
  }
}

void FabricReader::ReadHosts(const YamlNode& node) {
  for (const YamlNode& item : ReadList(node, errors_)) {
    if (errors_.full()) return;
    ReadHost(item);
  }
}

void FabricReader::ReadHost(const YamlNode& item) {
  const YamlMap map(item, "a host", {"name", "nics", "gpus"}, errors_);
  const YamlNode* name = map.Require("name");
  if (name == nullptr) return;
  const std::vector<std::string> names = ReadNames(*name);
  std::vector<NicRow> nics;
  std::vector<GpuRow> gpus;
  if (const YamlNode* list = map.Find("nics")) {
    for (const YamlNode& each : ReadList(*list, errors_)) {
      if (auto row = ReadNic(each, names.size())) nics.push_back(*std::move(row));
    }
  }
  if (const YamlNode* list = map.Find("gpus")) {
    for (const YamlNode& each : ReadList(*list, errors_)) {
      if (auto row = ReadGpu(each)) gpus.push_back(*std::move(row));
    }
  }
  for (size_t i = 0; i < names.size() && !errors_.full(); ++i) {
    const NodeIndex host = draft_.Describe(names[i], false, PlaceOf(*name));
    if (host == kNone) continue;
    for (NicRow& row : nics) DescribeNic(host, row, i);
    for (const GpuRow& row : gpus) DescribeGpu(host, row);
  }
}

std::optional<FabricReader::NicRow> FabricReader::ReadNic(const YamlNode& item, size_t hosts) {
  const YamlMap map(item, "a NIC", {"device", "port", "number", "pci", "rail", "addresses"},
                    errors_);
  const YamlNode* device_node = map.Require("device");
  const auto device = device_node == nullptr ? std::nullopt : ReadText(*device_node, errors_);
  if (!device) return std::nullopt;
  NicRow row = {.device = std::string(*device), .port = std::string(*device)};
  row.place = PlaceOf(item);
  if (const YamlNode* at = map.Find("port")) row.port = ReadText(*at, errors_).value_or(*device);
  if (const YamlNode* at = map.Find("number")) {
    row.number = ReadNumber(*at, 1, kNone - uint64_t{1}, errors_);
  }
  if (const YamlNode* at = map.Find("pci")) row.pci = ReadParsed(*at, ParsePciAddress, errors_);
  if (const YamlNode* at = map.Find("rail")) row.rail = ReadNumber(*at, 0, kMaxRail, errors_);
  if (const YamlNode* at = map.Find("addresses")) {
    row.addresses.emplace(hosts);
    if (at->kind == Kind::kScalar) {
      ReadAddress(*at, *row.addresses);
    } else {
      for (const YamlNode& each : ReadList(*at, errors_)) ReadAddress(each, *row.addresses);
    }
  }
  return row;
}

// Reads one address for each host.
void FabricReader::ReadAddress(const YamlNode& item, std::vector<std::vector<NicAddress>>& of) {
  const YamlNode* text = &item;
  Segment segment = 0;
  if (item.kind != Kind::kScalar) {
    const YamlMap map(item, "an address", {"address", "segment"}, errors_);
    text = map.Require("address");
    if (const YamlNode* at = map.Find("segment")) {
      const auto number = ReadNumber(*at, 0, kMaxSegment, errors_);
      if (number) segment = static_cast<Segment>(*number + 1);
    }
  }
  if (text == nullptr) return;
  const auto addresses = ReadEach(*text, of.size(), ParseIpAddress);
  for (size_t i = 0; i < addresses.size(); ++i) {
    of[i].push_back({.segment = segment, .address = addresses[i]});
  }
}

std::optional<FabricReader::GpuRow> FabricReader::ReadGpu(const YamlNode& item) {
  const YamlMap map(item, "a GPU", {"number", "pci", "rail", "nic"}, errors_);
  const YamlNode* number_node = map.Require("number");
  if (number_node == nullptr) return std::nullopt;
  const auto number = ReadNumber(*number_node, 0, kNone - uint64_t{1}, errors_);
  if (!number) return std::nullopt;
  GpuRow row = {.number = static_cast<uint32_t>(*number)};
  row.place = PlaceOf(item);
  if (const YamlNode* at = map.Find("pci")) row.pci = ReadParsed(*at, ParsePciAddress, errors_);
  if (const YamlNode* at = map.Find("rail")) row.rail = ReadNumber(*at, 0, kMaxRail, errors_);
  if (const YamlNode* at = map.Find("nic")) row.nic = ReadText(*at, errors_);
  return row;
}

void FabricReader::DescribeNic(NodeIndex host, NicRow& row, size_t number_of_host) {
  NicIndex index = draft_.IsGenerated(host) ? draft_.FindNic(host, row.device) : kNone;
  if (index == kNone) {
    const uint32_t next = draft_.parts().nodes[host].port_count + 1;
    index = draft_.AddNic({.host = host, .device = row.device}, row.port,
                          static_cast<uint32_t>(row.number.value_or(next)), row.place);
    if (index == kNone) return;
  } else {
    draft_.Override(PartKind::kNic, index, row.place);
    const PortIndex port = draft_.parts().nics[index].port;
    if (row.number) {
      draft_.parts().ports[port].number = static_cast<uint32_t>(*row.number);
      draft_.Override(PartKind::kPort, port, row.place);
    }
  }
  Nic& nic = draft_.parts().nics[index];
  if (row.pci) nic.pci = *row.pci;
  if (row.rail) nic.rail = static_cast<uint32_t>(*row.rail);
  if (row.addresses) nic.addresses = std::move((*row.addresses)[number_of_host]);
}

void FabricReader::DescribeGpu(NodeIndex host, const GpuRow& row) {
  GpuIndex index = draft_.IsGenerated(host) ? draft_.FindGpu(host, row.number) : kNone;
  if (index == kNone) {
    index = draft_.AddGpu({.host = host, .number = row.number}, row.place);
    if (index == kNone) return;
  } else {
    draft_.Override(PartKind::kGpu, index, row.place);
  }
  Gpu& gpu = draft_.parts().gpus[index];
  if (row.pci) gpu.pci = *row.pci;
  if (row.nic) {
    gpu.nic = draft_.FindNic(host, *row.nic);
    if (gpu.nic == kNone) {
      errors_.Add(row.place, fmt::format("GPU {} refers to NIC \"{}\", which {} does not have",
                                         row.number, *row.nic, draft_.parts().nodes[host].name));
      return;
    }
    gpu.rail = draft_.parts().nics[gpu.nic].rail;
  }
  if (row.rail) gpu.rail = static_cast<uint32_t>(*row.rail);
}

}  // namespace rocescope::topology
