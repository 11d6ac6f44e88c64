// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/cli/score/place.h"

#include <algorithm>
#include <string>
#include <vector>

#include "rocescope/v1/truth.pb.h"

namespace rocescope {
namespace {

std::string_view NodeOf(std::string_view port) { return port.substr(0, port.find(':')); }

// A hyphen in a name may also look like the middle of a link; the additional names match no node.
std::vector<std::string_view> NodesOf(std::string_view place) {
  std::vector<std::string_view> nodes = {NodeOf(place)};
  for (size_t at = place.find('-'); at != std::string_view::npos; at = place.find('-', at + 1)) {
    const std::string_view second = place.substr(at + 1);
    if (place.substr(0, at).find(':') != std::string_view::npos &&
        second.find(':') != std::string_view::npos) {
      nodes.push_back(NodeOf(second));
    }
  }
  return nodes;
}

}  // namespace

// Node names may contain hyphens, so compare with the other link's text.
bool IsSameLink(std::string_view a, std::string_view b) {
  if (a == b) return true;
  if (a.size() != b.size()) return false;
  for (size_t at = a.find('-'); at != std::string_view::npos; at = a.find('-', at + 1)) {
    const std::string_view first = a.substr(0, at);
    const std::string_view second = a.substr(at + 1);
    const bool are_ports =
        first.find(':') != std::string_view::npos && second.find(':') != std::string_view::npos;
    if (are_ports && b.starts_with(second) && b[second.size()] == '-' && b.ends_with(first)) {
      return true;
    }
  }
  return false;
}

bool IsEndOf(std::string_view port, std::string_view link) {
  if (port.empty() || link.size() <= port.size()) return false;
  return (link.starts_with(port) && link[port.size()] == '-') ||
         (link.ends_with(port) && link[link.size() - port.size() - 1] == '-');
}

bool Touches(std::string_view link, std::string_view element) {
  if (element.find(':') != std::string_view::npos) return IsEndOf(element, link);
  const std::string node = std::string(element) + ":";
  return link.starts_with(node) || link.find("-" + node) != std::string_view::npos;
}

Closeness ClosenessOf(std::string_view a, std::string_view b) {
  if (a.empty() || b.empty()) return Closeness::kFar;
  if (IsSameLink(a, b)) return Closeness::kSame;
  if (Touches(a, b) || Touches(b, a)) return Closeness::kTouching;
  const std::vector<std::string_view> others = NodesOf(b);
  return std::ranges::any_of(
             NodesOf(a),
             [&](std::string_view node) { return std::ranges::count(others, node) > 0; })
             ? Closeness::kSharedNode
             : Closeness::kFar;
}

bool IsRightPlace(const v1::TruthFault& fault, std::string_view place, std::string_view direction) {
  if (fault.loop_ports_size() > 0) {
    return std::ranges::any_of(fault.loop_ports(),
                               [&](const std::string& port) { return IsEndOf(port, place); });
  }
  if (fault.declared_links_size() > 0) {
    return std::ranges::any_of(fault.declared_links(),
                               [&](const std::string& link) { return IsSameLink(link, place); });
  }
  if (!IsSameLink(fault.place(), place)) return false;
  return fault.direction().empty() || direction.empty() || fault.direction() == direction;
}

}  // namespace rocescope
