// SPDX-License-Identifier: BSD-3-Clause
#include "dataplane/source/merge.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "dataplane/source/test_capture.h"

namespace rocescope::test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;
using ::testing::SizeIs;

// A capture whose frames have these times, and their index as content.
std::unique_ptr<CaptureSource> Source(uint16_t tap, std::vector<int64_t> times_ns,
                                      size_t bytes_lost = 0) {
  std::vector<CapturedFrame> frames;
  for (size_t i = 0; i < times_ns.size(); ++i) {
    frames.push_back({.time_ns = times_ns[i], .bytes = {static_cast<uint8_t>(i), 0, 0}});
  }
  auto file = MakePcap({}, frames);
  file.resize(file.size() - bytes_lost);
  return *OpenCapture(std::make_unique<MemoryStream>(std::move(file)), "tap", {.tap = tap});
}

template <typename... Sources>
Reading Merge(Sources... sources) {
  std::vector<std::unique_ptr<CaptureSource>> all;
  (all.push_back(std::move(sources)), ...);
  return ReadAll(*MergeCaptures(std::move(all)), 5);
}

std::vector<std::pair<int, int64_t>> TapsAndTimes(const Reading& reading) {
  std::vector<std::pair<int, int64_t>> out;
  for (const SeenFrame& frame : reading.frames) out.emplace_back(frame.tap, frame.time_ns);
  return out;
}

TEST(MergeTest, OrdersByTime) {
  const Reading reading = Merge(Source(0, {10, 40}), Source(1, {20}), Source(2, {5, 30, 50}));

  EXPECT_THAT(TapsAndTimes(reading), ElementsAre(Pair(2, 5), Pair(0, 10), Pair(1, 20), Pair(2, 30),
                                                 Pair(0, 40), Pair(2, 50)));
}

TEST(MergeTest, DeliversEqualTimesInSourceOrder) {
  const Reading reading = Merge(Source(3, {10, 10}), Source(1, {10}), Source(2, {10}));

  EXPECT_THAT(TapsAndTimes(reading),
              ElementsAre(Pair(3, 10), Pair(3, 10), Pair(1, 10), Pair(2, 10)));
}

TEST(MergeTest, KeepsTheOrderOfAFileWhoseClockStepsBack) {
  const Reading reading = Merge(Source(0, {10, 30, 20, 40}), Source(1, {25, 35}));

  EXPECT_THAT(TapsAndTimes(reading), ElementsAre(Pair(0, 10), Pair(1, 25), Pair(0, 30), Pair(0, 20),
                                                 Pair(1, 35), Pair(0, 40)));
}

TEST(MergeTest, ReturnsASingleSourceUnchanged) {
  std::vector<std::unique_ptr<CaptureSource>> one;
  one.push_back(Source(0, {1}));
  const CaptureSource* const given = one[0].get();

  EXPECT_EQ(MergeCaptures(std::move(one)).get(), given);
}

TEST(MergeTest, AddsUpStatisticsAndNotes) {
  const Reading reading = Merge(Source(0, {1, 2, 3}, 2), Source(1, {1}, 1), Source(2, {4}));

  EXPECT_EQ(reading.statistics.frames, 3u);
  EXPECT_EQ(reading.statistics.captured_bytes, 9u);
  EXPECT_EQ(reading.statistics.damaged_tails, 2u);
  EXPECT_THAT(reading.statistics.notes, SizeIs(2));
}

TEST(MergeTest, AFailedSourceDoesNotStopTheOthers) {
  auto file = MakePcap({}, std::vector<CapturedFrame>(2, {.time_ns = 5, .bytes = {1}}));
  file[24 + 17 + 11] = 0xff;  // length of the second record
  auto failing = *OpenCapture(std::make_unique<MemoryStream>(file), "bad.pcap", {.tap = 9});

  const Reading reading = Merge(std::move(failing), Source(1, {1, 100}));

  EXPECT_THAT(TapsAndTimes(reading), ElementsAre(Pair(1, 1), Pair(9, 5), Pair(1, 100)));
  EXPECT_THAT(reading.error, HasSubstr("bad.pcap: damaged at byte 41"));
}

// Compared with a sort of all frames, for sources longer than a batch.
TEST(MergeTest, EqualsAStableSort) {
  std::mt19937 random(7);
  std::vector<std::unique_ptr<CaptureSource>> sources;
  std::vector<std::pair<int, int64_t>> expected;
  for (uint16_t tap = 0; tap < 7; ++tap) {
    std::vector<int64_t> times(random() % 2000);
    for (int64_t& time : times) time = static_cast<int64_t>(random() % 3000);
    std::ranges::sort(times);
    for (const int64_t time : times) expected.emplace_back(tap, time);
    sources.push_back(Source(tap, times));
  }
  std::ranges::sort(expected, {}, [](const auto& frame) {
    return std::pair(frame.second, frame.first);  // by time, then by the order of the sources
  });

  const Reading reading = ReadAll(*MergeCaptures(std::move(sources)));

  EXPECT_EQ(TapsAndTimes(reading), expected);
}

TEST(MergeTest, NamesTheFileThatCannotBeOpened) {
  const std::vector<TapFile> files = {{.path = "/nonexistent/a.pcap"}};

  const auto source = OpenCaptures(files);

  ASSERT_FALSE(source);
  EXPECT_THAT(source.error().message, HasSubstr("/nonexistent/a.pcap"));
  EXPECT_EQ(source.error().code, ErrorCode::kNotFound);
}

}  // namespace
}  // namespace rocescope::test
