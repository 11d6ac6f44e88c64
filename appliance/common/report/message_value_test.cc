// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/api/message_value.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/util/time_util.h>
#include <gtest/gtest.h>

#include <array>
#include <limits>
#include <random>
#include <string_view>
#include <vector>

#include "analytics/anomaly/anomaly.h"
#include "analytics/dependency/elements.h"
#include "analytics/diagnosis/obstacle.h"
#include "analytics/service_level/indicator.h"
#include "analytics/service_level/service_level.h"
#include "dataplane/record/metric.h"
#include "rocescope/v1/report.pb.h"

namespace rocescope {
namespace {

TEST(MessageValue, NanosecondsOfTimestampsCountForward) {
  const google::protobuf::Timestamp before = TimestampMessage(int64_t{-1});
  EXPECT_EQ(before.seconds(), -1);
  EXPECT_EQ(before.nanos(), 999'999'999);
  EXPECT_EQ(Nanoseconds(before), -1);
  EXPECT_EQ(Nanoseconds(TimestampMessage(int64_t{1'500'000'000'000'000'001})),
            1'500'000'000'000'000'001);
}

TEST(MessageValue, SecondsAndNanosecondsOfDurationsHaveTheSameSign) {
  const google::protobuf::Duration negative = DurationMessage(int64_t{-2'500'000'000});
  EXPECT_EQ(negative.seconds(), -2);
  EXPECT_EQ(negative.nanos(), -500'000'000);
  EXPECT_EQ(Nanoseconds(negative), -2'500'000'000);
}

TEST(MessageValue, ValuesBeyondTheRangeAreClamped) {
  google::protobuf::Duration longest;
  ASSERT_TRUE(ParseText("315576000000s", longest));
  EXPECT_EQ(Nanoseconds(longest), std::numeric_limits<int64_t>::max());
  google::protobuf::Timestamp first;
  ASSERT_TRUE(ParseText("0001-01-01T00:00:00Z", first));
  EXPECT_EQ(Nanoseconds(first), std::numeric_limits<int64_t>::min());
}

TEST(MessageValue, TextIsThatOfProtobuf) {
  using google::protobuf::util::TimeUtil;
  std::mt19937_64 random(21);
  for (int i = 0; i < 10'000; ++i) {
    // Whole seconds, milliseconds, microseconds and nanoseconds, over all years of a Timestamp.
    constexpr std::array<int64_t, 4> kSteps = {1'000'000'000, 1'000'000, 1'000, 1};
    google::protobuf::Timestamp time;
    time.set_seconds(std::uniform_int_distribution<int64_t>(
        TimeUtil::kTimestampMinSeconds, TimeUtil::kTimestampMaxSeconds)(random));
    const int64_t step = kSteps[i % kSteps.size()];
    const auto nanos = static_cast<int32_t>(random() % 1'000'000'000 / step * step);
    time.set_nanos(nanos);
    EXPECT_EQ(ToText(time), TimeUtil::ToString(time));
    google::protobuf::Duration duration;
    duration.set_seconds(time.seconds() / 1'000);
    duration.set_nanos(duration.seconds() < 0 ? -nanos : nanos);
    EXPECT_EQ(ToText(duration), TimeUtil::ToString(duration));
  }
}

TEST(MessageValue, TextIsThatOfTheJsonMapping) {
  EXPECT_EQ(ToText(TimestampMessage(int64_t{1'714'564'800'120'000'000})),
            "2024-05-01T12:00:00.120Z");
  EXPECT_EQ(ToText(DurationMessage(int64_t{125'000})), "0.000125s");
  google::protobuf::Timestamp time;
  EXPECT_TRUE(ParseText("2024-05-01T14:00:00+02:00", time));
  EXPECT_EQ(Nanoseconds(time), 1'714'564'800'000'000'000);
  EXPECT_FALSE(ParseText("yesterday", time));
  google::protobuf::Duration duration;
  for (const char* text : {"5", "--5s", ".s", " 5s", "1.0000000001s", "s", "1e3s"}) {
    EXPECT_FALSE(ParseText(text, duration)) << text;
  }
}

TEST(MessageValue, EnumeratorsFollowFromWords) {
  EXPECT_EQ(EnumOf<v1::ServiceLevel::State>("at_risk"), v1::ServiceLevel::STATE_AT_RISK);
  EXPECT_EQ(EnumOf<v1::ServiceLevel::State>("no_such_state"), v1::ServiceLevel::STATE_UNSPECIFIED);
  EXPECT_EQ(WordOf(v1::RANK_SOURCE_NCCL_LOG), "nccl_log");
  EXPECT_EQ(WordOf(v1::RANK_SOURCE_UNSPECIFIED), "");
}

// Every name that the analysis uses has an enumerator in the API, and the API has no others.
template <typename E, typename Names>
void ExpectSameNames(const Names& names) {
  int known = 0;
  for (const auto& name : names) {
    if (std::string_view(name).empty()) continue;
    EXPECT_NE(EnumOf<E>(name), E()) << name;
    ++known;
  }
  EXPECT_EQ(google::protobuf::GetEnumDescriptor<E>()->value_count(), known + 1);
}

// Names of the enumerators from 0 to `last`.
template <typename Enum>
std::vector<std::string_view> NamesUpTo(Enum last) {
  std::vector<std::string_view> names;
  for (size_t i = 0; i <= static_cast<size_t>(last); ++i) {
    names.push_back(NameOf(static_cast<Enum>(i)));
  }
  return names;
}

TEST(MessageValue, TheApiHasTheNamesOfTheAnalysis) {
  ExpectSameNames<v1::ServiceLevel::State>(kServiceStateNames);
  ExpectSameNames<v1::ServiceLayer>(kServiceLayerNames);
  ExpectSameNames<v1::Anomaly::Model>(kAnomalyModelNames);
  ExpectSameNames<v1::DiagnosisCoverage::Obstacle>(kObstacleNames);
  ExpectSameNames<v1::ElementKind>(NamesUpTo(ElementKind::kSwitch));
  std::vector<std::string_view> entities;
  for (size_t i = 0; i < kEntityKindCount; ++i) {
    entities.push_back(InfoOf(static_cast<EntityKind>(i)).name);
  }
  ExpectSameNames<v1::Anomaly::Kind>(entities);
}

}  // namespace
}  // namespace rocescope
