// SPDX-License-Identifier: BSD-3-Clause
// Reads the sections `unplugged`, `links` and `mirrors`.
#include <fmt/format.h>

#include <array>
#include <utility>

#include "base/text/quantity.h"
#include "topology/check.h"
#include "topology/yaml_reader.h"

namespace rocescope::topology {
namespace {

using Kind = YamlNode::Kind;

}  // namespace

void FabricReader::ReadUnplugged(const YamlNode& node) {
  for (const YamlNode& item : ReadList(node, errors_)) {
    for (const std::string& name : ReadNames(item)) {
      if (errors_.full()) return;
      const PortIndex port = draft_.RequirePort(name, PlaceOf(item));
      if (port != kNone) draft_.Unplug(port, PlaceOf(item));
    }
  }
}

void FabricReader::ReadLinks(const YamlNode& node) {
  for (const YamlNode& item : ReadList(node, errors_)) {
    if (errors_.full()) return;
    ReadLink(item);
  }
}

void FabricReader::ReadLink(const YamlNode& item) {
  const YamlNode* ends = &item;
  std::optional<uint64_t> speed;
  std::optional<Duration> delay;
  if (item.kind != Kind::kSequence) {
    const YamlMap map(item, "a link", {"ends", "speed", "delay"}, errors_);
    ends = map.Require("ends");
    if (const YamlNode* at = map.Find("speed")) speed = ReadParsed(*at, ParseSpeed, errors_);
    if (const YamlNode* at = map.Find("delay")) delay = ReadParsed(*at, ParseDelay, errors_);
  }
  if (ends == nullptr) return;
  const auto two = ReadList(*ends, errors_);
  if (ends->kind != Kind::kSequence) return;
  if (two.size() != 2) {
    errors_.Add(*ends, fmt::format("a link needs two ends such as [leaf0:Ethernet1, host0:mlx5_0]; "
                                   "found {}",
                                   two.size()));
    return;
  }
  const std::vector<std::string> a = ReadNames(two[0]);
  const std::vector<std::string> b = ReadNames(two[1]);
  if (a.empty() || b.empty()) return;
  if (a.size() != b.size()) {
    errors_.Add(two[1],
                fmt::format("\"{}\" is {} ports but \"{}\" is {}; both ends need the same number",
                            two[0].text, a.size(), two[1].text, b.size()));
    return;
  }
  for (size_t i = 0; i < a.size() && !errors_.full(); ++i) {
    const PortIndex from = draft_.RequirePort(a[i], PlaceOf(two[0]));
    const PortIndex to = draft_.RequirePort(b[i], PlaceOf(two[1]));
    if (from == kNone || to == kNone) continue;
    const auto& ports = draft_.parts().ports;
    if (ports[from].node == ports[to].node) {
      errors_.Add(item, fmt::format("a link from {} to itself",
                                    draft_.parts().nodes[ports[from].node].name));
      return;
    }
    draft_.AddLink(from, to, speed, delay, PlaceOf(item));
  }
}

void FabricReader::ReadMirrors(const YamlNode& node) {
  for (const YamlNode& item : ReadList(node, errors_)) {
    if (errors_.full()) return;
    ReadMirror(item);
  }
}

void FabricReader::ReadMirror(const YamlNode& item) {
  constexpr std::array<std::string_view, 3> kDirections = {"ingress", "egress", "both"};
  const YamlMap map(item, "a mirror session",
                    {"switch", "session", "direction", "ports", "names_port", "before_queue"},
                    errors_);
  const YamlNode* names = map.Require("switch");
  const YamlNode* session = map.Require("session");
  const YamlNode* direction = map.Require("direction");
  if (names == nullptr || session == nullptr || direction == nullptr) return;
  Tap tap;
  tap.session = static_cast<uint32_t>(ReadNumber(*session, 0, kMaxSession, errors_).value_or(0));
  tap.direction =
      static_cast<TapDirection>(ReadChoice(*direction, kDirections, errors_).value_or(0));
  if (const YamlNode* at = map.Find("names_port")) {
    tap.names_port = ReadBool(*at, errors_).value_or(true);
  }
  if (const YamlNode* at = map.Find("before_queue")) {
    tap.before_queue = ReadBool(*at, errors_).value_or(false);
  }
  for (const std::string& name : ReadNames(*names)) {
    if (errors_.full()) return;
    tap.node = draft_.RequireNode(name, PlaceOf(*names));
    if (tap.node == kNone) continue;
    if (!draft_.parts().nodes[tap.node].IsSwitch()) {
      errors_.Add(*names, fmt::format("{} is a host; only switches have mirror sessions", name));
      continue;
    }
    tap.ports = MirroredPorts(map.Find("ports"), tap.node);
    draft_.AddTap(tap, PlaceOf(item));
  }
}

std::vector<PortIndex> FabricReader::MirroredPorts(const YamlNode* node, NodeIndex at) {
  std::vector<PortIndex> found;
  const auto add = [&](const YamlNode& names) {
    for (const std::string& name : ReadNames(names)) {
      if (errors_.full()) return;
      const PortIndex port = draft_.RequirePortOf(at, name, PlaceOf(names));
      if (port != kNone) found.push_back(port);
    }
  };
  const bool is_word = node != nullptr && node->kind == Kind::kScalar;
  const std::string_view word = node == nullptr ? "all" : std::string_view(node->text);
  if (node == nullptr || (is_word && (word == "all" || word == "hosts" || word == "fabric"))) {
    const Fabric::Parts& parts = draft_.parts();
    for (const PortIndex port : draft_.PortsOf(at)) {
      const LinkIndex link = parts.ports[port].link;
      const bool to_switch =
          link != kNone &&
          parts.nodes[parts.ports[parts.links[link].Opposite(port)].node].IsSwitch();
      if (word == "all" || (link != kNone && to_switch == (word == "fabric"))) {
        found.push_back(port);
      }
    }
    return found;
  }
  if (is_word) {
    add(*node);
    return found;
  }
  for (const YamlNode& item : ReadList(*node, errors_)) add(item);
  return found;
}

}  // namespace rocescope::topology
