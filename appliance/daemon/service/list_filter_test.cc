// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/daemon/service/list_filter.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <string>

#include "rocescope/v1/report.pb.h"
#include "rocescope/v1/service.pb.h"

namespace rocescope {
namespace {

using testing::HasSubstr;

template <typename Message>
Message Parsed(const std::string& text) {
  Message message;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &message)) << text;
  return message;
}

bool Matches(const ListFilter& filter, const google::protobuf::Message& message) {
  FilterWork work;
  return filter.Matches(message, work).value();
}

bool Matches(const std::string& filter, const std::string& finding) {
  const auto parsed = ListFilter::Parse(filter, *v1::Finding::descriptor());
  EXPECT_TRUE(parsed) << filter << ": " << (parsed ? "" : parsed.error().message);
  return parsed && Matches(*parsed, Parsed<v1::Finding>(finding));
}

std::string ErrorOf(const std::string& filter) {
  const auto parsed = ListFilter::Parse(filter, *v1::Finding::descriptor());
  if (parsed) return "";
  EXPECT_EQ(parsed.error().violations.at(0).field, "filter");
  return parsed.error().message;
}

TEST(ListFilter, AnEmptyFilterMatchesEverything) {
  EXPECT_TRUE(Matches("", ""));
  EXPECT_TRUE(Matches(" \t", "kind: 'flap'"));
}

TEST(ListFilter, ComparesTextAndNumbers) {
  EXPECT_TRUE(Matches("kind = gray_loss", "kind: 'gray_loss'"));
  EXPECT_FALSE(Matches("kind = \"gray\"", "kind: 'gray_loss'"));
  EXPECT_TRUE(Matches("kind:\"gray\"", "kind: 'gray_loss'")) << "contains";
  EXPECT_TRUE(Matches("confidence >= 0.9", "confidence: 0.9"));
  EXPECT_FALSE(Matches("confidence>0.9", "confidence: 0.9"));
  EXPECT_TRUE(Matches("confidence < 1e-1", "confidence: -3"));
  EXPECT_TRUE(Matches("kind != flap", "kind: 'gray_loss'"));
}

// AIP-160, literals: foo = "*.example" and similar patterns.
TEST(ListFilter, AStarAtTheStartOrTheEndOfATextMatchesAnyCharacters) {
  const std::string finding = "kind: 'gray_loss'";
  for (const char* pattern : {"gray*", "*_loss", "*ay_lo*", "gray_loss*", "*", "**"}) {
    EXPECT_TRUE(Matches(fmt::format("kind = \"{}\"", pattern), finding)) << pattern;
    EXPECT_TRUE(Matches(fmt::format("kind={}", pattern), finding)) << pattern;
    EXPECT_FALSE(Matches(fmt::format("kind != '{}'", pattern), finding)) << pattern;
  }
  for (const char* pattern : {"loss*", "*gray", "gray_loss_*", "*x*"}) {
    EXPECT_FALSE(Matches(fmt::format("kind = \"{}\"", pattern), finding)) << pattern;
    EXPECT_TRUE(Matches(fmt::format("kind != {}", pattern), finding)) << pattern;
  }
  EXPECT_TRUE(Matches("affected_job_ids = 'nccl-*'",
                      "affected_job_ids: 'slurm-7' affected_job_ids: 'nccl-1'"));
  EXPECT_FALSE(Matches("affected_job_ids = '*'", "")) << "there is no value";
  EXPECT_TRUE(Matches("affected_job_ids != '*'", ""));
  EXPECT_TRUE(Matches(R"(kind = "a\*")", "kind: 'a*'")) << "an escaped star is a character";
  EXPECT_FALSE(Matches(R"(kind = "a\*")", finding));
  EXPECT_THAT(ErrorOf("kind = \"a*b\""),
              HasSubstr("at byte 7: * matches any characters only at the start or the end"));
  EXPECT_THAT(ErrorOf("confidence = 0.*"), HasSubstr("expected a number"));
}

TEST(ListFilter, AnUnsetFieldFulfilsOnlyNotEqual) {
  const std::string unknown = "culprits { source: '10.0.0.1' }";
  EXPECT_FALSE(Matches("culprits.rank = 0", unknown));
  EXPECT_FALSE(Matches("culprits.rank < 1", unknown));
  EXPECT_FALSE(Matches("culprits.rank:*", unknown));
  EXPECT_TRUE(Matches("culprits.rank != 0", unknown));
  EXPECT_TRUE(Matches("culprits.rank = 0", "culprits { rank: 0 }"));
}

