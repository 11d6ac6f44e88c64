// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/common/files/mirror_view.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <deque>
#include <vector>

#include "tests/support/frame_builder.h"
#include "topology/generate.h"
#include "topology/yaml.h"

namespace rocescope {
namespace {

// A generated fabric with one leaf and one spine. Their ERSPAN sources are 172.16.0.1 and .2.
constexpr const char* kLeaf = "172.16.0.1";
constexpr const char* kSpine = "172.16.0.2";

class MirrorViewTest : public testing::Test {
 protected:
  RawFrame Kept(test::Bytes bytes) {
    bytes_.push_back(std::move(bytes));
    return {.bytes = bytes_.back(), .original_length = 100};
  }
  RawFrame Plain() { return Kept(test::RoceFrame().Bth({}).Build()); }
  RawFrame OfPort(const char* source) {
    return Kept(test::InErspan3(test::RoceFrame().Bth({}).Build(), {.session = 1}, 0,
                                {.platform_id = 5, .info = 3}, {.source = source}));
  }
  RawFrame OfPortSet(const char* source) {
    return Kept(
        test::InErspan3(test::RoceFrame().Bth({}).Build(), {.session = 11}, 0, {.source = source}));
  }
  // The indices of the selected frames, given one frame of each kind.
  std::vector<size_t> Seen(MirrorSessions sessions) {
    const auto fabric = topology::Generate({.hosts = 2, .leaves = 1, .spines = 1}).value();
    MirrorView view({.sessions = sessions, .fabric = &fabric});
    std::vector<RawFrame> frames = {Plain(), OfPort(kLeaf), OfPort(kSpine), OfPortSet(kLeaf),
                                    OfPortSet(kSpine)};
    for (size_t i = 0; i < frames.size(); ++i) frames[i].tap = static_cast<uint16_t>(i);
    frames.resize(view.Keep(frames));
    EXPECT_EQ(view.unsent(), 5 - frames.size());
    std::vector<size_t> places;
    for (const RawFrame& frame : frames) places.push_back(frame.tap);
    return places;
  }

  std::deque<test::Bytes> bytes_;
};

using Places = std::vector<size_t>;

TEST_F(MirrorViewTest, HasSessionsIfEachCoveredSwitchHasOne) {
  using enum MirrorSessions;
  const auto fabric = [](std::string_view mirrors) {
    return topology::LoadFabric(
               fmt::format("generate: {{shape: leaf-spine, hosts: 2, leaves: 1, spines: 1}}\n"
                           "defaults: {{speed: 100G}}\nmirrors: [{}]\n",
                           mirrors),
               "test.yaml")
        .value();
  };
  const auto none = fabric("");
  EXPECT_TRUE(HasSessions(none, kNone));
  EXPECT_FALSE(HasSessions(none, kAll));
  EXPECT_FALSE(HasSessions(none, kLeafPorts));
  const auto leaf = fabric("{switch: leaf0, session: 1, direction: ingress}");
  EXPECT_TRUE(HasSessions(leaf, kAll));
  EXPECT_TRUE(HasSessions(leaf, kLeafPorts));
  EXPECT_FALSE(HasSessions(leaf, kPorts)) << "spine0 has no session";
  EXPECT_FALSE(HasSessions(leaf, kPortSets));
  const auto sets = fabric(
      "{switch: leaf0, session: 1, direction: ingress, names_port: false},"
      "{switch: spine0, session: 1, direction: ingress, names_port: false}");
  EXPECT_TRUE(HasSessions(sets, kPortSets));
  EXPECT_FALSE(HasSessions(sets, kLeafPorts));
}

TEST_F(MirrorViewTest, SelectsTheRequestedSessions) {
  EXPECT_EQ(Seen(MirrorSessions::kAll), (Places{0, 1, 2, 3, 4}));
  EXPECT_EQ(Seen(MirrorSessions::kPorts), (Places{0, 1, 2}));
  EXPECT_EQ(Seen(MirrorSessions::kLeafPorts), (Places{0, 1}));
  EXPECT_EQ(Seen(MirrorSessions::kPortSets), (Places{0, 3, 4}));
}

TEST_F(MirrorViewTest, LosesAShareOfMirroredFramesOnly) {
  constexpr size_t kFrames = 10'000;
  const auto run = [&] {
    MirrorView view({.loss = 0.2});
    std::vector<RawFrame> frames(kFrames, OfPort(kLeaf));
    frames.push_back(Plain());
    const size_t kept = view.Keep(frames);
    EXPECT_EQ(view.lost(), kFrames + 1 - kept);
    EXPECT_EQ(frames[kept - 1].bytes.size(), Plain().bytes.size());
    return kept;
  };
  const size_t kept = run();
  // Five standard deviations of a binomial distribution.
  EXPECT_NEAR(static_cast<double>(kept), 8001, 5 * std::sqrt(kFrames * 0.2 * 0.8));
  EXPECT_EQ(run(), kept);
}

}  // namespace
}  // namespace rocescope
