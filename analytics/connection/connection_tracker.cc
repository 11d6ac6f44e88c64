// SPDX-License-Identifier: BSD-3-Clause
#include "analytics/connection/connection_tracker.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "analytics/connection/pair_answer.h"
#include "dataplane/wire/opcode.h"

namespace rocescope {
namespace {

constexpr size_t kMaximumUsers = 32;             // flows remembered as users of one flow's grants
constexpr int32_t kWrapNeighbourhood = 1 << 20;  // PSN 0 this near ahead is a wrap
// A tap that lost its mirror for a while sees a jump as a restart does; a quarter of the PSN circle
// ahead is taken for the former.
constexpr int32_t kShortestGap = 1 << 16;
constexpr int32_t kLongestGap = 1 << 22;
// A request much older than those that responses usually follow was answered long ago. The slack is
// wide: a flow that trails the right one by nearly a round trip must not push it out.
constexpr int kAgeMemory = 8;
constexpr int kAgeSlack = 32;
constexpr Duration kAgeAllowance = std::chrono::microseconds(200);
constexpr int kPartnerRestartPatience = 60;  // in restart spacings

bool CarriesConnection(const FlowKey& key) { return key.destination_qpn > kManagementQpn; }

// Requests that a responder may name in an acknowledgement or answer.
bool CallsForResponse(const SightingRecord& record, const wire::OpcodeInfo& info) {
  return record.ack_request || info.ends;
}

// Responses that repeat a request's own PSN; later packets of a READ response have PSNs that the
// request reserved but no packet carried.
bool RepeatsRequest(const SightingRecord& record, const wire::OpcodeInfo& info) {
  return record.kind == SightingKind::kAcknowledge ||
         (record.kind == SightingKind::kResponse && info.starts);
}

Duration Apart(Timestamp a, Timestamp b) { return a < b ? b - a : a - b; }

}  // namespace

size_t ConnectionTracker::RequestKeyHash::operator()(const RequestKey& key) const {
  return HashUnorderedPair(key.requester, key.replier, uint64_t{key.segment} << 32 | key.comm_id);
}

ConnectionTracker::ConnectionTracker(const ConnectionOptions& options)
    : options_(options),
      store_(options.limits),
      requests_(options.request_sets, options.maximum_response_time) {}

void ConnectionTracker::Add(const RecordBatch& batch) {
  // A CM exchange comes before the packets of its connection, a disconnect after them.
  auto management = batch.management.begin();
  for (const SightingRecord& sighting : batch.sightings) {
    while (management != batch.management.end() && management->event_time <= sighting.event_time) {
      Add(*management++);
    }
    Add(sighting);
  }
  while (management != batch.management.end()) Add(*management++);
  for (const FlowRecord& flow : batch.flows) Add(flow);
}

// The flow with its times brought up to date; kNoFlow if it is to be ignored.
uint32_t ConnectionTracker::Touch(const FlowKey& key, Timestamp time, uint32_t hint) {
  const uint32_t number = store_.FindOrAdd(key, hint);
  if (number == kNoFlow) return kNoFlow;
  FlowState& state = store_.flow(number);
  if (state.disconnected) {
    if (time < *state.disconnected + options_.disconnect_grace) return kNoFlow;
    state.disconnected.reset();
  }
  if (!state.active) {
    state.active = true;
    state.first_seen = time;
    state.last_seen = time;
  }
  state.last_seen = std::max(state.last_seen, time);
  HostPair& pair = store_.pair(state.pair);
  pair.last_seen = std::max(pair.last_seen, time);
  return number;
}

void ConnectionTracker::Add(const FlowRecord& record) {
  const auto count = [&](OperationClass c) {
    return uint64_t{record.class_packets[static_cast<size_t>(c)]};
  };
  if (!CarriesConnection(record.flow) ||
      (record.packets > 0 && count(OperationClass::kDatagram) == record.packets)) {
    statistics_.datagrams += record.packets;
    return;
  }
  uint32_t number = Touch(record.flow, record.last_seen, record.hint);
  if (number == kNoFlow) return;
  if (RestartsIn(number, record)) {
    Restart(number, record.interval_start);
    number = Touch(record.flow, record.last_seen, record.hint);
    if (number == kNoFlow) return;
  }
  FlowState& state = store_.flow(number);
  if (!state.restarted || record.first_seen >= state.last_restart) {
    state.first_seen = std::min(state.first_seen, record.first_seen);
    if (record.began && !state.began) state.began = record.first_seen;
  }
}

// Whether the record tells of a new incarnation that is not known yet.
bool ConnectionTracker::RestartsIn(uint32_t number, const FlowRecord& record) {
  FlowAtTap* const at_tap = store_.AtTap(number, record.tap);
  if (at_tap == nullptr || !record.requests.valid) return false;
  if (!at_tap->psn_now || record.interval_start != at_tap->psn_interval) {
    at_tap->psn_before = at_tap->psn_now;
    at_tap->psn_interval = record.interval_start;
  }
  at_tap->psn_now = record.requests.last_psn;
  if (record.requests.restarts == 0) return false;
  const FlowState& state = store_.flow(number);
  if (state.restarted && state.last_restart >= record.interval_start) return false;
  if (!at_tap->psn_before) return true;
  const int32_t ahead = PsnDistance(*at_tap->psn_before, record.requests.last_psn);
  const bool mirror_gap = ahead > kShortestGap && ahead < kLongestGap;
  statistics_.restarts_ignored += mirror_gap;
  return !mirror_gap;
}

void ConnectionTracker::Add(const SightingRecord& record) {
  if (record.kind == SightingKind::kDatagram || !CarriesConnection(record.flow)) {
    ++statistics_.datagrams;
    return;
  }
  uint32_t number = Touch(record.flow, record.event_time, record.hint);
  if (number == kNoFlow) return;
  if (record.kind == SightingKind::kCnp || record.kind == SightingKind::kNak) return;
  if (record.kind == SightingKind::kRequest && BeginsAnew(store_.flow(number), record)) {
    Restart(number, record.event_time);
    number = Touch(record.flow, record.event_time, record.hint);
    if (number == kNoFlow) return;
  }
  FlowAtTap* const at_tap = store_.AtTap(number, record.tap);
  if (at_tap == nullptr) return;
  if (record.kind == SightingKind::kRequest) {
    AddRequest(number, *at_tap, record);
  } else if (RepeatsRequest(record, wire::InfoOf(record.opcode))) {
    AddResponse(*at_tap, record);
  }
}

void ConnectionTracker::AddRequest(uint32_t number, FlowAtTap& at_tap,
                                   const SightingRecord& record) {
  const wire::OpcodeInfo& info = wire::InfoOf(record.opcode);
  FlowState& state = store_.flow(number);
  if (info.transport == wire::Transport::kUc) state.transport = ConnectionTransport::kUnreliable;
  if (!state.requested || PsnDistance(state.last_request_psn, record.psn) > 0) {
    state.last_request_psn = record.psn;
  }
  state.requested = true;
  if (record.psn == 0 && info.starts) {
    if (!state.began) state.began = record.event_time;
    state.zero_seen = true;
    state.zero_address = record.reth_address;
    state.zero_rkey = record.reth_rkey;
  }
  if (!at_tap.sends_requests) {
    at_tap.sends_requests = true;
    at_tap.first_request = record.event_time;
    ++store_.requesters(at_tap.channel);
  }
  if (CallsForResponse(record, info)) {
    requests_.Insert(at_tap.channel, record.psn, store_.IndexOf(at_tap), record.event_time);
  }
  if (info.operation == wire::Operation::kWrite && (record.has_reth || record.has_clear_to_send)) {
    AddGrantAndUse(number, record);
  }
}

// NCCL starts each QP at PSN 0. PSN 0 with another target than the first time, and not where a wrap
// is due, is the first packet of the number's next owner.
bool ConnectionTracker::BeginsAnew(const FlowState& state, const SightingRecord& record) const {
  if (record.psn != 0 || !record.has_reth || !state.requested ||
      !wire::InfoOf(record.opcode).starts) {
    return false;
  }
  const int32_t ahead = PsnDistance(state.last_request_psn, 0);
  if (ahead > 0 && ahead <= kWrapNeighbourhood) return false;
  if (!state.zero_seen) return false;  // a late copy of the first packet that was seen
  return state.zero_rkey != record.reth_rkey || state.zero_address != record.reth_address;
}

void ConnectionTracker::AddResponse(FlowAtTap& at_tap, const SightingRecord& record) {
  if (store_.requesters(at_tap.reverse_channel) == 0) return;
  if (at_tap.responded && PsnDistance(at_tap.furthest_response, record.psn) <= 0) return;
  at_tap.responded = true;
  at_tap.furthest_response = record.psn;
  RequestIndex::Matches matches;
  requests_.Find(at_tap.reverse_channel, record.psn, record.event_time, matches);
  if (matches.size == RequestIndex::kWays) {
    ++statistics_.responses_tied;  // more may have been pushed out
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
      first ? options_.maximum_response_time : at_tap.usual_age * kAgeSlack + kAgeAllowance;
  for (size_t i = 0; i < matches.size; ++i) {
    if (matches.items[i].age <= oldest) CountHit(at_tap, matches.items[i], record);
  }
}

void ConnectionTracker::CountHit(FlowAtTap& at_tap, const RequestIndex::Match& match,
                                 const SightingRecord& record) {
  const FlowAtTap& requester = store_.at_tap(match.owner);
  EchoCandidate* weakest = nullptr;
  for (size_t i = 0; i < at_tap.candidate_count; ++i) {
    EchoCandidate& candidate = at_tap.candidates[i];
    if (candidate.flow == requester.flow) {
      ++candidate.hits;
      return;
    }
    if (weakest == nullptr || candidate.hits < weakest->hits) weakest = &candidate;
  }
  if (at_tap.candidate_count < FlowAtTap::kCandidates) {
    weakest = &at_tap.candidates[at_tap.candidate_count++];
  } else {
    ++statistics_.candidates_dropped;
  }
  *weakest = {.flow = requester.flow,
              .hits = 1,
              .trials_before = requester.first_request > at_tap.first_trial ? at_tap.trials - 1 : 0,
              .psn = record.psn,
              .request_time = record.event_time - match.age,
              .response_time = record.event_time};
}

void ConnectionTracker::AddGrantAndUse(uint32_t number, const SightingRecord& record) {
  const FlowState& state = store_.flow(number);
  HostPair& pair = store_.pair(state.pair);
  if (pair.IsLoopback()) return;
  if (record.has_clear_to_send) {
    std::unique_ptr<GrantRing>& ring = pair.grants[state.side];
    if (ring == nullptr) ring = std::make_unique<GrantRing>(options_.grants_per_direction);
    ring->Insert(record.granted_address, {.flow = number,
                                          .psn = record.psn,
                                          .words = record.granted_words,
                                          .time = record.event_time});
  }
  GrantRing* const grants = pair.grants[1 - state.side].get();
  if (grants == nullptr || !record.has_reth) return;
  const GrantRing::Lookup found =
      grants->Find(record.reth_address, record.reth_length, record.reth_rkey);
  if (found.grant == nullptr) return;
  if (found.ambiguous) {
    ++statistics_.grants_ambiguous;
    return;
  }
  Grant& grant = *found.grant;
  if (grant.used_by == number && grant.used_psn == record.psn) return;
  grant.used_by = number;
  grant.used_psn = record.psn;
  CountUse(grant.flow, {.flow = number,
                        .count = 1,
                        .tap = record.tap,
                        .address = record.reth_address,
                        .rkey = record.reth_rkey,
                        .granted = grant.time,
                        .used = record.event_time});
}

void ConnectionTracker::CountUse(uint32_t granter, const GrantUse& use) {
  std::vector<GrantUse>& uses = store_.flow(granter).uses;
  for (GrantUse& known : uses) {
    if (known.flow != use.flow) continue;
    ++known.count;
    return;
  }
  if (uses.size() < kMaximumUsers) {
    uses.push_back(use);
  } else {
    ++statistics_.candidates_dropped;
  }
}

void ConnectionTracker::AddKnown(const KnownPair& pair) {
  if (!pair.a.qpn || !pair.b.qpn) return;
  const uint32_t to_b = store_.FindOrAdd({.source = pair.a.address,
                                          .destination = pair.b.address,
                                          .destination_qpn = *pair.b.qpn,
                                          .segment = pair.b.segment});
  const uint32_t to_a = store_.FindOrAdd({.source = pair.b.address,
                                          .destination = pair.a.address,
                                          .destination_qpn = *pair.a.qpn,
                                          .segment = pair.a.segment});
  if (to_a == kNoFlow || to_b == kNoFlow || pair.a.segment != pair.b.segment) return;
  for (const auto& [own, partner] : {std::pair(to_a, to_b), std::pair(to_b, to_a)}) {
    std::vector<KnownLink>& links = store_.flow(own).known;
    const bool told = std::any_of(links.begin(), links.end(), [&, p = partner](const KnownLink& l) {
      return l.partner == p && l.source == pair.source;
    });
    if (!told && links.size() < kMaximumUsers) {
      links.push_back({.partner = partner, .source = pair.source, .valid_from = pair.valid_from});
    }
  }
}

void ConnectionTracker::Add(const ManagementRecord& record) {
  const wire::CmMessage& message = record.message;
  switch (message.attribute) {
    case wire::CmAttribute::kConnectRequest: {
      const RequestKey key{.segment = record.segment,
                           .requester = record.source,
                           .replier = record.destination,
                           .comm_id = message.local_comm_id};
      const bool is_new =
          pending_.insert_or_assign(key, PendingRequest{message.local_qpn, record.event_time})
              .second;
      if (!is_new) return;
      pending_order_.push_back(key);
      if (pending_order_.size() > options_.pending_management) {
        statistics_.management_unmatched += pending_.erase(pending_order_.front());
        pending_order_.pop_front();
      }
      return;
    }
    case wire::CmAttribute::kConnectReply:
      return Reply(record);
    case wire::CmAttribute::kDisconnectRequest:
      return Disconnect(record);
    default:
      return;
  }
}

void ConnectionTracker::Reply(const ManagementRecord& record) {
  const wire::CmMessage& message = record.message;
  const auto pending = pending_.find({.segment = record.segment,
                                      .requester = record.destination,
                                      .replier = record.source,
                                      .comm_id = message.remote_comm_id});
  if (pending == pending_.end()) {
    ++statistics_.management_unmatched;
    return;
  }
  const PendingRequest request = pending->second;
  const uint32_t to_replier = store_.FindOrAdd({.source = record.destination,
                                                .destination = record.source,
                                                .destination_qpn = message.local_qpn,
                                                .segment = record.segment});
  const uint32_t to_requester = store_.FindOrAdd({.source = record.source,
                                                  .destination = record.destination,
                                                  .destination_qpn = request.qpn,
                                                  .segment = record.segment});
  if (to_replier == kNoFlow || to_requester == kNoFlow) return;
  const ManagementLink& old = store_.flow(to_replier).management;
  if (old.partner == to_requester && old.comm_ids[0] == message.remote_comm_id &&
      old.comm_ids[1] == message.local_comm_id) {
    return;  // another tap's copy, or a repeated reply
  }
  for (const uint32_t number : {to_replier, to_requester}) {
    const FlowState& state = store_.flow(number);
    // Packets that came with this exchange are its own, whatever order the records have.
    const bool older = state.active && state.first_seen + options_.restart_spacing < request.time;
    if (older || state.management.partner != kNoFlow) Close(number, request.time);
    store_.flow(number).disconnected.reset();
  }
  for (const auto& [own, partner] :
       {std::pair(to_replier, to_requester), std::pair(to_requester, to_replier)}) {
    FlowState& state = store_.flow(own);
    state.management = {.partner = partner,
                        .tap = record.tap,
                        .request = request.time,
                        .reply = record.event_time,
                        .comm_ids = {message.remote_comm_id, message.local_comm_id}};
    state.last_seen = std::max(state.last_seen, record.event_time);
    HostPair& pair = store_.pair(state.pair);
    pair.last_seen = std::max(pair.last_seen, record.event_time);
  }
}

void ConnectionTracker::Disconnect(const ManagementRecord& record) {
  const uint32_t number = store_.Find({.source = record.source,
                                       .destination = record.destination,
                                       .destination_qpn = record.message.remote_qpn,
                                       .segment = record.segment});
  if (number == kNoFlow) {
    ++statistics_.management_unmatched;
    return;
  }
  const FlowState& state = store_.flow(number);
  // The other side's request, a repetition or another tap's copy finds the connection closed.
  if (!state.active && state.management.partner == kNoFlow) return;
  const uint32_t partner = state.management.partner;
  Close(number, record.event_time);
  store_.flow(number).disconnected = record.event_time;
  if (partner != kNoFlow) store_.flow(partner).disconnected = record.event_time;
}

void ConnectionTracker::Restart(uint32_t number, Timestamp time) {
  FlowState& state = store_.flow(number);
  const bool bunched =
      state.restarted && Apart(time, state.last_restart) < options_.restart_spacing;
  const bool announced =
      state.partner_restarted &&
      Apart(time, state.last_restart) < kPartnerRestartPatience * options_.restart_spacing;
  if (bunched || announced) {
    state.partner_restarted = false;
    ++statistics_.restarts_ignored;
    return;
  }
  Close(number, time);
  FlowState& closed = store_.flow(number);
  closed.restarted = true;
  closed.partner_restarted = false;
  closed.last_restart = time;
  ++statistics_.restarts;
}

void ConnectionTracker::Close(uint32_t number, Timestamp time) {
  uint32_t partner = kNoFlow;
  for (PairConnection& found : AnswerPair(store_, store_.flow(number).pair)) {
    if (found.flows[0] != number && found.flows[1] != number) continue;
    found.connection.valid_until = time;
    partner = found.flows[found.flows[0] == number ? 1 : 0];  // kNoFlow unless paired
    KeepClosed(std::move(found.connection));
    break;
  }
  cuts_.push_back({.flow = store_.flow(number).key, .time = time});
  store_.Reset(number);
  if (partner == kNoFlow || partner == number) return;
  cuts_.push_back({.flow = store_.flow(partner).key, .time = time});
  store_.Reset(partner);
  FlowState& state = store_.flow(partner);
  state.restarted = true;
  state.partner_restarted = true;
  state.last_restart = time;
}

void ConnectionTracker::KeepClosed(Connection connection) {
  connection.stripe_group = 0;  // the numbers of another answer
  closed_.push_back(std::move(connection));
  if (closed_.size() > options_.closed_connections) {
    closed_.pop_front();
    ++statistics_.closed_dropped;
  }
}

void ConnectionTracker::Advance(Timestamp now) {
  if (last_sweep_ && now < *last_sweep_ + options_.forget_after / 8) return;
  last_sweep_ = now;
  for (uint32_t number = 0; number < store_.pair_slots(); ++number) {
    const HostPair& pair = store_.pair(number);
    const bool used = !pair.flows[0].empty() || !pair.flows[1].empty();
    // A pair known from outside only has no time yet: it waits for its traffic.
    if (!used || pair.last_seen == Timestamp{} || pair.last_seen + options_.forget_after >= now) {
      continue;
    }
    for (const auto& grants : pair.grants) {
      if (grants != nullptr) grants_dropped_ += grants->dropped();
    }
    for (const std::vector<uint32_t>& side : pair.flows) {
      for (const uint32_t flow : side) {
        cuts_.push_back({.flow = store_.flow(flow).key, .time = now});
      }
    }
    store_.Free(number);
    ++statistics_.pairs_expired;
  }
}

std::vector<Connection> ConnectionTracker::Connections() const {
  std::vector<Connection> all(closed_.begin(), closed_.end());
  for (uint32_t number = 0; number < store_.pair_slots(); ++number) {
    for (PairConnection& found : AnswerPair(store_, number)) {
      all.push_back(std::move(found.connection));
    }
  }
  std::sort(all.begin(), all.end(), [](const Connection& a, const Connection& b) {
    return std::tie(a.endpoints, a.valid_from, a.last_seen, a.valid_until) <
           std::tie(b.endpoints, b.valid_from, b.last_seen, b.valid_until);
  });
  // Number the groups in the order of the answer, whatever order the flows were met in.
  std::unordered_map<uint32_t, uint32_t> numbers;
  for (Connection& connection : all) {
    if (connection.stripe_group == 0) continue;
    connection.stripe_group =
        numbers.try_emplace(connection.stripe_group, static_cast<uint32_t>(numbers.size() + 1))
            .first->second;
  }
  return all;
}

ConnectionStatistics ConnectionTracker::Statistics() const {
  ConnectionStatistics statistics = statistics_;
  statistics.flows_refused = store_.refused();
  statistics.requests_evicted = requests_.evicted();
  statistics.grants_dropped = grants_dropped_;
  for (uint32_t number = 0; number < store_.pair_slots(); ++number) {
    for (const auto& grants : store_.pair(number).grants) {
      if (grants != nullptr) statistics.grants_dropped += grants->dropped();
    }
  }
  return statistics;
}

}  // namespace rocescope
