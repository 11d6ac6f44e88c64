// SPDX-License-Identifier: BSD-3-Clause
#include "dataplane/source/filter.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>

namespace rocescope {
namespace {

using ::testing::HasSubstr;

int64_t Absolute(std::string_view text) {
  const auto bound = ParseTimeBound(text);
  EXPECT_TRUE(bound) << text;
  return bound && !bound->relative ? bound->offset.count() : -1;
}

// Expected seconds from `date -u -d ... +%s`.
TEST(TimeBoundTest, ReadsRfc3339) {
  EXPECT_EQ(Absolute("1970-01-01T00:00:00Z"), 0);
  EXPECT_EQ(Absolute("2024-02-29T12:34:56Z"), 1'709'210'096'000'000'000);
  EXPECT_EQ(Absolute("2024-02-29T12:34:56.000000007Z"), 1'709'210'096'000'000'007);
  EXPECT_EQ(Absolute("2024-02-29t12:34:56.5z"), 1'709'210'096'500'000'000);
  EXPECT_EQ(Absolute("2024-02-29 14:34:56+02:00"), 1'709'210'096'000'000'000);
  EXPECT_EQ(Absolute("2024-02-29T07:04:56-05:30"), 1'709'210'096'000'000'000);
}

TEST(TimeBoundTest, ReadsSecondsSinceTheEpoch) {
  EXPECT_EQ(Absolute("1709210096"), 1'709'210'096'000'000'000);
  EXPECT_EQ(Absolute("1709210096.25"), 1'709'210'096'250'000'000);
  EXPECT_EQ(Absolute("1709210096.1234567899"), 1'709'210'096'123'456'789);
}

TEST(TimeBoundTest, ReadsSecondsSinceTheFirstFrame) {
  const auto bound = ParseTimeBound("+2.5");

  ASSERT_TRUE(bound);
  EXPECT_TRUE(bound->relative);
  EXPECT_EQ(bound->offset, std::chrono::milliseconds(2500));
}

TEST(TimeBoundTest, RejectsInvalidTimes) {
  for (const std::string_view text : {"",
                                      "+",
                                      "now",
                                      "-5",
                                      "1.",
                                      ".5",
                                      "1e9",
                                      "12:34",
                                      "2024-02-30T00:00:00Z",
                                      "2023-02-29T00:00:00Z",
                                      "2024-13-01T00:00:00Z",
                                      "2024-01-01T24:00:00Z",
                                      "2024-01-01T00:60:00Z",
                                      "2024-01-01T00:00:00",
                                      "2024-01-01",
                                      "2024-01-01T00:00:00Zx",
                                      "2024-01-01T00:00:00+2:00",
                                      "9999-01-01T00:00:00Z",
                                      "1969-12-31T23:59:59Z",
                                      "99999999999",
                                      "+2024-01-01T00:00:00Z",
                                      "99999999999999999999999"}) {
    EXPECT_FALSE(ParseTimeBound(text)) << text;
  }
  EXPECT_THAT(ParseTimeBound("now").error().message, HasSubstr("\"now\" is not a time"));
}

TEST(FrameFilterTest, SinceIsInclusiveAndUntilIsExclusive) {
  const FrameFilter filter{.since = TimeBound{.offset = Duration(100)},
                           .until = TimeBound{.offset = Duration(200)}};

  const auto window = filter.WindowFrom(FromNanoseconds(0));

  ASSERT_TRUE(window);
  EXPECT_FALSE(window->Keeps(FromNanoseconds(99)));
  EXPECT_TRUE(window->Keeps(FromNanoseconds(100)));
  EXPECT_TRUE(window->Keeps(FromNanoseconds(199)));
  EXPECT_FALSE(window->Keeps(FromNanoseconds(200)));
}

TEST(FrameFilterTest, RelativeBoundsStartAtTheFirstFrame) {
  const FrameFilter filter{.since = TimeBound{.relative = true, .offset = Duration(5)},
                           .until = TimeBound{.relative = true, .offset = Duration(7)}};

  const auto window = filter.WindowFrom(FromNanoseconds(1000));

  ASSERT_TRUE(window);
  EXPECT_EQ(window->first, FromNanoseconds(1005));
  EXPECT_EQ(window->last, FromNanoseconds(1006));
}

TEST(FrameFilterTest, AnEmptyWindowIsAnError) {
  const FrameFilter filter{.since = TimeBound{.offset = Duration(100)},
                           .until = TimeBound{.offset = Duration(100)}};

  EXPECT_FALSE(filter.WindowFrom(FromNanoseconds(0)));
}

TEST(FrameFilterTest, KeepWithinMovesKeptFramesToTheFront) {
  std::array<RawFrame, 4> batch;
  for (size_t i = 0; i < batch.size(); ++i) {
    batch[i].timestamp = FromNanoseconds(static_cast<int64_t>(10 * i));
  }
  const TimeWindow window{.first = FromNanoseconds(5), .last = FromNanoseconds(25)};

  const size_t kept = KeepWithin(window, batch);

  ASSERT_EQ(kept, 2u);
  EXPECT_EQ(batch[0].timestamp, FromNanoseconds(10));
  EXPECT_EQ(batch[1].timestamp, FromNanoseconds(20));
}

TEST(FrameFilterTest, NoBoundsKeepEverything) {
  std::array<RawFrame, 1> batch;
  batch[0].timestamp = Timestamp::max();

  EXPECT_EQ(KeepWithin(*FrameFilter{}.WindowFrom(FromNanoseconds(0)), batch), 1u);
}

TEST(ParseQpnTest, ReadsDecimalAndHexadecimal) {
  EXPECT_EQ(ParseQpn("39"), Qpn{39});
  EXPECT_EQ(ParseQpn("0x27"), Qpn{39});
  EXPECT_EQ(ParseQpn("0XFFFFFF"), Qpn{16777215});
}

TEST(ParseQpnTest, RejectsInvalidQpns) {
  for (const std::string_view text : {"", "0x", "16777216", "-1", "39x", "0x27g", "99999999999"}) {
    EXPECT_FALSE(ParseQpn(text)) << text;
  }
}

// A frame from 10.0.0.1 to 10.0.0.2, QP 39.
DecodedFrame SomeFrame() {
  DecodedFrame frame{};
  frame.kind = FrameKind::kRoce;
  frame.source = IpAddress::FromV4(0x0a000001);
  frame.destination = IpAddress::FromV4(0x0a000002);
  frame.bth.destination_qpn = Qpn{39};
  return frame;
}

TEST(FrameFilterTest, HostsMatchEitherEnd) {
  const DecodedFrame frame = SomeFrame();

  EXPECT_TRUE(FrameFilter{.hosts = {IpAddress::FromV4(0x0a000001)}}.Keeps(frame));
  EXPECT_TRUE(FrameFilter{.hosts = {IpAddress::FromV4(0x0a000002)}}.Keeps(frame));
  EXPECT_FALSE(FrameFilter{.hosts = {IpAddress::FromV4(0x0a000003)}}.Keeps(frame));
}

TEST(FrameFilterTest, QpnsMatchTheDestination) {
  EXPECT_TRUE((FrameFilter{.qpns = {Qpn{1}, Qpn{39}}}.Keeps(SomeFrame())));
  EXPECT_FALSE(FrameFilter{.qpns = {Qpn{40}}}.Keeps(SomeFrame()));
}

TEST(FrameFilterTest, HostAndQpnMustBothMatch) {
  const FrameFilter filter{.hosts = {IpAddress::FromV4(0x0a000003)}, .qpns = {Qpn{39}}};

  EXPECT_FALSE(filter.Keeps(SomeFrame()));
}

TEST(FrameFilterTest, QpnsMatchTheSourceOfADatagram) {
  DecodedFrame frame = SomeFrame();
  frame.deth.source_qpn = Qpn{77};
  const FrameFilter filter{.qpns = {Qpn{77}}};

  EXPECT_FALSE(filter.Keeps(frame)) << "the field is meaningless without its bit";
  frame.parts = kPartDeth;
  EXPECT_TRUE(filter.Keeps(frame));
}

TEST(FrameFilterTest, QpnsMatchQpnsInCmMessages) {
  DecodedFrame frame = SomeFrame();
  frame.bth.destination_qpn = kManagementQpn;
  frame.parts = kPartDeth | kPartCm;
  frame.cm.local_qpn = Qpn{77};

  EXPECT_TRUE(FrameFilter{.qpns = {Qpn{77}}}.Keeps(frame));
  EXPECT_FALSE(FrameFilter{.qpns = {Qpn{39}}}.Keeps(frame));
}

TEST(FrameFilterTest, APauseFrameHasNeitherHostNorQpn) {
  DecodedFrame frame{};
  frame.kind = FrameKind::kPause;

  EXPECT_TRUE(FrameFilter{}.Keeps(frame));
  EXPECT_FALSE(FrameFilter{.qpns = {Qpn{0}}}.Keeps(frame));
  EXPECT_FALSE(FrameFilter{.hosts = {IpAddress{}}}.Keeps(frame));
}

}  // namespace
}  // namespace rocescope
