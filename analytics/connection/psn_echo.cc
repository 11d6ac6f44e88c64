// SPDX-License-Identifier: BSD-3-Clause
#include "analytics/connection/psn_echo.h"

#include <algorithm>

#include "base/qpn.h"
#include "dataplane/wire/opcode.h"

namespace rocescope {
namespace {

// A request much older than those that responses usually follow was answered long ago. The slack is
// wide: a flow that trails the right one by nearly a round trip must not push it out.
constexpr int kAgeMemory = 8;
constexpr int kAgeSlack = 32;
constexpr Duration kAgeAllowance = std::chrono::microseconds(200);

// Responses that repeat a request's own PSN; later packets of a READ response have PSNs that the
// request reserved but no packet carried.
bool RepeatsRequest(const SightingRecord& record) {
  return record.kind == SightingKind::kAcknowledge ||
         (record.kind == SightingKind::kResponse && wire::InfoOf(record.opcode).starts);
}

// What hosts start from: Linux 64, others 128 or 255.
bool IsInitial(uint8_t ttl) { return ttl == 64 || ttl == 128 || ttl == 255; }

}  // namespace

// Requests that a responder may name in an acknowledgement or answer.
void PsnEcho::AddRequest(const FlowStore& store, const FlowAtTap& at_tap,
                         const SightingRecord& record) {
  if (!record.ack_request && !wire::InfoOf(record.opcode).ends) return;
  requests_.Insert(at_tap.channel, record.psn, store.IndexOf(at_tap), record.event_time);
}

void PsnEcho::AddResponse(const FlowStore& store, FlowAtTap& at_tap, const SightingRecord& record) {
  if (!RepeatsRequest(record) || store.requesters(at_tap.reverse_channel) == 0) return;
  if (at_tap.responded && PsnDistance(at_tap.furthest_response, record.psn) <= 0) return;
  at_tap.responded = true;
  at_tap.furthest_response = record.psn;
  RequestIndex::Matches matches;
  requests_.Find(at_tap.reverse_channel, record.psn, record.event_time, matches);
  if (matches.size == RequestIndex::kWays) {
    ++responses_tied_;  // more may have been pushed out
    return;
  }
  if (at_tap.trials == 0) at_tap.first_trial = record.event_time;
  ++at_tap.trials;
  if (matches.size == 0) return;
  Duration youngest = matches.items[0].age;
  for (size_t i = 1; i < matches.size; ++i) youngest = std::min(youngest, matches.items[i].age);
  const bool first = at_tap.usual_age == Duration{};
  at_tap.usual_age += first ? youngest : (youngest - at_tap.usual_age) / kAgeMemory;
  const Duration oldest =
      first ? maximum_response_time_ : at_tap.usual_age * kAgeSlack + kAgeAllowance;
  const RequestIndex::Match* first_come = nullptr;
  bool ordered = at_tap.near_source.value_or(false);
  for (size_t i = 0; i < matches.size; ++i) {
    const RequestIndex::Match& match = matches.items[i];
    if (match.age > oldest) continue;
    // The request was forwarded before, and the response never was.
    ordered |=
        !at_tap.near_source && IsInitial(record.ttl) && record.ttl > store.at_tap(match.owner).ttl;
    if (first_come == nullptr || match.age > first_come->age) first_come = &match;
  }
  if (ordered && first_come != nullptr) {
    ++at_tap.ordered;
    CountHit(store, at_tap, *first_come, record);
    requests_.Take(*first_come);
    return;
  }
  for (size_t i = 0; i < matches.size; ++i) {
    if (matches.items[i].age <= oldest) CountHit(store, at_tap, matches.items[i], record);
  }
}

void PsnEcho::CountHit(const FlowStore& store, FlowAtTap& at_tap, const RequestIndex::Match& match,
                       const SightingRecord& record) {
  const FlowAtTap& from = store.at_tap(match.owner);
  for (size_t i = 0; i < at_tap.candidate_count; ++i) {
    if (at_tap.candidates[i].requester != from.version) continue;
    ++at_tap.candidates[i].hits;
    return;
  }
  EchoCandidate* weakest = nullptr;
  if (at_tap.candidate_count < FlowAtTap::kCandidates) {
    weakest = &at_tap.candidates[at_tap.candidate_count++];
  } else {
    uint32_t fewest = UINT32_MAX;
    for (EchoCandidate& candidate : at_tap.candidates) {
      const uint32_t hits = store.IsCurrent(candidate.requester) ? candidate.hits : 0;
      if (weakest != nullptr && hits >= fewest) continue;
      weakest = &candidate;
      fewest = hits;
    }
    candidates_dropped_ += fewest > 0;
  }
  *weakest = {.requester = from.version,
              .hits = 1,
              .trials_before = from.first_request > at_tap.first_trial ? at_tap.trials - 1 : 0,
              .psn = record.psn,
              .age_us = static_cast<uint32_t>(
                  std::chrono::round<std::chrono::microseconds>(match.age).count()),
              .response_time = record.event_time};
}

}  // namespace rocescope
