// SPDX-License-Identifier: BSD-3-Clause
#include "analytics/anomaly/role.h"

#include <gtest/gtest.h>

#include "topology/generate.h"

namespace rocescope {
namespace {

class RoleTest : public testing::Test {
 protected:
  Role RoleOfPort(std::string_view node, uint32_t number, uint8_t priority) const {
    const topology::PortIndex port = fabric_.FindPortByNumber(fabric_.FindNode(node), number);
    return RoleOf(fabric_, {.kind = EntityKind::kPort, .index = port, .priority = priority});
  }

  // Ports 1 to 4 of a leaf are linked to its hosts, the others to spines.
  const topology::Fabric fabric_ =
      topology::Generate({.hosts = 16, .leaves = 4, .spines = 2}).value();
};

TEST_F(RoleTest, IsEqualForPortsOfATierThatFaceTheSameTier) {
  EXPECT_EQ(RoleOfPort("leaf0", 1, 3), RoleOfPort("leaf3", 4, 3));
  EXPECT_NE(RoleOfPort("leaf0", 1, 3), RoleOfPort("leaf0", 5, 3));
  EXPECT_NE(RoleOfPort("leaf0", 1, 3), RoleOfPort("leaf0", 1, 6));
  EXPECT_NE(RoleOfPort("leaf0", 5, 3), RoleOfPort("spine0", 1, 3));
}

TEST_F(RoleTest, HasAReadableName) {
  EXPECT_EQ(NameOf(RoleOfPort("leaf0", 1, 3)), "leaf ports to host, priority 3");
  EXPECT_EQ(NameOf(RoleOf(fabric_, {.kind = EntityKind::kNic, .index = 0})), "NICs");
}

}  // namespace
}  // namespace rocescope
