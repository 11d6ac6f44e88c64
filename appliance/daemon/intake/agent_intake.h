// SPDX-License-Identifier: BSD-3-Clause
// Where what agents say comes in: who reports for which host, up to where its batches are taken,
// and a bounded queue of those that nobody has read yet. What finds no room there waits on the
// hosts.
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
#include "base/result.h"
#include "base/time.h"

namespace rocescope {

namespace v1 {
class AgentBatch;
class AgentHello;
class AgentPulse;
class LogLines;
}  // namespace v1

// What is known of a host's agent.
struct AgentState {
  std::string host;
  std::string version;
  std::string peer;  // ADDRESS:PORT
  bool connected = false;
  bool left = false;  // it ended, and said so
  Timestamp connected_at;
  Timestamp received_at;
  uint64_t sessions = 0;     // that began
  uint64_t connections = 0;  // likewise, of all sessions
  uint64_t batches = 0;      // taken
  uint64_t bytes = 0;
  uint64_t duplicates = 0;  // came again, and were not
  // By the session's own word.
  uint64_t lost_batches = 0;
  uint64_t lost_bytes = 0;
  uint64_t discarded_batches = 0;
  uint64_t paused_bytes = 0;
  uint64_t log_lines = 0;
  uint64_t log_lines_cut = 0;
  std::optional<Duration> clock_ahead;  // the box's before the host's
  Duration clock_error{};
  std::vector<std::string> problems;
};

enum class AgentNews : uint8_t {
  kBatch,
  kSilent,  // it has said nothing for so long that what it told of the moment is no longer so
  kHeard,   // again, after that
  kGone,    // nothing that it told counts; should it come back, it tells all again
};

// A batch, and whose it is; or that a host's agent fell silent.
struct AgentDelivery {
  std::string host;
  uint64_t session = 0;
  AgentNews news = AgentNews::kBatch;
  std::unique_ptr<v1::AgentBatch> batch;  // none: the news is another
  Duration clock_ahead{};  // to be added to the host's times; 0 where that is within its error
  Timestamp arrival;
};

// Any thread.
class AgentIntake {
 public:
  explicit AgentIntake(const AgentsConfig& config);
  ~AgentIntake();

  struct Welcome {
    uint64_t connection = 0;
    uint64_t taken = 0;
  };
  // A connection begins. Of the same host another one ends by that: whoever says hello last is
  // believed. Errors: kInvalidArgument, kResourceExhausted.
  Result<Welcome> Begin(const v1::AgentHello& hello, std::string_view peer, Timestamp now);

  enum class Taking {
    kTaken,  // also one that was taken before
    kFull,   // try again later; the batch is still the caller's
    kOver,   // another connection took this one's place, or the box ends
  };
  // `octets` as it came. Writes up to where batches are taken.
  Taking Take(uint64_t connection, std::unique_ptr<v1::AgentBatch>& batch, size_t bytes,
              Timestamp now, uint64_t& taken);
  // False: kOver.
  bool Hear(uint64_t connection, const v1::AgentPulse& pulse, Timestamp now);
  // The connection is no more; `said_so`: the agent ended it.
  void End(uint64_t connection, bool said_so, Timestamp now);

  // For the one reader: in the order in which they were taken; none: there is none.
  std::optional<AgentDelivery> Next();

  // To be called about every second: those of whom nothing was heard for `silent_after`, and at
  // least a minute, are told as kSilent, or as kGone if they said that they end; after an hour all
  // are kGone. So an agent that is begun anew within a minute takes nothing away.
  void NoticeSilence(Timestamp now);

  // No more is taken: kOver for all.
  void Close();

  bool any() const;                        // agent has ever said hello
  std::vector<AgentState> Agents() const;  // by name of host
  // Of those that are silent, or say what they cannot do; at most 20 sentences.
  std::vector<std::string> Problems(Timestamp now) const;

 private:
  struct Agent;

  Agent* Find(uint64_t connection);
  void Heard(Agent& agent, Timestamp now);
  void Tell(const Agent& agent, AgentNews news, Timestamp now);
  void Forget(Agent& agent, Timestamp now);
  bool MakeRoom(Timestamp now);

  const AgentsConfig config_;
  mutable std::mutex mutex_;
  std::map<std::string, std::unique_ptr<Agent>, std::less<>> agents_;  // by HostKey-like lower name
  std::map<uint64_t, Agent*> connections_;
  uint64_t last_connection_ = 0;
  std::deque<std::pair<AgentDelivery, size_t>> queue_;
  uint64_t queued_bytes_ = 0;
  bool closed_ = false;
};

// Whether a certificate with these names may report for `host`: one of them is the host's, whole or
// cut at a dot (SameHost), or stands in `any_host`.
bool MayReportFor(std::string_view host, const std::vector<std::string>& names,
                  const std::vector<std::string>& any_host);

}  // namespace rocescope
