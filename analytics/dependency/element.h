// SPDX-License-Identifier: BSD-3-Clause
// Elements of the dependency graph, from application to switch.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace rocescope {

enum class ElementKind : uint8_t {
  kJob,
  kCommunicator,
  kRank,
  kGpu,
  kHost,
  kNic,
  kPort,
  kLink,
  kSwitch,
};
inline constexpr size_t kElementKinds = 9;

// "job", "communicator", "rank", "gpu", "host", "nic", "port", "link", "switch".
std::string_view NameOf(ElementKind kind);

struct Element {
  ElementKind kind = ElementKind::kJob;
  // The index in the topology or in Attribution::jobs. For a communicator or rank: its index among
  // all of them, job by job.
  uint32_t index = 0;

  friend auto operator<=>(const Element&, const Element&) = default;
};

}  // namespace rocescope
