// SPDX-License-Identifier: BSD-3-Clause
#include "sim/workload/stream.h"

#include <gtest/gtest.h>

#include "topology/generate.h"

namespace rocescope::sim {
namespace {

class StreamTest : public ::testing::Test {
 protected:
  // Returns the used fraction of the link rate over 20 ms.
  double Share(const Stream::Options& options) {
    const topology::Fabric fabric =
        topology::Generate({.shape = topology::Shape::kStar, .hosts = 2}).value();
    Network network(fabric, NetworkOptions{});
    Stream stream(network, options);
    stream.Begin();
    network.engine().Run(20 * kMillisecond);
    const Port& port = network.nic(options.from).port();
    return static_cast<double>(port.counters().tx_bytes + 24 * port.counters().tx_frames) /
           (20e-3 * 100e9 / 8);
  }
};

TEST_F(StreamTest, FillsItsLink) { EXPECT_GT(Share({.from = 0, .to = 1}), 0.99); }

// Poisson: 20 ms at a load of 0.1 are about 380 messages of 64 KiB, with a standard deviation of 5
// %.
TEST_F(StreamTest, MatchesItsLoadOnAverage) {
  EXPECT_NEAR(Share({.from = 0, .to = 1, .message = 64u << 10, .at_once = 8, .load = 0.1}), 0.1,
              0.02);
}

TEST_F(StreamTest, ReadDataComesFromTheResponder) {
  EXPECT_LT(Share({.from = 0, .to = 1, .verb = Verb::kRead}), 0.01);
}

}  // namespace
}  // namespace rocescope::sim
