// SPDX-License-Identifier: BSD-3-Clause
#include "sim/workload/tcp_flow.h"

#include <gtest/gtest.h>

#include <memory>

#include "topology/generate.h"

namespace rocescope::sim {
namespace {

constexpr SimTime kEnd = 50 * kMillisecond;

// Loses every n-th frame.
class EveryNth final : public WireFault {
 public:
  explicit EveryNth(uint64_t n) : n_(n) {}
  Fate FateOf(const Frame&) override { return ++count_ % n_ == 0 ? Fate::kLost : Fate::kPasses; }
  uint64_t lost() const { return count_ / n_; }

 private:
  const uint64_t n_;
  uint64_t count_ = 0;
};

class TcpFlowTest : public ::testing::Test {
 protected:
  TcpFlowTest()
      : fabric_(topology::Generate({.hosts = 4, .leaves = 2, .spines = 2}).value()),
        network_(fabric_, {}) {}

  TcpFlow& Start(const TcpFlow::Options& options) {
    flow_ = std::make_unique<TcpFlow>(network_, options);
    flow_->Begin();
    return *flow_;
  }

  topology::Fabric fabric_;
  std::unique_ptr<TcpFlow> flow_;  // outlives the engine, whose events refer to it
  Network network_;
};

TEST_F(TcpFlowTest, CarriesItsLoadOnALossyPriority) {
  const TcpFlow& flow = Start({.from = 0, .to = 2, .load = 0.1, .message = 64u << 10, .seed = 5});
  network_.engine().Run(kEnd);
  // 10 % of 100 Gb/s for 50 ms are 62.5 MB: about 950 messages with a Poisson spread of 3 %.
  constexpr double kBytes = 0.1 * 100e9 / 8 * 0.05;
  EXPECT_NEAR(static_cast<double>(flow.bytes_received()), kBytes, 0.1 * kBytes);
  EXPECT_EQ(flow.retransmitted(), 0u);
  const topology::PortIndex edge = fabric_.Peer(fabric_.nic(2).port);
  EXPECT_GT(network_.port(edge).counters().watermark[0], 0u);
  EXPECT_EQ(network_.port(edge).counters().watermark[3], 0u);
}

TEST_F(TcpFlowTest, DeliversEverythingInOrderDespiteLosses) {
  EveryNth wire(50);
  network_.nic(0).port().SetFault(&wire);
  const TcpFlow& flow = Start({.from = 0,
                               .to = 2,
                               .load = 0.02,
                               .message = 100'000,
                               .end = kEnd / 2,
                               .retransmission_timeout = 2 * kMillisecond,
                               .seed = 5});
  network_.engine().Run(kEnd);
  EXPECT_GT(wire.lost(), 20u);
  EXPECT_GE(flow.retransmitted(), wire.lost() / 2);
  EXPECT_GT(flow.bytes_received(), 0u);
  EXPECT_EQ(flow.bytes_received() % 100'000, 0u);  // whole messages only
  EXPECT_EQ(network_.shared().frames.out(), 0u);
}

TEST_F(TcpFlowTest, EveryFrameIsAccountedFor) {
  Start({.from = 0, .to = 2, .load = 0.3, .seed = 2});
  network_.engine().Run(kEnd / 10);
  uint64_t sent = 0;
  uint64_t ended = network_.shared().frames.out();
  for (topology::NicIndex i = 0; i < 4; ++i) {
    sent += network_.nic(i).counters().tx_frames;
    ended += network_.nic(i).delivered();
  }
  EXPECT_GT(sent, 1000u);
  EXPECT_EQ(sent, ended);
}

}  // namespace
}  // namespace rocescope::sim
