// SPDX-License-Identifier: BSD-3-Clause
// NCCL logs, up to the jobs that are derived. Bytes of value 1 separate the logs.
#include <cstdint>
#include <string_view>
#include <vector>

#include "analytics/job/attribution.h"
#include "tests/fuzz/require.h"

namespace rocescope {
namespace {

void RequireSane(const NcclProcess& process) {
  for (const NcclCommunicator& communicator : process.communicators) {
    Require(communicator.rank >= 0 && communicator.rank < communicator.rank_count,
            "a rank is below the number of ranks");
  }
  const std::vector<QueuePairPeer> peers = JoinQueuePairs(process);
  Require(peers.size() == process.queue_pairs.size(), "each queue pair has a result");
  for (const QueuePairPeer& peer : peers) {
    Require((peer.certainty == PeerCertainty::kAmbiguous) == (peer.candidates != nullptr),
            "candidates exist if and only if ambiguous");
    Require(peer.peer.communicator < static_cast<int>(process.communicators.size()),
            "a communicator exists");
  }
}

void RequireSane(const Job& job) {
  Require(job.ranks_seen <= static_cast<int>(job.ranks.size()),
          "observed ranks are among the ranks");
  for (const JobCommunicator& communicator : job.communicators) {
    for (const CommunicatorMember& member : communicator.members) {
      Require(member.job_rank < job.ranks.size(), "a member is a rank of the job");
    }
  }
  for (const JobRank& rank : job.ranks) {
    for (const JobQueuePair& queue_pair : rank.queue_pairs) {
      Require(queue_pair.communicator < static_cast<int>(job.communicators.size()),
              "a communicator of the job exists");
    }
  }
}

}  // namespace
}  // namespace rocescope

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace rocescope;
  std::string_view text(reinterpret_cast<const char*>(data), size);
  std::vector<NcclLog> logs;
  while (!text.empty() && logs.size() < 8) {
    const size_t end = text.find('\1');
    logs.push_back(ParseNcclLog(text.substr(0, end), "log" + std::to_string(logs.size())));
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
  size_t queue_pairs = 0;
  for (const NcclLog& log : logs) {
    Require(log.notes.size() <= kMaxNcclLogNotes && log.notes.size() <= log.malformed,
            "notes are bounded and counted");
    for (const NcclProcess& process : log.processes) {
      RequireSane(process);
      queue_pairs += process.queue_pairs.size();
    }
  }
  size_t given = 0;
  const HostFacts facts{.jobs = GroupJobs(logs), .rdma = {}};
  for (const Job& job : facts.jobs) {
    RequireSane(job);
    for (const JobRank& rank : job.ranks) given += rank.queue_pairs.size();
  }
  Require(given <= queue_pairs, "no queue pair is assigned twice");
  KnownPairsOf(facts);
  Require(AttributeJobs(facts, {}, {}).jobs.size() == facts.jobs.size(), "jobs stay");
  return 0;
}
