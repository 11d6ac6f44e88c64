// SPDX-License-Identifier: BSD-3-Clause
// Rows of the history: events, minutes of links and jobs, and past answers.
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
// Rows before 1970 or after this minute are not read: arithmetic with their times would overflow.
inline constexpr int64_t kLatestMinute = IntervalIndex(kLatestTime, kMinute);

struct PastEvent {
  int64_t at_ns = 0;
  std::string kind;
  std::string place;              // place of its finding; empty: no finding
  std::vector<std::string> jobs;  // ids of the affected jobs
  // Serialised v1.Event, without the cursor, which is valid in one process only.
  std::string message;
};
PastEvent ToPastEvent(const v1::Event& event);

// One direction of a link during one minute. Two rows of the same minute and port are added, so
// that a restarted appliance continues the minute.
struct LinkMinute {
  int64_t minute = 0;        // minutes since the epoch
  std::string port;          // sending port, NODE:PORT
  uint32_t windows = 0;      // analysis windows with data that started in the minute
  uint32_t use_windows = 0;  // windows with known utilisation
  double use_sum = 0;        // sum of the utilisation over these windows; each 0 to 1
  double use_most = 0;       // greatest utilisation in one window, 0 to 1
  uint64_t bytes = 0;        // this field and the following ones: as in LinkLoad
  uint64_t marked = 0;
  uint64_t dropped = 0;
  uint64_t paused_ns = 0;
  uint64_t peak_bytes = 0;
  uint64_t errors = 0;

  friend bool operator==(const LinkMinute&, const LinkMinute&) = default;
};

// A job during one minute. Two rows of the same minute and job are added.
struct JobMinute {
  int64_t minute = 0;          // minutes since the epoch
  std::string job;             // job id
  std::string name;            // job name in the scheduler; empty: unknown
  uint64_t allocation = 0;     // job number in the scheduler; 0: unknown
  uint32_t looks = 0;          // number of snapshots that contain the job
  uint64_t bytes = 0;          // payload bytes
  double iterations = 0;       // estimate: sending time divided by the period; see JobRollUp
  uint32_t period_looks = 0;   // number of snapshots with a known period
  uint64_t period_sum_ns = 0;  // sum of the period over these snapshots
  uint32_t findings = 0;       // greatest number of concurrent faults
  uint32_t service = 0;        // worst ServiceState

  friend bool operator==(const JobMinute&, const JobMinute&) = default;
};

// Parts of the answers of a snapshot. The numbers are stored.
enum class AnswerPart : uint8_t {
  kJobs = 1,           // v1.ListJobsResponse
  kJob = 2,            // v1.GetJobResponse, one for each job
  kHotspots = 3,       // v1.ListHotspotsResponse
  kFindings = 4,       // v1.ListFindingsResponse
  kAnomalies = 5,      // v1.ListAnomaliesResponse
  kServiceLevels = 6,  // v1.ListServiceLevelsResponse
};

// A part of the answers of a snapshot.
struct PastAnswer {
  AnswerPart part = AnswerPart::kJobs;
  std::string name;   // job id; empty: the part has one answer
  int64_t at_ns = 0;  // latest event time that the snapshot covers
  // Hash of the message without the fields that change with every snapshot. An answer with the hash
  // of the previous one is not stored again.
  uint64_t content = 0;
  std::string message;  // serialised response with all elements
};

using HistoryRow = std::variant<PastEvent, LinkMinute, JobMinute, PastAnswer>;

// Returns the approximate size in memory, in bytes.
size_t BytesOf(const HistoryRow& row);

}  // namespace rocescope
