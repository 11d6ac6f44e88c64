// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/cli/plan/collector.h"

#include <fmt/format.h>

#include "base/nearest.h"
#include "base/text/quantity.h"

namespace rocescope::plan {
namespace {

using topology::kNone;

// Characters of interface names and PCI addresses; others would need quotes in YAML.
bool IsName(std::string_view text) {
  constexpr std::string_view kLetters =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.:-";
  return !text.empty() && text.find_first_not_of(kLetters) == std::string_view::npos;
}

}  // namespace

Result<Collector> ParseCollector(std::string_view text) {
  const auto wrong = [text](std::string_view what) {
    return MakeError(ErrorCode::kInvalidArgument,
                     fmt::format("\"{}\": {}; expected NAME=SPEED@SWITCH:PORT,ADDRESS such as "
                                 "ens1f0=100G@leaf0:Ethernet33,172.31.0.1",
                                 text, what));
  };
  const size_t equals = text.find('=');
  const size_t at = text.find('@', equals == std::string_view::npos ? 0 : equals);
  const size_t colon = text.find(':', at == std::string_view::npos ? 0 : at);
  const size_t comma = text.rfind(',');
  if (equals == std::string_view::npos) return wrong("expected = after the name");
  if (at == std::string_view::npos) return wrong("expected @ after the speed");
  if (colon == std::string_view::npos) return wrong("expected SWITCH:PORT");
  if (comma == std::string_view::npos || comma < colon) {
    return wrong("the destination address of the copies is missing");
  }
  Collector collector = {.interface = std::string(text.substr(0, equals)),
                         .node = std::string(text.substr(at + 1, colon - at - 1)),
                         .port = std::string(text.substr(colon + 1, comma - colon - 1))};
  if (!IsName(collector.interface)) return wrong("NAME is not a valid interface name");
  if (collector.node.empty() || collector.port.empty()) return wrong("expected SWITCH:PORT");
  const auto speed = topology::ParseSpeed(text.substr(equals + 1, at - equals - 1));
  if (!speed) return wrong(speed.error().message);
  const auto address = ParseIpAddress(text.substr(comma + 1));
  if (!address) return wrong(address.error().message);
  collector.bits_per_second = *speed;
  collector.address = *address;
  return collector;
}

Status CheckCollectors(const topology::Fabric& fabric, const std::vector<Collector>& collectors) {
  const auto wrong = [](std::string message) {
    return MakeError(ErrorCode::kInvalidArgument, std::move(message));
  };
  for (size_t i = 0; i < collectors.size(); ++i) {
    const Collector& collector = collectors[i];
    for (size_t k = 0; k < i; ++k) {
      const Collector& other = collectors[k];
      if (other.interface == collector.interface || other.address == collector.address ||
          (other.node == collector.node && other.port == collector.port)) {
        return wrong(
            fmt::format("two collectors share an interface, an address or a switch port: {} and {}",
                        other.interface, collector.interface));
      }
    }
    const topology::NodeIndex node = fabric.FindNode(collector.node);
    if (node == kNone) {
      std::vector<std::string_view> names;
      for (const topology::Node& each : fabric.nodes()) names.push_back(each.name);
      return wrong(fmt::format("collector {}: unknown node \"{}\"{}", collector.interface,
                               collector.node, DidYouMean(collector.node, names)));
    }
    if (!fabric.node(node).IsSwitch()) {
      return wrong(fmt::format(
          "collector {}: {} is a host; expected the switch that the collector is connected to",
          collector.interface, collector.node));
    }
    // A port that the file does not contain is accepted: files list the ports of the job network.
    const topology::PortIndex port = fabric.FindPort(node, collector.port);
    if (port != kNone && fabric.Peer(port) != kNone) {
      return wrong(fmt::format("collector {}: {} is connected to {}; use a free port",
                               collector.interface, fabric.NameOf(port),
                               fabric.NameOf(fabric.Peer(port))));
    }
  }
  return {};
}

}  // namespace rocescope::plan
