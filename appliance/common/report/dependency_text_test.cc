// SPDX-License-Identifier: BSD-3-Clause
#include <gmock/gmock.h>
#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <string>

#include "appliance/common/report/dependency_report.h"
#include "rocescope/v1/report.pb.h"

namespace rocescope {
namespace {

using testing::HasSubstr;
using testing::Not;

v1::Dependencies Answer(const std::string& fields) {
  v1::Dependencies answer;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(fields, &answer));
  return answer;
}

std::string DependencyText(const std::string& fields) { return RenderText(Answer(fields)); }

// Appends the elements PREFIX0 to PREFIX<count - 1>.
std::string Row(const std::string& kind, const std::string& prefix, int count) {
  std::string row = "elements { kind: ELEMENT_KIND_" + kind + " ";
  for (int i = 0; i < count; ++i) {
    row += "elements { name: '" + prefix + std::to_string(i) + "' } ";
  }
  return row + "} ";
}

TEST(DependencyText, ABlastRadiusBeginsWithTheAffectedJobs) {
  EXPECT_EQ(
      DependencyText(
          "answers { question: QUESTION_BLAST_RADIUS kind: ELEMENT_KIND_SWITCH name: 'leaf0' "
          "reach { job_count: 1 rank_count: 12 gpu_count: 12 host_count: 2 } "
          "elements { kind: ELEMENT_KIND_JOB elements { name: 'nccl-7' "
          "allocation { scheduler_job_id: 4711 name: 'pretrain' } } } " +
          Row("RANK", "nccl-7:rank:", 12) +
          "} coverage { flow_count: 24 known_flow_count: 20 partly_known_flow_count: 3 "
          "unclaimed_flow_count: 1 }"),
      "BLAST RADIUS of leaf0 (switch): 12 ranks of 1 job, on 12 GPUs of 2 hosts\n\n"
      "  KIND  COUNT  NAMES\n"
      "  job       1  nccl-7 [slurm 4711 \"pretrain\"]\n"
      "  rank     12  nccl-7:rank:[0-11]\n\n"
      "  based on the paths of flows, 20 of 24 known, 3 partly known; 1 other flow belongs to no "
      "known job\n");
}

TEST(DependencyText, DependenciesBeginWithCounts) {
  EXPECT_THAT(
      DependencyText("answers { question: QUESTION_NEEDS kind: ELEMENT_KIND_NIC name: 'h:mlx5_0' " +
                     Row("GPU", "h:gpu:", 2) + Row("NIC", "h:mlx5_", 1) + Row("SWITCH", "leaf", 2) +
                     "}"),
      HasSubstr("DEPENDENCIES of h:mlx5_0 (nic): 2 GPUs, 1 NIC, 2 switches\n"));
}

TEST(DependencyText, AnElementWithoutKnownUsersIsNotReportedAsUnused) {
  EXPECT_EQ(DependencyText(
                "answers { question: QUESTION_BLAST_RADIUS kind: ELEMENT_KIND_GPU name: 'h:gpu:0' "
                "reach {} } coverage { unclaimed_flow_count: 1200 }"),
            "BLAST RADIUS of h:gpu:0 (gpu): no known element\n\n"
            "  no job traffic was observed: the result is based on where the ranks' NICs are "
            "connected; links and switches in between are not counted; 1,200 other flows belong to "
            "no known job\n");
  EXPECT_THAT(
      DependencyText(
          "answers { question: QUESTION_BLAST_RADIUS kind: ELEMENT_KIND_LINK name: 'l' reach {} " +
          Row("PORT", "E", 2) + "}"),
      HasSubstr("BLAST RADIUS of l (link): no known job\n"));
  EXPECT_THAT(
      DependencyText("answers { question: QUESTION_NEEDS kind: ELEMENT_KIND_SWITCH name: 's' }"),
      HasSubstr("DEPENDENCIES of s (switch): nothing: a switch depends on no other element"));
}

TEST(DependencyText, EachRowFitsOnOneLine) {
  EXPECT_THAT(
      DependencyText("answers { question: QUESTION_NEEDS kind: ELEMENT_KIND_JOB name: 'j' " +
                     Row("PORT", "spine", 3000) + "}"),
      HasSubstr("  port  3,000  spine[0-2999]\n"));
  // Square numbers are not consecutive, so they form no range. Seven names of ten characters with
  // commas fill 82 columns.
  std::string links;
  for (int i = 0; i < 100; ++i) {
    links += "elements { name: 'l" + std::to_string(1000 + 7 * i * i) + "-E123' } ";
  }
  EXPECT_THAT(
      DependencyText(
          "answers { question: QUESTION_NEEDS kind: ELEMENT_KIND_JOB name: 'j' elements { kind: "
          "ELEMENT_KIND_LINK " +
          links + "} }"),
      HasSubstr(", l1252-E123 and 93 more\n"));
}

TEST(DependencyText, NamesAreEscaped) {
  EXPECT_THAT(DependencyText(
                  "answers { question: QUESTION_NEEDS kind: ELEMENT_KIND_JOB name: 'j\\033[2J' " +
                  Row("HOST", "h\\n", 1) + "}"),
              Not(testing::AnyOf(HasSubstr("\x1b"), HasSubstr("h\n0"))));
}

TEST(DependencyText, ImpactOmitsUnknownCounts) {
  const auto reach = [](uint32_t jobs, uint32_t ranks, uint32_t gpus, uint32_t hosts) {
    v1::Reach message;
    message.set_job_count(jobs);
    message.set_rank_count(ranks);
    message.set_gpu_count(gpus);
    message.set_host_count(hosts);
    return ReachText(message);
  };
  EXPECT_EQ(reach(0, 0, 0, 0), "");
  EXPECT_EQ(reach(2, 0, 0, 0), "2 jobs");
  EXPECT_EQ(reach(1, 1, 0, 0), "1 rank of 1 job");
  EXPECT_EQ(reach(2, 36, 0, 5), "36 ranks of 2 jobs, on 5 hosts");
  EXPECT_EQ(reach(2, 36, 36, 5), "36 ranks of 2 jobs, on 36 GPUs of 5 hosts");
}

}  // namespace
}  // namespace rocescope
