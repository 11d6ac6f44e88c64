// SPDX-License-Identifier: BSD-3-Clause
// PSN echo: a response repeats the PSN of a request of its partner that the same tap observed and
// that is still outstanding. For each responding flow, this class counts how many of its responses
// match the requests of each possible partner.
//
// Queue pairs in lock step have the same PSNs outstanding. At the responder's own switch, packet
// order distinguishes them: all requests to a NIC pass there one after the other, the NIC answers
// them in that order, and the switch preserves the order from port to port. At this switch,
// responses with the same PSN are collected (answer_groups.h) and assigned to the requests in
// order.
#pragma once

#include <cstdint>
#include <vector>

#include "analytics/connection/answer_groups.h"
#include "analytics/connection/flow_store.h"
#include "analytics/connection/request_index.h"
#include "dataplane/record/record.h"

namespace rocescope {

class PsnEcho {
 public:
  // See RequestIndex.
  PsnEcho(size_t request_sets, Duration maximum_response_time)
      : requests_(request_sets, maximum_response_time),
        maximum_response_time_(maximum_response_time) {}

  void AddRequest(const FlowStore& store, const FlowAtTap& at_tap, const ObservationRecord& record);
  void AddResponse(const FlowStore& store, FlowAtTap& at_tap, const ObservationRecord& record);
  // Counts the collected responses that are complete at `now`.
  void Settle(FlowStore& store, Timestamp now);

  uint64_t requests_evicted() const { return requests_.evicted(); }
  uint64_t responses_tied() const { return responses_tied_; }
  uint64_t candidates_dropped() const { return candidates_dropped_; }

 private:
  void CountHit(const FlowStore& store, FlowAtTap& at_tap, const RequestIndex::Match& match,
                uint32_t psn, Timestamp response_time);
  // Whether the sender of the request still exists. A forgotten flow's slot may be reused by
  // another flow.
  static bool IsStillThere(const FlowStore& store, const FlowAtTap& at_tap,
                           const RequestIndex::Match& match, Timestamp response_time);
  static bool IsInOrder(const FlowStore& store, const FlowAtTap& at_tap,
                        const ObservationRecord& record, const RequestIndex::Matches& matches);
  void CloseGroup(FlowStore& store, AnswerGroup& group);

  RequestIndex requests_;
  AnswerGroups groups_;
  std::vector<AnswerGroup> pending_;  // complete, not yet counted
  Duration maximum_response_time_;
  uint64_t responses_tied_ = 0;
  uint64_t candidates_dropped_ = 0;
};

}  // namespace rocescope
