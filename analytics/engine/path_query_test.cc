// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "analytics/connection/observation_builder.h"
#include "analytics/engine/engine.h"
#include "analytics/path/path_fixture.h"

namespace rocescope {
namespace {

// Flows from host0 to host4 (queue pairs 7 and 9), to host5 and back, observed at host0's leaf.
class PathQuery : public testing::Test {
 protected:
  PathQuery() {
    const topology::NodeIndex leaf = fabric_->FindNode("leaf0");
    engine_.LearnTap({.tap = 3,
                      .switch_address = fabric_->node(leaf).erspan_source,
                      .session = 1,
                      .side = TapSide::kIngress,
                      .has_port = true,
                      .port = fabric_->port(PortBetween(*fabric_, "leaf0", "host0")).number});
    engine_.Ingest({.flows = {Seen(Flow("host0", "host4", 9)), Seen(Flow("host0", "host4", 7)),
                              Seen(Flow("host0", "host5", 7)), Seen(Flow("host4", "host0", 7)),
                              Seen(Flow("host0", "host4", 8, 5))}});
    snapshot_ = engine_.Publish();
  }

  FlowKey Flow(std::string_view from, std::string_view to, uint32_t qpn,
               Segment segment = 0) const {
    const auto address = [&](std::string_view host) {
      return fabric_->nic(NicOfHost(*fabric_, host)).addresses.front().address;
    };
    return {.source = address(from),
            .destination = address(to),
            .destination_qpn = {qpn},
            .segment = segment};
  }
  static FlowRecord Seen(const FlowKey& flow) {
    return {.flow = flow, .tap = 3, .first_seen = At(0), .last_seen = At(9), .packets = 4};
  }
  std::vector<uint32_t> NumbersBetween(std::string_view from, std::string_view to) const {
    std::vector<uint32_t> numbers;
    for (const FlowPath* path :
         snapshot_->PathsBetween(NicOfHost(*fabric_, from), NicOfHost(*fabric_, to))) {
      numbers.push_back(path->flow.destination_qpn.value);
    }
    return numbers;
  }

  const std::shared_ptr<const topology::Fabric> fabric_ =
      std::make_shared<const topology::Fabric>(SmallFatTree());
  Engine engine_{{}, fabric_};
  std::shared_ptr<const Snapshot> snapshot_;
};

TEST_F(PathQuery, FindsTheFlow) {
  const FlowPath* path = snapshot_->PathOf(Flow("host0", "host4", 7));
  ASSERT_NE(path, nullptr);
  EXPECT_EQ(path->flow, Flow("host0", "host4", 7));
  // Two spines with two cores each are on the way: the tap at the first leaf leaves four paths.
  EXPECT_EQ(path->intervals.at(0).candidates, 4u);
}

TEST_F(PathQuery, HasNoPathOfAnUnobservedFlow) {
  EXPECT_EQ(snapshot_->PathOf(Flow("host0", "host4", 6)), nullptr);
  EXPECT_EQ(Engine().Publish()->PathOf(Flow("host0", "host4", 7)), nullptr);
}

TEST_F(PathQuery, FindsTheFlowsFromOneNicToAnother) {
  EXPECT_EQ(NumbersBetween("host0", "host4"), (std::vector<uint32_t>{7, 9}));
  EXPECT_EQ(NumbersBetween("host4", "host0"), (std::vector<uint32_t>{7}));
  EXPECT_TRUE(NumbersBetween("host5", "host0").empty());
}

// ERSPAN type II has a field for the port, which a switch may leave empty, and none for the
// direction.
void ExpectPathByCore1(topology::TapDirection declared, TapSide told, std::string_view first,
                       std::string_view second) {
  topology::Fabric::Parts parts = SmallFatTree().parts();
  const topology::Fabric plain = SmallFatTree();
  parts.taps.push_back(
      {.node = plain.FindNode("core1"),
       .session = 3,
       .direction = declared,
       .names_port = false,
       .ports = {PortBetween(plain, "core1", first), PortBetween(plain, "core1", second)}});
  const auto fabric =
      std::make_shared<const topology::Fabric>(topology::Fabric::Make(std::move(parts)).value());
  Engine engine({}, fabric);
  engine.LearnTap({.tap = 1,
                   .switch_address = fabric->node(fabric->FindNode("core1")).erspan_source,
                   .session = 3,
                   .side = told,
                   .has_port = true,
                   .port = 0});
  const auto address = [&](std::string_view host) {
    return fabric->nic(NicOfHost(*fabric, host)).addresses.front().address;
  };
  const FlowKey flow = {.source = address("host0"), .destination = address("host4")};
  engine.Ingest(
      {.flows = {{.flow = flow, .tap = 1, .first_seen = At(0), .last_seen = At(9), .packets = 4}}});
  const auto snapshot = engine.Publish();
  const FlowPath* const path = snapshot->PathOf(flow);
  ASSERT_NE(path, nullptr);
  EXPECT_EQ(NodesOf(*fabric, path->intervals.at(0).path),
            "host0 leaf0 spine0 core1 spine2 leaf2 host4");
}

TEST(PathOfASessionThatNamesNoPort, IsByAnyOfItsPorts) {
  for (const TapSide told : {TapSide::kIngress, TapSide::kUnknown}) {
    ExpectPathByCore1(topology::TapDirection::kIngress, told, "spine0", "spine6");
  }
  for (const TapSide told : {TapSide::kEgress, TapSide::kUnknown}) {
    ExpectPathByCore1(topology::TapDirection::kEgress, told, "spine2", "spine6");
  }
}

}  // namespace
}  // namespace rocescope
