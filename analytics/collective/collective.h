// SPDX-License-Identifier: BSD-3-Clause
// What a job does again and again, as the wire shows it: nobody has to say which library it uses.
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

// By who sends to whom, and in which order.
enum class CollectiveKind : uint8_t {
  kUnknown,
  kRing,
  kTree,
  kAllToAll,
  kHalvingDoubling,
  kPipeline,
};

// A NIC that takes part.
struct CollectiveMember {
  Segment segment = 0;  // tenants have the same addresses
  IpAddress address;
  std::string host;    // the address itself if nobody names its host
  std::string device;  // "mlx5_0"; empty: not known
};

// One step of an iteration.
struct Collective {
  CollectiveKind kind = CollectiveKind::kUnknown;
  // Two members of a ring do what two do that halve and double: then that one.
  std::optional<CollectiveKind> alternative;
  double confidence = 0;
  // Indices into JobIterationPattern::members; each group does the same by itself. NICs of one host may stand
  // for each other: what goes over NVLink is not seen.
  std::vector<std::vector<uint32_t>> groups;
  Duration offset{};    // of its beginning, from the iteration's
  Duration duration{};  // until its last packet
  uint64_t bytes = 0;   // an iteration, of all groups
};

// The member that entered last, and late, in one iteration after the other.
struct Straggler {
  uint32_t member = 0;
  uint32_t iterations = 0;  // that it entered so
  uint32_t of = 0;          // from the first of them to the last
  Duration lateness{};      // behind the median of the others, the median over those iterations
  Timestamp from;           // the first one's beginning
  Timestamp until;          // the last one's end
  double confidence = 0;
  // Other NICs of its host that were waited for meanwhile: what is late may be behind any of them.
  std::vector<uint32_t> alternative;
};

// As the fastest part of the job has it, within a stretch of the time line that activity is kept
// on.
struct IterationSpan {
  Timestamp begin;
  Timestamp end;       // the next one's beginning
  Duration sending{};  // time in it with anything being sent, by the part of the job that took most

  friend bool operator==(const IterationSpan&, const IterationSpan&) = default;
};
inline constexpr size_t kMaxIterationSpans = 256;

struct JobIterationPattern {
  uint32_t job = 0;  // index into Attribution::jobs
  Duration period{};
  double strength = 0;               // 0 to 1: how alike iterations are
  uint32_t iterations = 0;           // seen from beginning to end
  Timestamp first;                   // the first one's beginning
  Timestamp last;                    // the end of the last whole one
  std::vector<IterationSpan> spans;  // of the last kMaxIterationSpans, ascending
  std::vector<CollectiveMember> members;
  std::vector<Collective> collectives;  // in their order within an iteration
  std::optional<Straggler> straggler;
};

}  // namespace rocescope
