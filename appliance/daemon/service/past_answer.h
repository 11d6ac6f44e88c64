// SPDX-License-Identifier: BSD-3-Clause
// Past answers: what the history stores of a snapshot, and how calls read it.
#pragma once

#include <google/protobuf/timestamp.pb.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "appliance/api/message_value.h"
#include "appliance/daemon/history/history_store.h"
#include "appliance/daemon/service/answer_view.h"
#include "appliance/daemon/service/service_error.h"

namespace rocescope {

// Returns all parts of the snapshot: each is the response of a list call with all elements, or of
// GetJob.
std::vector<PastAnswer> PastAnswersOf(const AnswerView& answer);

// Returns the error for times without stored data. `oldest` and `newest` are the ends of the stored
// range; both 0: nothing is stored.
ServiceError NoDataAt(const google::protobuf::Timestamp& at_time, int64_t oldest, int64_t newest);

// Returns the error for a history that cannot be read.
ServiceError UnreadableHistory(const Error& error, std::string_view advice);

struct PastQuery {
  AnswerPart part = AnswerPart::kJobs;
  std::string name;  // job id; empty: the part has one answer
  google::protobuf::Timestamp at_time;
  uint64_t version = 0;  // version of the first page; 0: this is the first page
};

ServiceResult<FoundAnswer> FindPast(const HistoryStore& history, const PastQuery& query);

// Reads a past answer and sets its data time. Returns its version, for page tokens.
template <typename Response>
ServiceResult<uint64_t> ReadPast(const HistoryStore& history, const PastQuery& query,
                                 Response& out) {
  const auto found = FindPast(history, query);
  if (!found) return tl::unexpected(found.error());
  if (!out.ParseFromString(found->message)) {
    history.ReportDamage("a past answer is not a valid message");
    return tl::unexpected(NoDataAt(query.at_time, 0, 0));
  }
  *out.mutable_snapshot()->mutable_data_time() = TimestampMessage(found->data_ns);
  return static_cast<uint64_t>(found->version);
}

}  // namespace rocescope
