// SPDX-License-Identifier: BSD-3-Clause
// The logs of a real job: three hosts, soft RoCE, NCCL 2.20.5. The expected values were read
// manually.
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>

#include "analytics/job/communicator.h"
#include "tests/support/fixtures.h"

namespace rocescope {
namespace {

class NcclTree : public testing::Test {
 protected:
  void SetUp() override {
    for (int i = 0; i < 3; ++i) {
      const auto path = test::Fixture("roce/linlinw5-cc-by-sa-4.0/nccl-tree/tree2_node" +
                                      std::to_string(i) + ".log");
      if (!path) GTEST_SKIP() << "no logs of nccl-tree in " << test::FixtureFolder();
      std::ifstream file(*path, std::ios::binary);
      texts_[i].assign(std::istreambuf_iterator<char>(file), {});
    }
  }

  std::string texts_[3];
};

struct Expected {
  uint32_t local;
  uint32_t remote;
  int peer;
};

void ExpectQueuePairs(const JobRank& rank, std::initializer_list<Expected> expected) {
  ASSERT_EQ(rank.queue_pairs.size(), expected.size()) << "rank " << rank.rank;
  auto queue_pair = rank.queue_pairs.begin();
  for (const Expected& e : expected) {
    EXPECT_EQ(queue_pair->local, Qpn{e.local});
    EXPECT_EQ(queue_pair->remote, Qpn{e.remote});
    EXPECT_EQ(queue_pair->peer.own_rank, rank.rank);
    EXPECT_EQ(queue_pair->peer.peer_rank, e.peer);
    EXPECT_NE(queue_pair->certainty, PeerCertainty::kAmbiguous);
    EXPECT_EQ(queue_pair->device, "rxe0");
    EXPECT_EQ(queue_pair->mtu, 1024u);
    ++queue_pair;
  }
}

TEST_F(NcclTree, IsOneJobOfThreeRanks) {
  std::vector<NcclLog> logs;
  for (const std::string& text : texts_) logs.push_back(ParseNcclLog(text, "x"));
  const std::vector<Job> jobs = GroupJobs(logs);

  ASSERT_EQ(jobs.size(), 1u);
  const Job& job = jobs[0];
  EXPECT_EQ(job.id, "nccl-faa2a2b8f05d5e5");
  EXPECT_EQ(job.rank_count, 3);
  EXPECT_EQ(job.ranks_seen, 3);
  EXPECT_EQ(job.nccl_version, "2.20.5+cuda12.4");
  EXPECT_TRUE(job.notes.empty());
  EXPECT_TRUE(job.communicators[0].was_aborted);
  ASSERT_EQ(job.ranks.size(), 3u);

  const uint64_t process_ids[] = {4889, 4768, 4851};
  const char* const addresses[] = {"172.30.0.25", "172.30.0.11", "172.30.0.12"};
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(job.ranks[i].rank, i);
    EXPECT_EQ(job.ranks[i].host, "node" + std::to_string(i));
    EXPECT_EQ(job.ranks[i].process_id, process_ids[i]);
    EXPECT_EQ(job.ranks[i].gpu_bus_id, "0000:00:08.0");
    EXPECT_EQ(job.ranks[i].oob_interface, "eth0");
    EXPECT_EQ(ToString(*job.ranks[i].oob_address), addresses[i]);
    ASSERT_EQ(job.ranks[i].addresses.size(), 1u);
    EXPECT_EQ(ToString(job.ranks[i].addresses[0]), addresses[i]);
  }
  ExpectQueuePairs(job.ranks[0], {{37, 38, 1}, {39, 46, 2}});
  ExpectQueuePairs(job.ranks[1], {{37, 44, 2}});
  ExpectQueuePairs(job.ranks[2], {{43, 38, 0}, {45, 39, 1}});
}

size_t FactCount(const NcclLog& log) {
  size_t count = 0;
  for (const NcclProcess& process : log.processes) {
    count += process.channels.size() + process.queue_pairs.size() + process.ece.size() +
             process.proxy_connections.size() + process.devices.size();
    for (const NcclCommunicator& communicator : process.communicators) {
      count += 1 + (communicator.complete_line != 0) + (communicator.end_line != 0) +
               (communicator.node_count != 0);
    }
  }
  return count;
}

TEST_F(NcclTree, TruncationLosesOnlyTheLastLine) {
  const std::string& text = texts_[0];
  size_t whole_lines = 0;  // bytes
  size_t facts_of_whole_lines = 0;
  for (size_t cut = 0; cut <= text.size(); ++cut) {
    if (cut > 0 && text[cut - 1] == '\n') {
      whole_lines = cut;
      facts_of_whole_lines = FactCount(ParseNcclLog(text.substr(0, cut), "x"));
    }
    const size_t facts = FactCount(ParseNcclLog(text.substr(0, cut), "x"));
    ASSERT_GE(facts, facts_of_whole_lines) << "cut at " << cut;
    if (facts == facts_of_whole_lines) continue;
    // There are more facts only if everything except the line end is present.
    ASSERT_EQ(text.find('\n', whole_lines), cut) << "cut at " << cut;
    ASSERT_EQ(facts, facts_of_whole_lines + 1);
  }
}

}  // namespace
}  // namespace rocescope