TEST(ListFilter, ComparesTimes) {
  const std::string at = "start_time { seconds: 1700000000 nanos: 5 }";
  EXPECT_TRUE(Matches("start_time > \"2023-11-14T22:13:20Z\"", at));
  EXPECT_FALSE(Matches("start_time > 2023-11-14T22:13:21Z", at)) << "quotes are optional";
  EXPECT_TRUE(Matches("place = leaf1:Ethernet0-spine0:Ethernet4 kind = a",
                      "place: 'leaf1:Ethernet0-spine0:Ethernet4' kind: 'a'"));
}

TEST(ListFilter, UnsetMessagesHaveNoValue) {
  EXPECT_FALSE(Matches("end_time < \"2030-01-01T00:00:00Z\"", ""));
  EXPECT_TRUE(Matches("end_time != \"2030-01-01T00:00:00Z\"", ""));
  EXPECT_FALSE(Matches("end_time:*", ""));
  EXPECT_TRUE(Matches("end_time:*", "end_time { seconds: 1 }"));
  EXPECT_TRUE(Matches("-end_time:*", ""));
  EXPECT_TRUE(Matches("NOT end_time:*", ""));
}

TEST(ListFilter, AnyElementOfAListMatches) {
  const std::string jobs = "affected_job_ids: 'a' affected_job_ids: 'b'";
  EXPECT_TRUE(Matches("affected_job_ids:b", jobs));
  EXPECT_FALSE(Matches("affected_job_ids:c", jobs));
  EXPECT_TRUE(Matches("culprits.rank = 7", "culprits { rank: 1 } culprits { rank: 7 }"));
  EXPECT_TRUE(Matches("reach.job_count > 1", "reach { job_count: 2 }"));
}

// As in AIP-160, OR binds more tightly than AND.
TEST(ListFilter, CombinesConditions) {
  const std::string finding = "kind: 'a' place: 'p' confidence: 0.5";
  EXPECT_TRUE(Matches("kind = a AND place = p", finding));
  EXPECT_TRUE(Matches("kind = a place = p", finding)) << "AND can be omitted";
  EXPECT_FALSE(Matches("kind = b AND place = q OR confidence = 0.5", finding));
  EXPECT_TRUE(Matches("(kind = b AND place = q) OR confidence = 0.5", finding));
  EXPECT_FALSE(Matches("NOT (kind = a)", finding));
}

TEST(ListFilter, ComparesEnumeratorsByName) {
  const auto filter = ListFilter::Parse("state = STATE_MISSED", *v1::ServiceLevel::descriptor());
  ASSERT_TRUE(filter);
  EXPECT_TRUE(Matches(*filter, Parsed<v1::ServiceLevel>("state: STATE_MISSED")));
  EXPECT_FALSE(Matches(*filter, Parsed<v1::ServiceLevel>("state: STATE_MET")));
  const auto wrong = ListFilter::Parse("state = missed", *v1::ServiceLevel::descriptor());
  ASSERT_FALSE(wrong);
  EXPECT_THAT(wrong.error().message, HasSubstr("expected one of STATE_UNSPECIFIED, STATE_MET"));
}

TEST(ListFilter, LargeNumbersKeepAllDigits) {
  const auto filter = ListFilter::Parse("bytes = 9007199254740993", *v1::LinkLoad::descriptor());
  ASSERT_TRUE(filter);
  EXPECT_TRUE(Matches(*filter, Parsed<v1::LinkLoad>("bytes: 9007199254740993")));
  EXPECT_FALSE(Matches(*filter, Parsed<v1::LinkLoad>("bytes: 9007199254740992")));
}

