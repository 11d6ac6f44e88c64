// SPDX-License-Identifier: BSD-3-Clause
// Entry point for agents: tracks which agent reports for which host and its last accepted batch,
// and holds a bounded queue of unread batches. If the queue is full, batches stay on the hosts.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "appliance/common/config/config.h"
#include "appliance/daemon/intake/agent_identity.h"
#include "base/result.h"
#include "base/shared_list.h"
#include "base/time.h"

namespace rocescope {

namespace v1 {
class AgentBatch;
class AgentHello;
class AgentHeartbeat;
class LogLines;
}  // namespace v1

// The state of a host's agent.
struct AgentState {
  std::string host;
  std::string version;
  std::string peer;  // ADDRESS:PORT
  bool connected = false;
  bool left = false;  // it announced its end
  Timestamp connected_at;
  Timestamp received_at;
  uint64_t sessions = 0;     // sessions started
  uint64_t connections = 0;  // connections of all sessions
  uint64_t batches = 0;      // batches accepted
  uint64_t bytes = 0;
  uint64_t duplicates = 0;  // batches that were repeated and ignored
  // As reported by the current session.
  uint64_t lost_batches = 0;
  uint64_t lost_bytes = 0;
  std::optional<Timestamp> lost_at;  // when lost_batches grew last
  uint64_t discarded_batches = 0;
  uint64_t buffered_bytes = 0;
  uint64_t log_lines = 0;
  uint64_t log_lines_cut = 0;
  std::optional<Duration> clock_ahead;  // the appliance's clock minus the host's clock
  Duration clock_error{};
  SharedList<std::string> problems;  // each call copies the states of all agents
};

enum class AgentNews : uint8_t {
  kBatch,
  kSilent,  // no message for some time: its current state may be outdated
  kHeard,   // messages resumed after kSilent
  kGone,    // its data is no longer valid; if it returns, it sends everything again
};

// A batch with its origin, or a change of an agent's availability.
struct AgentDelivery {
  std::string host;
  std::string account;  // AgentIdentity::account
  uint64_t session = 0;
  AgentNews news = AgentNews::kBatch;
  std::unique_ptr<v1::AgentBatch> batch;  // null for other news
  Duration clock_ahead{};  // to be added to the host's timestamps; 0 if below its uncertainty
  Timestamp arrival;
};

// Thread-safe.
class AgentIntake {
 public:
  // Returns true for the name of a host that the topology contains.
  using IsExpected = std::function<bool(std::string_view host)>;

  // If all places are taken, an expected host replaces an unexpected one.
  explicit AgentIntake(
      const AgentsConfig& config, IsExpected is_expected = [](std::string_view) { return false; });
  ~AgentIntake();

  struct Welcome {
    uint64_t connection = 0;
    uint64_t taken = 0;
  };
  // Starts a connection. It replaces an existing connection of the same host: the last hello takes
  // precedence. Errors: kInvalidArgument, kResourceExhausted.
  Result<Welcome> Begin(const v1::AgentHello& hello, const AgentIdentity& identity,
                        std::string_view peer, Timestamp now);

  enum class Taking {
    kTaken,  // accepted, now or before
    kFull,   // the queue or the account's share of it is full: retry later; the caller keeps the
             // batch
    kOver,   // another connection replaced this one, or the appliance is shutting down
  };
  // `bytes` is the encoded size. Sets `taken` to the last accepted sequence number.
  Taking Take(uint64_t connection, std::unique_ptr<v1::AgentBatch>& batch, size_t bytes,
              Timestamp now, uint64_t& taken);
  // Returns false for kOver.
  bool Hear(uint64_t connection, const v1::AgentHeartbeat& heartbeat, Timestamp now);
  // Ends the connection. `said_so`: the agent announced its end.
  void End(uint64_t connection, bool said_so, Timestamp now);

  // For the only reader: the next delivery in order of arrival, or none.
  std::optional<AgentDelivery> Next();

  // Call it about every second. An agent that has sent no message for `silent_after`, but at
  // least for a minute (even if `silent_after` is shorter, as by default), is reported as kSilent,
  // or as kGone if it announced its end. After an hour it is reported as kGone. Therefore the
  // restart of an agent within a minute is not reported. Problems() uses `silent_after` as it is.
  void NoticeSilence(Timestamp now);

  // Rejects everything from now on with kOver.
  void Close();

  bool any() const;                        // true once an agent has connected
  std::vector<AgentState> Agents() const;  // by host name
  // At most 20 sentences about agents that are silent or report problems.
  std::vector<std::string> Problems(Timestamp now) const;

 private:
  struct Agent;

  Agent* Find(uint64_t connection);
  void Heard(Agent& agent, Timestamp now);
  void Tell(const Agent& agent, AgentNews news, Timestamp now);
  void Forget(Agent& agent, Timestamp now);
  bool MakeRoom(std::string_view host, Timestamp now);
  void Evict(std::string_view key, Timestamp now);
  bool HasSpaceFor(const Agent& agent, size_t bytes) const;

  const AgentsConfig config_;
  const IsExpected is_expected_;
  mutable std::mutex mutex_;
  std::map<std::string, std::unique_ptr<Agent>, std::less<>> agents_;  // by AgentIdentity::host
  std::map<uint64_t, Agent*> connections_;
  uint64_t last_connection_ = 0;
  std::deque<std::pair<AgentDelivery, size_t>> queue_;
  uint64_t queued_bytes_ = 0;
  std::map<std::string, uint64_t> queued_by_account_;  // without accounts that have nothing queued
  bool closed_ = false;
};

}  // namespace rocescope
