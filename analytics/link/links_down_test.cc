// SPDX-License-Identifier: BSD-3-Clause
#include "analytics/link/links_down.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "topology/generate.h"

namespace rocescope {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class LinksDownTest : public testing::Test {
 protected:
  // The port of leaf0 to spine0.
  LinksDownTest() : link_(fabric_.port(leaf_).link) {}

  void Report(topology::PortIndex port, Metric metric, uint64_t value, int second) {
    const topology::Port& of = fabric_.port(port);
    metrics_.Add(CounterRecord{
        .entity = {.kind = EntityKind::kPort, .node = fabric_.node(of.node).name, .port = of.name},
        .metric = metric,
        .value = value,
        .event_time = Timestamp(std::chrono::seconds(second))});
  }

  topology::PortIndex PortTo(const char* node, const char* peer) const {
    for (topology::PortIndex port = 0; port < fabric_.ports().size(); ++port) {
      const topology::NodeIndex other = fabric_.PeerNode(port);
      if (other == topology::kNone || fabric_.node(other).name != peer) continue;
      if (fabric_.node(fabric_.port(port).node).name == node) return port;
    }
    return topology::kNone;
  }

  const topology::Fabric fabric_ =
      topology::Generate({.hosts = 4, .leaves = 2, .spines = 2}).value();
  const topology::PortIndex leaf_ = PortTo("leaf0", "spine0");
  const topology::PortIndex spine_ = PortTo("spine0", "leaf0");
  const topology::LinkIndex link_;
  MetricStore metrics_{fabric_};
};

TEST_F(LinksDownTest, LinksWithoutReadingsAreNotDown) {
  EXPECT_THAT(LinksNeverUp(fabric_, metrics_), IsEmpty());
}

TEST_F(LinksDownTest, ALinkThatIsDownSinceTheStartWasNeverUp) {
  Report(leaf_, Metric::kAdminUp, 1, 1);
  Report(leaf_, Metric::kLinkUp, 0, 1);
  EXPECT_THAT(LinksNeverUp(fabric_, metrics_), ElementsAre(link_));
  Report(spine_, Metric::kLinkUp, 0, 2);
  EXPECT_THAT(LinksNeverUp(fabric_, metrics_), ElementsAre(link_));
}

TEST_F(LinksDownTest, ALinkThatWasUpIsLeftToTheDiagnosis) {
  Report(leaf_, Metric::kLinkUp, 0, 1);
  Report(spine_, Metric::kLinkUp, 1, 1);
  Report(spine_, Metric::kLinkUp, 0, 2);
  EXPECT_THAT(LinksNeverUp(fabric_, metrics_), IsEmpty());
}

TEST_F(LinksDownTest, ADisabledLinkIsNotReported) {
  Report(leaf_, Metric::kLinkUp, 0, 1);
  Report(spine_, Metric::kAdminUp, 0, 1);
  EXPECT_THAT(LinksNeverUp(fabric_, metrics_), IsEmpty());
}

}  // namespace
}  // namespace rocescope