TEST(ListFilter, ErrorsSayWhatIsExpected) {
  EXPECT_THAT(ErrorOf("knid = a"),
              HasSubstr("Finding has no field \"knid\"; did you mean \"kind\"?"));
  EXPECT_THAT(ErrorOf("kind"), HasSubstr("expected one of = != < <= > >= :, found the end"));
  EXPECT_THAT(ErrorOf("kind ="), HasSubstr("expected a value, found the end"));
  EXPECT_THAT(ErrorOf("kind == a"), HasSubstr("expected a value, found"));
  EXPECT_THAT(ErrorOf("kind=~a"), HasSubstr("expected a value, found"));
  EXPECT_THAT(ErrorOf("confidence = high"), HasSubstr("confidence: expected a number"));
  EXPECT_THAT(ErrorOf("kind = 'a"), HasSubstr("at byte 7: the quote is not closed"));
  EXPECT_THAT(ErrorOf("(kind = a"), HasSubstr("expected \")\", found the end"));
  EXPECT_THAT(ErrorOf("kind = a)"), HasSubstr("at byte 8: expected AND, OR or the end"));
  EXPECT_THAT(ErrorOf("reach = 1"), HasSubstr("reach is a message: name one of its fields"));
  EXPECT_THAT(ErrorOf("kind.a = 1"), HasSubstr("kind is not a message"));
  EXPECT_THAT(ErrorOf("kind ! a"), HasSubstr("expected one of ="));
  const auto order = ListFilter::Parse("state > STATE_MET", *v1::ServiceLevel::descriptor());
  ASSERT_FALSE(order);
  EXPECT_THAT(order.error().message, HasSubstr("state: expected = or !="));
}

TEST(ListFilter, LengthAndDepthAreLimited) {
  EXPECT_THAT(ErrorOf(std::string(5000, ' ') + "kind = a"), HasSubstr("longer than 4096 bytes"));
  EXPECT_THAT(ErrorOf(std::string(1000, '(') + "kind = a"), HasSubstr("more than 32 nested"));
  std::string nots;
  for (int i = 0; i < 500; ++i) nots += "NOT ";
  EXPECT_THAT(ErrorOf(nots + "kind = a"), HasSubstr("more than 32 nested"));
  std::string many;
  for (int i = 0; i < 65; ++i) many += "kind = a ";
  EXPECT_THAT(ErrorOf(many), HasSubstr("more than 64 conditions"));
}

// Returns the error of a filter on a job that may take 1,000 comparisons; empty: none.
std::string ErrorOnJob(const std::string& filter, const v1::RegisteredJob& job) {
  const auto parsed = ListFilter::Parse(filter, *v1::RegisteredJob::descriptor());
  EXPECT_TRUE(parsed) << filter;
  FilterWork work(1000);
  const auto matches = parsed->Matches(job, work);
  if (matches) return "";
  EXPECT_EQ(matches.error().fault, ServiceFault::kTooLong);
  EXPECT_EQ(matches.error().violations.at(0).field, "filter");
  return matches.error().message;
}

TEST(ListFilter, ComparisonsOfOneElementAreLimited) {
  v1::RegisteredJob job;
  for (uint32_t gpu = 0; gpu < 400; ++gpu) {
    job.add_nodes()->set_node("gpu-1");
    job.mutable_nodes(0)->add_gpu_indexes(gpu);
  }
  EXPECT_EQ(ErrorOnJob("nodes.gpu_indexes = 5000", job), "");
  EXPECT_EQ(ErrorOnJob("nodes.node = gpu-2", job), "");
  EXPECT_THAT(
      ErrorOnJob("user = a OR nodes.gpu_indexes = 5000 OR nodes.gpu_indexes = 5001", job),
      HasSubstr("takes more than 1,000 comparisons with values of this list, most of them with "
                "values of nodes.gpu_indexes: use fewer conditions"));
  EXPECT_THAT(ErrorOnJob("NOT (nodes.node = gpu-2 OR nodes.node = gpu-3)", job),
              HasSubstr("values of nodes.node"));
}

TEST(ListFilter, ComparisonsOfAllElementsAreLimitedTogether) {
  const auto filter = ListFilter::Parse("user = a", *v1::RegisteredJob::descriptor());
  ASSERT_TRUE(filter);
  v1::RegisteredJob job;
  job.set_user("b");
  FilterWork work(10);
  for (int i = 0; i < 9; ++i) EXPECT_TRUE(filter->Matches(job, work)) << i;
  EXPECT_FALSE(filter->Matches(job, work) && filter->Matches(job, work));
}

TEST(ListFilter, ALongTextCountsAsSeveralComparisons) {
  v1::RegisteredJob job;
  job.set_name(std::string(100'000, 'a'));
  EXPECT_THAT(ErrorOnJob("name:b", job), HasSubstr("values of name"));
}

}  // namespace
}  // namespace rocescope
