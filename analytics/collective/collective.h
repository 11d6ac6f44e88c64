// SPDX-License-Identifier: BSD-3-Clause
// Collectives and iterations of a job, inferred from traffic. They do not depend on the collective
// library.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/address.h"
#include "base/segment.h"
#include "base/time.h"

namespace rocescope {

// Communication pattern: the sender and the receiver of each transfer, and their order.
enum class CollectiveKind : uint8_t {
  kUnknown,
  kRing,
  kTree,
  kAllToAll,
  kHalvingDoubling,
  kPipeline,
};

// A participating NIC.
struct CollectiveMember {
  Segment segment = 0;  // tenants can use the same addresses
  IpAddress address;
  std::string host;    // the address if the host name is unknown
  std::string device;  // "mlx5_0"; empty: unknown
};

// One step of an iteration.
struct Collective {
  CollectiveKind kind = CollectiveKind::kUnknown;
  // An alternative with the same traffic. Example: a ring of two members is identical to
  // halving-doubling of two.
  std::optional<CollectiveKind> alternative;
  double confidence = 0;
  // Indices into JobIterationPattern::members; the groups run independently. One NIC may represent
  // the other NICs of its host, because NVLink traffic is not visible.
  std::vector<std::vector<uint32_t>> groups;
  Duration offset{};    // start, relative to the start of the iteration
  Duration duration{};  // time until the last packet
  uint64_t bytes = 0;   // bytes per iteration, all groups together
};

// The straggler: the member that enters last, and late, in consecutive iterations.
struct Straggler {
  static constexpr uint32_t kLeastIterations = 3;

  uint32_t member = 0;
  uint32_t iterations = 0;  // iterations in which it was the last
  uint32_t of = 0;          // iterations from the first to the last of them
  Duration lateness{};  // delay after the median of the other members; median over those iterations
  Timestamp from;       // start of the first iteration
  Timestamp until;      // end of the last iteration
  double confidence = 0;
  // Other NICs of the same host that were also late in this time. The cause may be at any of them.
  std::vector<uint32_t> alternative;
};

// An iteration of the slowest part of the job (a fault often delays only one rail), with the
// resolution of the activity time line.
struct IterationSpan {
  Timestamp begin;
  Timestamp end;       // start of the next iteration
  Duration sending{};  // time with traffic, of the part of the job with most of it

  friend bool operator==(const IterationSpan&, const IterationSpan&) = default;
};
inline constexpr size_t kMaxIterationSpans = 256;

struct JobIterationPattern {
  uint32_t job = 0;  // index into Attribution::jobs
  Duration period{};
  double strength = 0;               // 0 to 1: similarity of consecutive iterations
  uint32_t iterations = 0;           // complete iterations observed
  Timestamp first;                   // start of the first complete iteration
  Timestamp last;                    // end of the last complete iteration
  std::vector<IterationSpan> spans;  // the last kMaxIterationSpans, ascending
  std::vector<CollectiveMember> members;
  std::vector<Collective> collectives;  // sorted in order within an iteration
  std::optional<Straggler> straggler;
};

}  // namespace rocescope
