// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/daemon/intake/agent_intake.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "base/utf8.h"
#include "rocescope/v1/agent.pb.h"

namespace rocescope {
namespace {

constexpr size_t kMaxProblems = 20;
constexpr size_t kLongestProblem = 256;
constexpr Duration kShortestSilence = std::chrono::seconds(60);
constexpr Duration kGoneAfter = std::chrono::hours(1);

std::string Lower(std::string_view text) {
  std::string lower(text);
  std::ranges::transform(lower, lower.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  return lower;
}

// Ignores case.
bool IsSameText(std::string_view a, std::string_view b) {
  return a.size() == b.size() && Lower(a) == Lower(b);
}

double SecondsOf(Duration duration) { return static_cast<double>(duration.count()) / 1e9; }

}  // namespace

struct AgentIntake::Agent {
  AgentState state;
  bool has_heartbeat = false;  // in the current session
  std::string account;
  bool is_expected = false;
  uint64_t session = 0;       // 0: its data is no longer valid
  bool silent = false;        // the reader was notified
  uint64_t last_session = 0;  // the previous session
  // When the previous session came back: two agents use the same host name.
  std::optional<Timestamp> in_turns;
  std::string alternatives;  // "PEER and PEER"
  uint64_t taken = 0;
  uint64_t connection = 0;  // 0: none
};

// Caps each session's counts, so that the sum over all agents is exact as a double.
uint64_t Believable(uint64_t count) { return std::min(count, uint64_t{1} << 40); }

AgentIntake::AgentIntake(const AgentsConfig& config, IsExpected is_expected)
    : config_(config), is_expected_(std::move(is_expected)) {}
AgentIntake::~AgentIntake() = default;

Result<AgentIntake::Welcome> AgentIntake::Begin(const v1::AgentHello& hello,
                                                const AgentIdentity& identity,
                                                std::string_view peer, Timestamp now) {
  if (!IsHostName(hello.host())) {
    return MakeError(ErrorCode::kInvalidArgument,
                     "the hello message has no valid host: expected letters, digits, '-' and '.'");
  }
  if (hello.session_id() == 0) {
    return MakeError(ErrorCode::kInvalidArgument,
                     "the hello message has no session: expected a nonzero random number");
  }
  const std::lock_guard lock(mutex_);
  if (closed_) return MakeError(ErrorCode::kUnavailable, "the appliance is shutting down");
  // With several domains, two hosts could claim the same short name.
  for (const auto& [key, agent] : agents_) {
    if (key == identity.host || agent->session == 0) continue;
    if (!IsSameText(agent->state.host, hello.host())) continue;
    return MakeError(ErrorCode::kInvalidArgument,
                     fmt::format("another host reports as \"{}\": set `host` in the configuration "
                                 "of the agent to the complete name in its certificate",
                                 hello.host()));
  }
  auto at = agents_.find(identity.host);
  if (at == agents_.end()) {
    if (!MakeRoom(hello.host(), now)) {
      return MakeError(ErrorCode::kResourceExhausted,
                       fmt::format("{} agents report already, which is the configured maximum (key "
                                   "`agents: {{max_hosts: ...}}` of the appliance configuration)",
                                   agents_.size()));
    }
    at = agents_.emplace(identity.host, std::make_unique<Agent>()).first;
  }
  Agent& agent = *at->second;
  if (!IsSameText(agent.state.host, hello.host())) {
    // The same host with a longer or shorter name: its data is stored under the name.
    if (!agent.state.host.empty()) Forget(agent, now);
    agent.state.host = hello.host();
    agent.is_expected = is_expected_(hello.host());
  }
  agent.account = identity.account;
  connections_.erase(agent.connection);
  if (agent.session != hello.session_id()) {
    // An ended session never comes back, so both agents are running.
    if (agent.last_session == hello.session_id()) {
      agent.in_turns = now;
      agent.alternatives = fmt::format("{} and {}", agent.state.peer, peer);
    }
    agent.last_session = std::exchange(agent.session, hello.session_id());
    agent.taken = 0;
    agent.silent = false;  // the reader is notified by the next batches
    // The counts of a new session start at 0, but the first one may be older than this appliance.
    agent.has_heartbeat = agent.last_session != 0;
    agent.state.lost_batches = agent.state.lost_bytes = 0;
    ++agent.state.sessions;
  }
  agent.connection = ++last_connection_;
  connections_[agent.connection] = &agent;
  AgentState& state = agent.state;
  state.version = std::string(Utf8Front(Lower(hello.version()), 64));
  state.peer = peer;
  state.connected = true;
  state.left = false;
  state.connected_at = now;
  Heard(agent, now);
  ++state.connections;
  return Welcome{.connection = agent.connection, .taken = agent.taken};
}

void AgentIntake::Heard(Agent& agent, Timestamp now) {
  agent.state.received_at = now;
  if (std::exchange(agent.silent, false)) Tell(agent, AgentNews::kHeard, now);
}

// Queued after the agent's batches, to keep the order. These messages are rare.
void AgentIntake::Tell(const Agent& agent, AgentNews news, Timestamp now) {
  queue_.emplace_back(
      AgentDelivery{
          .host = agent.state.host, .session = agent.session, .news = news, .arrival = now},
      0);
}

// Closes the agent's connection, so that it sends everything again.
void AgentIntake::Forget(Agent& agent, Timestamp now) {
  if (agent.session != 0) Tell(agent, AgentNews::kGone, now);
  connections_.erase(agent.connection);
  agent.connection = agent.session = agent.last_session = agent.taken = 0;
  agent.silent = agent.state.connected = false;
}

void AgentIntake::NoticeSilence(Timestamp now) {
  const std::lock_guard lock(mutex_);
  const Duration bound = std::max(config_.silent_after, kShortestSilence);
  for (const auto& [key, agent] : agents_) {
    const Duration silent = now - agent->state.received_at;
    if (agent->session == 0 || silent <= bound) continue;
    // A connected agent exists, even if the clock was set ahead.
    if (agent->state.left || (silent > kGoneAfter && !agent->state.connected)) {
      Forget(*agent, now);
    } else if (!std::exchange(agent->silent, true)) {
      Tell(*agent, AgentNews::kSilent, now);
    }
  }
}

void AgentIntake::Evict(std::string_view key, Timestamp now) {
  const auto at = agents_.find(key);
  Forget(*at->second, now);
  agents_.erase(at);
}

// Evicts the agent that is silent for longest, if that is at least an hour. Otherwise, an expected
// host replaces the unexpected agent that connected last.
bool AgentIntake::MakeRoom(std::string_view host, Timestamp now) {
  if (agents_.size() < config_.most) return true;
  const std::string* silent = nullptr;
  const std::string* unexpected = nullptr;
  const auto state_of = [&](const std::string& key) -> const AgentState& {
    return agents_.find(key)->second->state;
  };
  for (const auto& [key, agent] : agents_) {
    const AgentState& state = agent->state;
    if (!state.connected && now - state.received_at >= kGoneAfter &&
        (silent == nullptr || state.received_at < state_of(*silent).received_at)) {
      silent = &key;
    }
    if (!agent->is_expected &&
        (unexpected == nullptr || state.connected_at > state_of(*unexpected).connected_at)) {
      unexpected = &key;
    }
  }
  const std::string* const evicted = silent != nullptr || !is_expected_(host) ? silent : unexpected;
  if (evicted == nullptr) return false;
  Evict(*evicted, now);
  return true;
}

AgentIntake::Agent* AgentIntake::Find(uint64_t connection) {
  const auto at = connections_.find(connection);
  return closed_ || at == connections_.end() ? nullptr : at->second;
}

AgentIntake::Taking AgentIntake::Take(uint64_t connection, std::unique_ptr<v1::AgentBatch>& batch,
                                      size_t bytes, Timestamp now, uint64_t& taken) {
  const std::lock_guard lock(mutex_);
  Agent* const agent = Find(connection);
  if (agent == nullptr) return Taking::kOver;
  Heard(*agent, now);
  AgentState& state = agent->state;
  taken = agent->taken;
  if (batch->sequence() <= agent->taken) {
    ++state.duplicates;
    return Taking::kTaken;
  }
  // Decoded, a batch of many small messages is larger than on the wire.
  const size_t memory = std::max<size_t>(bytes, batch->SpaceUsedLong());
  if (!HasSpaceFor(*agent, memory)) return Taking::kFull;
  taken = agent->taken = batch->sequence();
  ++state.batches;
  state.bytes += bytes;
  AgentDelivery delivery = {.host = state.host,
                            .account = agent->account,
                            .session = agent->session,
                            .batch = std::move(batch),
                            .arrival = now};
  if (state.clock_ahead && std::chrono::abs(*state.clock_ahead) > state.clock_error) {
    delivery.clock_ahead = *state.clock_ahead;
  }
  queue_.emplace_back(std::move(delivery), memory);
  queued_bytes_ += memory;
  queued_by_account_[agent->account] += memory;
  return Taking::kTaken;
}

// An account may use an eighth of the queue. A batch larger than a limit is accepted if nothing
// else is queued.
bool AgentIntake::HasSpaceFor(const Agent& agent, size_t bytes) const {
  constexpr uint64_t kShares = 8;
  const auto queued = queued_by_account_.find(agent.account);
  if (queued != queued_by_account_.end() && queued->second + bytes > config_.queue / kShares) {
    return false;
  }
  return queued_bytes_ == 0 || queued_bytes_ + bytes <= config_.queue;
}

bool AgentIntake::Hear(uint64_t connection, const v1::AgentHeartbeat& heartbeat, Timestamp now) {
  const std::lock_guard lock(mutex_);
  Agent* const agent = Find(connection);
  if (agent == nullptr) return false;
  Heard(*agent, now);
  AgentState& state = agent->state;
  const uint64_t lost_batches = Believable(heartbeat.lost_batches());
  // The first heartbeat can report losses from before a restart of the appliance.
  if (std::exchange(agent->has_heartbeat, true) && lost_batches > state.lost_batches) {
    state.lost_at = now;
  }
  state.lost_batches = lost_batches;
  state.lost_bytes = Believable(heartbeat.lost_bytes());
  state.discarded_batches = Believable(heartbeat.discarded_batches());
  state.buffered_bytes = Believable(heartbeat.buffered_bytes());
  state.log_lines = Believable(heartbeat.log_lines());
  state.log_lines_cut = Believable(heartbeat.dropped_log_lines());
  // Clock offsets above a century are invalid and would overflow sums.
  constexpr Duration kMost = std::chrono::hours(24 * 36'525);
  const Duration ahead(heartbeat.clock_offset_ns());
  const Duration error(heartbeat.clock_uncertainty_ns());
  state.clock_ahead.reset();
  if (heartbeat.has_clock_offset_ns() && heartbeat.has_clock_uncertainty_ns() && ahead > -kMost &&
      ahead < kMost && error >= Duration(0) && error < kMost) {
    state.clock_ahead = ahead;
    state.clock_error = error;
  }
  std::vector<std::string> problems;
  for (const std::string& trouble : heartbeat.problems()) {
    if (problems.size() >= kMaxProblems) break;
    problems.emplace_back(Utf8Front(trouble, kLongestProblem));
  }
  state.problems = std::move(problems);
  return true;
}

void AgentIntake::End(uint64_t connection, bool said_so, Timestamp now) {
  const std::lock_guard lock(mutex_);
  const auto at = connections_.find(connection);
  if (at == connections_.end()) return;
  Agent& agent = *at->second;
  connections_.erase(at);
  agent.connection = 0;
  agent.state.connected = false;
  agent.state.left = said_so;
  if (said_so) agent.state.received_at = now;
}

std::optional<AgentDelivery> AgentIntake::Next() {
  const std::lock_guard lock(mutex_);
  if (queue_.empty()) return std::nullopt;
  std::optional<AgentDelivery> delivery = std::move(queue_.front().first);
  const size_t bytes = queue_.front().second;
  queue_.pop_front();
  queued_bytes_ -= bytes;
  if (const auto at = queued_by_account_.find(delivery->account);
      at != queued_by_account_.end() && (at->second -= bytes) == 0) {
    queued_by_account_.erase(at);
  }
  return delivery;
}

void AgentIntake::Close() {
  const std::lock_guard lock(mutex_);
  closed_ = true;
}

bool AgentIntake::any() const {
  const std::lock_guard lock(mutex_);
  return !agents_.empty();
}

std::vector<AgentState> AgentIntake::Agents() const {
  const std::lock_guard lock(mutex_);
  std::vector<AgentState> states;
  states.reserve(agents_.size());
  for (const auto& [key, agent] : agents_) states.push_back(agent->state);
  return states;
}

std::vector<std::string> AgentIntake::Problems(Timestamp now) const {
  std::vector<std::string> problems;
  uint64_t more = 0;
  const auto add = [&](std::string text) {
    problems.size() < kMaxProblems ? problems.push_back(std::move(text)) : void(++more);
  };
  const std::lock_guard lock(mutex_);
  for (const auto& [key, agent] : agents_) {
    const AgentState& state = agent->state;
    const Duration silent = now - state.received_at;
    if (!state.left && silent > config_.silent_after) {
      add(fmt::format("agent of {}: no message for {:.0f} s", state.host, SecondsOf(silent)));
    }
    constexpr Duration kRemembered = std::chrono::minutes(5);
    if (agent->in_turns && now - *agent->in_turns < kRemembered) {
      add(
          fmt::format("agent of {}: two agents alternate with this host name ({}): give each the "
                      "name of its own host (key `host` of the agent configuration)",
                      state.host, agent->alternatives));
    }
    for (const std::string& trouble : state.problems) {
      add(fmt::format("agent of {}: {}", state.host, trouble));
    }
  }
  if (more > 0) problems.push_back(fmt::format("and {} more problems of agents", more));
  return problems;
}

}  // namespace rocescope
