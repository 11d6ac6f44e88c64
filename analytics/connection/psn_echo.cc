// SPDX-License-Identifier: BSD-3-Clause
#include "analytics/connection/psn_echo.h"

#include <algorithm>
#include <span>

#include "base/qpn.h"
#include "dataplane/wire/opcode.h"

namespace rocescope {
namespace {

// A request much older than usual for responses was answered long ago. The allowance is wide, so
// that a flow that trails the right one by almost a round trip does not displace it.
constexpr int kAgeMemory = 8;
constexpr int kAgeSlack = 32;
constexpr Duration kAgeAllowance = std::chrono::microseconds(200);

// Responses that repeat a request's own PSN. Later packets of a READ response have PSNs that the
// request reserved but no request packet carried.
bool RepeatsRequest(const ObservationRecord& record) {
  return record.kind == ObservationKind::kAcknowledge ||
         (record.kind == ObservationKind::kResponse && wire::InfoOf(record.opcode).starts);
}

// Initial TTLs of hosts: 64 on Linux, 128 or 255 on others.
bool IsInitial(uint8_t ttl) { return ttl == 64 || ttl == 128 || ttl == 255; }

// A stable sort without the memory allocation of std::stable_sort.
template <typename T, typename Less>
void SortFew(std::span<T> items, Less less) {
  for (auto at = items.begin(); at != items.end(); ++at) {
    std::rotate(std::upper_bound(items.begin(), at, *at, less), at, std::next(at));
  }
}

}  // namespace

// Adds requests that a responder may acknowledge or answer.
void PsnEcho::AddRequest(const FlowStore& store, const FlowAtTap& at_tap,
                         const ObservationRecord& record) {
  if (!record.ack_request && !wire::InfoOf(record.opcode).ends) return;
  requests_.Insert(at_tap.channel, record.psn, store.IndexOf(at_tap), record.event_time);
}

void PsnEcho::AddResponse(const FlowStore& store, FlowAtTap& at_tap,
                          const ObservationRecord& record) {
  if (!RepeatsRequest(record) || store.requesters(at_tap.reverse_channel) == 0) return;
  if (at_tap.responded && PsnDistance(at_tap.furthest_response, record.psn) <= 0) return;
  at_tap.responded = true;
  at_tap.furthest_response = record.psn;
  RequestIndex::Matches matches;
  requests_.Find(at_tap.reverse_channel, record.psn, record.event_time, matches);
  if (matches.size == RequestIndex::kPaths) {
    ++responses_tied_;  // others may have been evicted
    return;
  }
  if (at_tap.trials == 0 && at_tap.ordered == 0) at_tap.first_trial = record.event_time;
  if (IsInOrder(store, at_tap, record, matches)) {
    ++at_tap.ordered;
    groups_.Add(
        at_tap.reverse_channel, record.psn,
        {.responder = store.IndexOf(at_tap), .version = at_tap.version, .time = record.event_time},
        [&](AnswerGroup& group) { pending_.push_back(group); });
    return;
  }
  ++at_tap.trials;
  if (matches.size == 0) return;
  Duration youngest = matches.items[0].age;
  for (size_t i = 1; i < matches.size; ++i) youngest = std::min(youngest, matches.items[i].age);
  const bool first = at_tap.usual_age == Duration{};
  at_tap.usual_age += first ? youngest : (youngest - at_tap.usual_age) / kAgeMemory;
  const Duration oldest =
      first ? maximum_response_time_ : at_tap.usual_age * kAgeSlack + kAgeAllowance;
  for (size_t i = 0; i < matches.size; ++i) {
    const RequestIndex::Match& match = matches.items[i];
    if (match.age <= oldest) CountHit(store, at_tap, match, record.psn, record.event_time);
  }
}

bool PsnEcho::IsStillThere(const FlowStore& store, const FlowAtTap& at_tap,
                           const RequestIndex::Match& match, Timestamp response_time) {
  const FlowAtTap& from = store.at_tap(match.owner);
  return from.version.flow != kNoFlow && from.channel == at_tap.reverse_channel &&
         from.first_request <= response_time - match.age + 2 * RequestIndex::kTick;
}

// Whether the switch observes requests to the responder in the order in which they are answered.
bool PsnEcho::IsInOrder(const FlowStore& store, const FlowAtTap& at_tap,
                        const ObservationRecord& record, const RequestIndex::Matches& matches) {
  if (at_tap.near_source) return *at_tap.near_source;
  // The requests were forwarded here before, and the response was not.
  if (matches.size == 0) return at_tap.ordered > 0;
  return IsInitial(record.ttl) &&
         std::any_of(matches.items.begin(), matches.items.begin() + matches.size,
                     [&](const RequestIndex::Match& match) {
                       return IsStillThere(store, at_tap, match, record.event_time) &&
                              store.at_tap(match.owner).ttl < record.ttl;
                     });
}

void PsnEcho::Settle(FlowStore& store, Timestamp now) {
  groups_.Settle(now, [&](AnswerGroup& group) { pending_.push_back(group); });
  for (AnswerGroup& group : pending_) CloseGroup(store, group);
  pending_.clear();
}

// Without a request there is nothing to answer. If the numbers differ, the mirror lost some
// packets, and the order is unknown.
void PsnEcho::CloseGroup(FlowStore& store, AnswerGroup& group) {
  const auto responses = std::span(group.responses).first(group.size);
  SortFew(responses, [](const auto& x, const auto& y) { return x.time < y.time; });
  RequestIndex::Matches matches;
  requests_.Find(group.channel, group.psn, responses.back().time, matches);
  const auto requests = std::span(matches.items).first(matches.size);
  if (!requests.empty() && requests.size() != responses.size()) return;
  SortFew(requests, [](const auto& x, const auto& y) { return x.age > y.age; });
  for (size_t i = 0; i < responses.size(); ++i) {
    FlowAtTap& responder = store.at_tap(responses[i].responder);
    if (responder.version != responses[i].version) continue;
    ++responder.trials;
    store.MarkChanged(store.flow(responder.version.flow).pair);
    if (requests.empty()) continue;
    CountHit(store, responder, requests[i], group.psn, responses[i].time);
    requests_.Take(requests[i]);
  }
}

void PsnEcho::CountHit(const FlowStore& store, FlowAtTap& at_tap, const RequestIndex::Match& match,
                       uint32_t psn, Timestamp response_time) {
  const FlowAtTap& from = store.at_tap(match.owner);
  if (!IsStillThere(store, at_tap, match, response_time)) return;
  for (size_t i = 0; i < at_tap.candidates.size(); ++i) {
    if (at_tap.candidates[i].requester != from.version) continue;
    ++at_tap.candidates[i].hits;
    return;
  }
  EchoCandidate* weakest = nullptr;
  if (at_tap.candidates.size() < FlowAtTap::kCandidates) {
    weakest = &at_tap.candidates.emplace_back();
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
              .psn = psn,
              .age_us = static_cast<uint32_t>(
                  std::chrono::round<std::chrono::microseconds>(match.age).count()),
              .response_time = response_time};
}

}  // namespace rocescope
