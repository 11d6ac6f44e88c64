// SPDX-License-Identifier: BSD-3-Clause
#include "sim/truth/recorder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "topology/generate.h"

namespace rocescope::sim {
namespace {

using ::testing::ElementsAre;
using ::testing::SizeIs;

class RecorderTest : public ::testing::Test {
 protected:
  RecorderTest()
      : fabric_(topology::Generate(
                    {.shape = topology::Shape::kLeafSpine, .hosts = 4, .leaves = 2, .spines = 2})
                    .value()),
        network_(std::make_unique<Network>(fabric_, NetworkOptions{})),
        recorder_(*network_, 100'000) {}
  ~RecorderTest() override { network_->engine().Clear(); }  // the recorder's look waits there

  std::vector<std::string> Names(const std::vector<topology::PortIndex>& ports) const {
    std::vector<std::string> nodes;
    for (const topology::PortIndex port : ports) {
      nodes.push_back(fabric_.node(fabric_.port(port).node).name);
    }
    return nodes;
  }

  topology::Fabric fabric_;
  std::unique_ptr<Network> network_;
  Recorder recorder_;
};

TEST_F(RecorderTest, APathIsThatOfTheFramesThemselves) {
  const Network::Connection connection = network_->Connect(0, 3, nullptr);
  recorder_.Start();
  connection.first->Post({.length = 1u << 20});
  network_->engine().Run(kMillisecond);
  recorder_.Finish();
  const auto& paths = recorder_.paths()[connection.first->identity().number];
  ASSERT_THAT(paths, SizeIs(1));
  EXPECT_EQ(paths[0].start, 0);
  EXPECT_EQ(paths[0].end, kMillisecond);
  ASSERT_THAT(paths[0].ports, SizeIs(3));
  EXPECT_EQ(paths[0].bytes, connection.first->bytes_sent());
  EXPECT_GT(paths[0].bytes, 1u << 20);
  for (const topology::PortIndex port : paths[0].ports) {
    EXPECT_EQ(network_->port(port).counters().tx_frames, 256u) << fabric_.NameOf(port);
  }
}

TEST_F(RecorderTest, ANewRouteEndsThePathAndBeginsAnother) {
  const Network::Connection connection = network_->Connect(0, 3, nullptr);
  recorder_.Start();
  const auto first = network_->PathOf(*connection.first);
  network_->engine().At(500 * kMicrosecond, [&] {
    std::vector<bool> failed(fabric_.links().size());
    failed[fabric_.port(first[0]).link] = true;
    network_->Reroute(failed);
  });
  network_->engine().Run(kMillisecond);
  recorder_.Finish();
  const auto& paths = recorder_.paths()[connection.first->identity().number];
  ASSERT_THAT(paths, SizeIs(2));
  EXPECT_EQ(paths[0].end, 500 * kMicrosecond);
  EXPECT_NE(Names(paths[0].ports)[1], Names(paths[1].ports)[1]);
}

TEST_F(RecorderTest, AHostOfTheSameLeafIsOneHopAway) {
  const Network::Connection connection = network_->Connect(0, 1, nullptr);
  EXPECT_THAT(Names(network_->PathOf(*connection.first)), ElementsAre("leaf0"));
}

TEST_F(RecorderTest, AnIncastMakesItsLastHopStand) {
  for (const topology::NicIndex from : {1u, 2u, 3u}) {
    network_->Connect(from, 0, nullptr).first->Post({.length = 4u << 20});
  }
  recorder_.Start();
  network_->engine().Run(10 * kMillisecond);
  recorder_.Finish();
  ASSERT_FALSE(recorder_.queues().empty());
  bool last_hop = false;
  for (const Recorder::Queue& queue : recorder_.queues()) {
    EXPECT_GE(queue.peak, 100'000u);
    EXPECT_LT(queue.start, queue.end);
    last_hop |= queue.port == fabric_.Peer(fabric_.nic(0).port);
  }
  EXPECT_TRUE(last_hop);
}

}  // namespace
}  // namespace rocescope::sim
