// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/cli/command/get.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace rocescope {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

const GetResource& Jobs() { return *FindGetResource("jobs"); }

TEST(GetTest, NamesAreSingularOrPlural) {
  EXPECT_EQ(FindGetResource("job"), FindGetResource("jobs"));
  EXPECT_EQ(FindGetResource("anomaly"), FindGetResource("anomalies"));
  EXPECT_EQ(FindGetResource("jobz"), nullptr);
}

TEST(GetTest, ReadsAllPagesWithTheSameQuery) {
  std::vector<std::string> paths;
  const GetReader read = [&](std::string_view path) -> Result<json> {
    paths.emplace_back(path);
    return paths.size() == 1
               ? json{{"jobs", {{{"job_id", "a"}}}}, {"next_page_token", "t=1"}, {"total_size", 2}}
               : json{{"jobs", {{{"job_id", "b"}}}}, {"next_page_token", ""}};
  };
  const auto all = ReadAllPages(read, Jobs(), "", {{"filter", "host_count > 1"}, {"order_by", ""}});
  ASSERT_TRUE(all);
  EXPECT_THAT(
      paths,
      ElementsAre("/api/v1/jobs?page_size=1000&filter=host_count%20%3E%201",
                  "/api/v1/jobs?page_size=1000&filter=host_count%20%3E%201&page_token=t%3D1"));
  EXPECT_EQ((*all)["jobs"].size(), 2u);
  EXPECT_EQ((*all)["total_size"], 2);
  EXPECT_EQ((*all)["next_page_token"], "");
  paths.clear();
  const auto one = ReadAllPages(read, Jobs(), "b", {});
  ASSERT_TRUE(one);
  EXPECT_EQ((*one)["jobs"], json({{{"job_id", "b"}}}));
}

TEST(GetTest, AnotherServerIsAnError) {
  const GetReader read = [](std::string_view) -> Result<json> { return json{{"nodes", 1}}; };
  const auto answer = ReadAllPages(read, Jobs(), "", {});
  ASSERT_FALSE(answer);
  EXPECT_THAT(answer.error().message, HasSubstr("not rocescope"));
}

TEST(GetTest, TablesHaveUnitsAndNoControlCharacters) {
  const json response = {{"jobs",
                          {{{"job_id", "nccl-\x1b[31m1"},
                            {"allocation", {{"scheduler_job_id", "4711"}, {"name", "pretrain"}}},
                            {"service_level_state", "STATE_AT_RISK"},
                            {"host_count", 16},
                            {"bytes", "242835456"},
                            {"iteration_period", "0.550622728s"},
                            {"first_seen_time", "2026-01-31T12:00:00.558888539Z"},
                            {"finding_sentences", {"x", "y"}}}}}};
  const std::string narrow = GetTable(Jobs(), response, false);
  EXPECT_THAT(narrow, AllOf(HasSubstr("SERVICE LEVEL"), HasSubstr("at-risk"), HasSubstr("pretrain"),
                            HasSubstr("4711"), HasSubstr("550.6 ms"), Not(HasSubstr("242.8 MB")),
                            Not(HasSubstr("\x1b"))));
  EXPECT_THAT(GetTable(Jobs(), response, true),
              AllOf(HasSubstr("242.8 MB"), HasSubstr("2026-01-31 12:00:00")));
  EXPECT_EQ(GetTable(Jobs(), {{"jobs", json::array()}}, false), "");
}

TEST(GetTest, FindingsShowWhoReviewedThem) {
  const GetResource& findings = *FindGetResource("findings");
  const json response = {
      {"findings",
       {{{"kind", "flap"},
         {"acknowledgement", {{"user", "ada"}, {"comment", "ticket 7"}}},
         {"mute",
          {{"user", "bob"}, {"comment", "new cable"}, {"expire_time", "2026-02-01T12:00:00.5Z"}}}},
        {{"kind", "gray_loss"}}}}};
  EXPECT_THAT(GetTable(findings, response, false),
              AllOf(HasSubstr("acknowledged by ada, muted by bob until 2026-02-01 12:00:00"),
                    Not(HasSubstr("ticket 7"))));
  EXPECT_THAT(GetTable(findings, response, true), HasSubstr("ticket 7; new cable"));
}

TEST(GetTest, WrongTypesAreEmptyCells) {
  for (const json& wrong : {json(1), json("x"), json::array(), json::object(), json(nullptr)}) {
    for (const GetResource& resource : GetResources()) {
      json row;
      for (const char* field :
           {"job_id", "bytes", "intervals", "metrics", "lost_times", "allocation", "confidence",
            "start_time", "ledger", "problems", "state", "acknowledgement", "mute"}) {
        row[field] = wrong;
      }
      const json response = {{std::string(resource.list), {row, wrong}}};
      GetTable(resource, response, true);
    }
  }
}

}  // namespace
}  // namespace rocescope
