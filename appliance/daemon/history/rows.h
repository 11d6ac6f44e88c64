// SPDX-License-Identifier: BSD-3-Clause
// What is kept: events as they were told, and minutes of links and jobs.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "base/time.h"

namespace rocescope {

namespace v1 {
class Event;
}

inline constexpr Duration kMinute = std::chrono::minutes(1);

struct PastEvent {
  int64_t at_ns = 0;
  std::string kind;
  std::string place;              // of its finding; empty: it has none
  std::vector<std::string> jobs;  // ids of those that it hurts
  std::string message;            // v1.Event, encoded; without a cursor, which is of a box's life
};
PastEvent ToPastEvent(const v1::Event& event);

// One direction of a link. Two rows of the same minute and port add up to one, so that a box that
// begins anew within a minute goes on with it.
struct LinkMinute {
  int64_t minute = 0;        // since the epoch
  std::string port;          // NODE:PORT that sends
  uint32_t windows = 0;      // of analysis that began in the minute and of which something is known
  uint32_t use_windows = 0;  // of them those whose use is known
  double use_sum = 0;        // over these; each 0 to 1
  double use_most = 0;
  uint64_t bytes = 0;  // this and what follows: as in LinkLoad
  uint64_t marked = 0;
  uint64_t dropped = 0;
  uint64_t paused_ns = 0;
  uint64_t peak_bytes = 0;
  uint64_t errors = 0;

  friend bool operator==(const LinkMinute&, const LinkMinute&) = default;
};

// Likewise.
struct JobMinute {
  int64_t minute = 0;
  std::string job;             // id
  std::string name;            // the scheduler's; empty: not known
  uint64_t allocation = 0;     // the scheduler's number; 0: not known
  uint32_t looks = 0;          // at it, that is answers
  uint64_t bytes = 0;          // of payload
  double iterations = 0;       // of the time in which it sent, by its period: see RollUp
  uint32_t period_looks = 0;   // that knew its period,
  uint64_t period_sum_ns = 0;  // the sum over these
  uint32_t findings = 0;       // most at a time
  uint32_t service = 0;        // worst; a ServiceState

  friend bool operator==(const JobMinute&, const JobMinute&) = default;
};

using HistoryRow = std::variant<PastEvent, LinkMinute, JobMinute>;

// In memory, about.
size_t BytesOf(const HistoryRow& row);

}  // namespace rocescope
