// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/common/report/episode_report.h"

#include <gtest/gtest.h>

#include <memory>

#include "rocescope/v1/report.pb.h"
#include "topology/generate.h"

namespace rocescope {
namespace {

constexpr Timestamp kEight = Timestamp(std::chrono::hours(8));

class EpisodeReportTest : public testing::Test {
 protected:
  // Ports of all hosts at the leaves.
  Episode EpisodeOf(EpisodeKind kind) const {
    Episode episode{.kind = kind,
                    .job = 2,
                    .from = kEight + std::chrono::minutes(12),
                    .until = kEight + std::chrono::minutes(14),
                    .before = 9.9e9,
                    .after = 1e9};
    for (topology::PortIndex port = 0; port < fabric_->ports().size(); ++port) {
      const topology::PortIndex peer = fabric_->Peer(port);
      if (peer == topology::kNone || fabric_->NicOf(peer) == topology::kNone) continue;
      episode.entities.push_back({.kind = EntityKind::kPort, .index = port});
    }
    return episode;
  }
  std::string Sentence(const Episode& episode, const std::string& job = "") const {
    return EpisodeSentence(*fabric_, episode, job);
  }

  const std::shared_ptr<const topology::Fabric> fabric_ = std::make_shared<const topology::Fabric>(
      topology::Generate({.hosts = 4, .leaves = 2, .spines = 1}).value());
};

TEST_F(EpisodeReportTest, DescribesJobs) {
  EXPECT_EQ(Sentence(EpisodeOf(EpisodeKind::kJobStarted)),
            "inferred job 2 started on 4 ports at 08:12:00");
  EXPECT_EQ(Sentence(EpisodeOf(EpisodeKind::kJobPaused), "nccl-42"),
            "job nccl-42 paused on 4 ports from 08:12:00 to 08:14:00");
  Episode pauses = EpisodeOf(EpisodeKind::kJobPaused);
  pauses.count = 3;
  pauses.paused = std::chrono::seconds(90);
  EXPECT_EQ(Sentence(pauses),
            "inferred job 2 paused 3 times on 4 ports between 08:12:00 and 08:14:00, 1 min 30 s in "
            "total");
  EXPECT_EQ(Sentence(EpisodeOf(EpisodeKind::kJobStopped)),
            "inferred job 2 stopped on 4 ports at 08:12:00: it paused or ended");
}

TEST_F(EpisodeReportTest, NamesTheSwitchOfAllPorts) {
  Episode ended = EpisodeOf(EpisodeKind::kJobEnded);
  ended.entities.resize(2);
  EXPECT_EQ(Sentence(ended), "inferred job 2 ended on 2 ports of leaf0 at 08:12:00");
}

TEST_F(EpisodeReportTest, DescribesAPortThatChangesAlone) {
  Episode alone = EpisodeOf(EpisodeKind::kFellAlone);
  alone.entities.resize(1);
  EXPECT_EQ(Sentence(alone),
            "traffic of port leaf0:Ethernet1 fell alone at 08:12:00, from 9.9 GB/s to 1.0 GB/s");
  alone.count = 2;
  EXPECT_EQ(Sentence(alone),
            "traffic of port leaf0:Ethernet1 fell alone 2 times since 08:12:00, from 9.9 GB/s to "
            "1.0 GB/s");
}

TEST_F(EpisodeReportTest, DescribesACommonSymptom) {
  Episode together = EpisodeOf(EpisodeKind::kChangedTogether);
  together.metric = Metric::kFcsErrors;
  together.up = true;
  EXPECT_EQ(Sentence(together), "fcs_errors rose on 4 ports together from 08:12:00 to 08:14:00");
}

TEST_F(EpisodeReportTest, NamesAKnownJobAndCountsAnomalies) {
  auto anomalies = std::make_shared<Anomalies>();
  anomalies->episodes = {EpisodeOf(EpisodeKind::kJobStarted)};
  anomalies->anomalies.resize(3);
  anomalies->anomalies[1].episode = 1;
  auto attribution = std::make_shared<Attribution>();
  Job& job = attribution->jobs.emplace_back().job;
  job.id = "nccl-42";
  job.allocation = JobAllocation{.id = 7, .name = "pretrain", .user = "ada"};
  for (const topology::Nic& nic : fabric_->nics()) {
    JobRank& rank = job.ranks.emplace_back();
    rank.host = fabric_->node(nic.host).name;
    rank.ports = {{.device = nic.device, .port = 1}};
  }
  const Snapshot snapshot{.attribution = attribution, .fabric = fabric_, .anomalies = anomalies};
  v1::Anomalies out;
  FillEpisodes(snapshot, out);
  ASSERT_EQ(out.episodes_size(), 1);
  EXPECT_EQ(out.episodes(0).job_id(), "nccl-42");
  EXPECT_EQ(out.episodes(0).inferred_job(), 2u);
  EXPECT_EQ(out.episodes(0).kind(), v1::AnomalyEpisode::KIND_JOB_STARTED);
  EXPECT_EQ(out.episodes(0).sentence(),
            "job nccl-42 [slurm 7 \"pretrain\"] started on 4 ports at 08:12:00");
  EXPECT_EQ(out.episodes(0).place_count(), 4u);
  EXPECT_EQ(out.episodes(0).places(0), "leaf0:Ethernet1");
  EXPECT_EQ(out.episodes(0).anomaly_count(), 1u);
}

}  // namespace
}  // namespace rocescope
