// SPDX-License-Identifier: BSD-3-Clause
// Behaviour that the tests of TapTable do not cover: the fast path of timestamp conversion agrees
// with the general path, and streams of several cores are merged.
#include "dataplane/pipeline/mirror_stream.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <optional>
#include <random>
#include <vector>

namespace rocescope {
namespace {

constexpr int64_t kSecond = 1'000'000'000;
constexpr int64_t kStart = 1'700'000'000 * kSecond;

// The reference model.
class Model {
 public:
  Timestamp Follow(const MirrorInfo& mirror, Timestamp capture) {
    const std::optional<MirrorTime> time = TimeOf(mirror);
    if (!time) return capture;
    const Timestamp told = WithinBounds(Unwrap(*time, WithinBounds(capture - Duration(offset_))));
    const int64_t behind = (capture - told).count();
    if (!known_ || std::abs(behind - offset_) >= 100'000'000) {
      known_ = true;
      offset_ = std::abs(behind) < 10'000'000 ? 0 : behind;
    }
    return told + Duration(offset_);
  }

 private:
  bool known_ = false;
  int64_t offset_ = 0;
};

// A switch's header at `ns` of its clock.
MirrorInfo Header(wire::ErspanGranularity granularity, bool upper, int64_t ns) {
  MirrorInfo mirror = {.kind = MirrorKind::kErspan3, .has_timestamp = true};
  mirror.granularity = granularity;
  const int64_t unit = std::max<int64_t>(wire::NanosecondsOf(granularity), 1);
  if (granularity == wire::ErspanGranularity::kIeee1588) {
    mirror.timestamp = static_cast<uint32_t>(ns % kSecond);
    mirror.has_seconds = upper;
    mirror.timestamp_upper = static_cast<uint32_t>(ns / kSecond);
  } else {
    mirror.timestamp = static_cast<uint32_t>(ns / unit);
    mirror.has_upper_timestamp = upper;
    mirror.timestamp_upper = static_cast<uint32_t>(ns / unit >> 32);
  }
  return mirror;
}

class FollowerOf : public testing::TestWithParam<std::tuple<int, bool>> {};

// Intervals of microseconds and sometimes minutes, also backwards; clocks that are set; other
// headers in between.
TEST_P(FollowerOf, AnyClockMatchesTheReferenceModel) {
  const auto [gra, upper] = GetParam();
  const auto granularity = static_cast<wire::ErspanGranularity>(gra);
  std::mt19937_64 random(gra * 2 + upper);
  MirrorFollower follower{MirrorStream{}};
  Model model;
  int64_t now = kStart;
  int64_t skew = -kStart / 2;
  for (int i = 0; i < 20'000; ++i) {
    now += static_cast<int64_t>(random() % 100'000);
    if (random() % 256 == 0) now += static_cast<int64_t>(random() % (1'000 * kSecond));
    if (random() % 256 == 0) now -= static_cast<int64_t>(random() % (10 * kSecond));
    if (random() % 512 == 0) skew = static_cast<int64_t>(random() % (200 * kSecond));
    MirrorInfo mirror =
        Header(granularity, upper, now + skew + static_cast<int64_t>(random() % 50'000));
    if (random() % 64 == 0) mirror.timestamp = static_cast<uint32_t>(random());
    if (random() % 64 == 0) mirror.timestamp_upper = static_cast<uint32_t>(random());
    if (random() % 64 == 0) mirror.has_seconds = !mirror.has_seconds;
    ASSERT_EQ(follower.Follow(mirror, FromNanoseconds(now)),
              model.Follow(mirror, FromNanoseconds(now)))
        << "step " << i;
  }
}

INSTANTIATE_TEST_SUITE_P(Clocks, FollowerOf,
                         testing::Combine(testing::Values(0, 1, 2, 3), testing::Bool()));

MirrorStream Session(uint16_t session, uint64_t frames, uint64_t lost, int64_t offset = 0) {
  return {.source = IpAddress::FromV4(0x0a000005),
          .session = session,
          .kind = MirrorKind::kErspan3,
          .frames = frames,
          .lost = lost,
          .has_clock = true,
          .clock_offset_ns = offset};
}

TEST(MirrorStreams, OfSeveralCoresAreMergedInOrder) {
  std::vector<MirrorStream> all = {Session(2, 10, 1), Session(7, 10, 2)};
  MergeMirrorStreams(all, {Session(1, 5, 0), Session(7, 20, 4), Session(9, 1, 1)});
  ASSERT_EQ(all.size(), 4u);
  const uint64_t expected[][3] = {{1, 5, 0}, {2, 10, 1}, {7, 30, 6}, {9, 1, 1}};
  for (size_t i = 0; i < all.size(); ++i) {
    EXPECT_EQ(all[i].session, expected[i][0]);
    EXPECT_EQ(all[i].frames, expected[i][1]);
    EXPECT_EQ(all[i].lost, expected[i][2]);
  }
}

TEST(MirrorStreams, UseClockOfTheCoreWithMoreFrames) {
  std::vector<MirrorStream> all = {Session(7, 10, 0, 111)};
  MergeMirrorStreams(all, {Session(7, 20, 0, 222)});
  MergeMirrorStreams(all, {Session(7, 5, 0, 333)});
  EXPECT_EQ(all.at(0).clock_offset_ns, 222);
}

MirrorInfo Numbered(uint32_t sequence) {
  return {.kind = MirrorKind::kErspan2, .has_sequence = true, .sequence = sequence};
}

// Copies of three sessions. A session is chosen at random, and sends `length` copies.
class Sessions {
 public:
  explicit Sessions(uint32_t length = 1) : length_(length) {}

  // Each copy is lost with this probability. Returns the number of lost copies between the first
  // and the last received one.
  uint64_t Send(bool is_shared, double loss) {
    std::mt19937 random(7);
    size_t session = 0;
    uint64_t lost = 0;
    std::optional<uint64_t> lost_at_start;
    uint64_t lost_at_end = 0;
    std::vector<uint32_t> own(followers_.size(), 100);
    uint32_t shared = UINT32_MAX - 1000;  // wraps
    for (uint32_t i = 0; i < 10'000 * length_; ++i) {
      if (i % length_ == 0) session = random() % followers_.size();
      const uint32_t sequence = is_shared ? shared++ : own[session]++;
      if (std::bernoulli_distribution(loss)(random)) {
        ++lost;
        continue;
      }
      if (!lost_at_start) lost_at_start = lost;
      lost_at_end = lost;
      Receive(session, sequence);
    }
    return lost_at_end - *lost_at_start;
  }
  void Receive(size_t session, uint32_t sequence) {
    followers_[session].Follow(Numbered(sequence), FromNanoseconds(kStart));
  }
  uint64_t Lost() const {
    uint64_t lost = 0;
    for (const MirrorFollower& one : followers_) lost += one.stream().lost;
    return lost;
  }

 private:
  const uint32_t length_;
  // Two switches; the second one has one session.
  MirrorCounter first_{MirrorCounter::Scope::kSwitch};
  MirrorCounter second_{MirrorCounter::Scope::kSwitch};
  MirrorCounter capture_{MirrorCounter::Scope::kCapture};
  std::vector<MirrorFollower> followers_ = {
      MirrorFollower(Session(1, 0, 0), {&first_, &capture_}),
      MirrorFollower(Session(2, 0, 0), {&first_, &capture_}),
      MirrorFollower(Session(1, 0, 0), {&second_, &capture_})};
};

// Two switches with two sessions each, and one counter for each switch.
TEST(MirrorCounter, SwitchesHaveTheirOwnCounters) {
  MirrorCounter first(MirrorCounter::Scope::kSwitch);
  MirrorCounter second(MirrorCounter::Scope::kSwitch);
  MirrorCounter capture(MirrorCounter::Scope::kCapture);
  std::vector<MirrorFollower> followers = {MirrorFollower(Session(1, 0, 0), {&first, &capture}),
                                           MirrorFollower(Session(2, 0, 0), {&first, &capture}),
                                           MirrorFollower(Session(1, 0, 0), {&second, &capture}),
                                           MirrorFollower(Session(2, 0, 0), {&second, &capture})};
  std::mt19937 random(7);
  uint32_t numbers[] = {100, 5'000};
  for (int i = 0; i < 10'000; ++i) {
    const size_t session = random() % followers.size();
    followers[session].Follow(Numbered(numbers[session / 2]++), FromNanoseconds(kStart));
  }
  for (const MirrorFollower& one : followers) EXPECT_EQ(one.stream().lost, 0u);
}

TEST(MirrorCounter, CopiesOfOtherSessionsAreNoLosses) {
  Sessions sessions;
  EXPECT_EQ(sessions.Send(/*is_shared=*/true, 0), 0u);
  EXPECT_EQ(sessions.Lost(), 0u);
}

TEST(MirrorCounter, LossesOfASharedCounterAreCounted) {
  Sessions sessions;
  const uint64_t lost = sessions.Send(/*is_shared=*/true, 0.1);
  EXPECT_EQ(sessions.Lost(), lost);
}

TEST(MirrorCounter, LossesWithinLongRunsOfASessionAreCounted) {
  Sessions sessions(100);
  const uint64_t lost = sessions.Send(/*is_shared=*/true, 0.01);
  EXPECT_EQ(sessions.Lost(), lost);
}

TEST(MirrorCounter, ReorderedCopiesAreNoLosses) {
  Sessions sessions;
  uint32_t next = 0;
  for (; next < 100; ++next) sessions.Receive(next % 3, next);
  sessions.Receive(0, next);
  sessions.Receive(0, next + 2);
  sessions.Receive(1, next + 1);
  sessions.Receive(0, next + 3);
  sessions.Receive(2, next + 4);
  EXPECT_EQ(sessions.Lost(), 0u);
}

TEST(MirrorCounter, LossesOfSeparateCountersAreCounted) {
  Sessions sessions;
  const uint64_t lost = sessions.Send(/*is_shared=*/false, 0.1);
  EXPECT_GT(sessions.Lost(), lost - 20);  // losses at the end of a session are unknown
  EXPECT_LE(sessions.Lost(), lost);
}

}  // namespace
}  // namespace rocescope
