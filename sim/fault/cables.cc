// SPDX-License-Identifier: BSD-3-Clause
#include "sim/fault/cables.h"

#include <fmt/format.h>

#include <utility>

namespace rocescope::sim {

Result<topology::Fabric> SwapCables(const topology::Fabric& fabric,
                                    const std::array<topology::PortIndex, 2>& ports) {
  const auto refuse = [&](std::string_view why) {
    return MakeError(ErrorCode::kInvalidArgument,
                     fmt::format("the cables of {} and {} cannot be swapped: {}",
                                 fabric.NameOf(ports[0]), fabric.NameOf(ports[1]), why));
  };
  const std::array<topology::LinkIndex, 2> links = {fabric.port(ports[0]).link,
                                                    fabric.port(ports[1]).link};
  if (links[0] == topology::kNone || links[1] == topology::kNone) {
    return refuse("one of them has none");
  }
  if (links[0] == links[1]) return refuse("they are one");
  if (fabric.link(links[0]).bits_per_second != fabric.link(links[1]).bits_per_second) {
    return refuse("their speeds differ");
  }
  const std::array<topology::PortIndex, 2> far = {fabric.Peer(ports[0]), fabric.Peer(ports[1])};
  topology::Fabric::Parts parts = fabric.parts();
  for (size_t i = 0; i < 2; ++i) {
    const topology::PortIndex end = far[1 - i];
    if (fabric.port(end).node == fabric.port(ports[i]).node) {
      return refuse("one would begin and end on one node");
    }
    parts.links[links[i]].ends = {ports[i], end};
    parts.ports[end].link = links[i];
  }
  return topology::Fabric::Make(std::move(parts));
}

}  // namespace rocescope::sim
