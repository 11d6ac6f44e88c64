// SPDX-License-Identifier: BSD-3-Clause
#include "topology/near_nic.h"

#include <gtest/gtest.h>

#include <utility>

#include "topology/generate.h"

namespace rocescope::topology {
namespace {

TEST(NicNear, IsTheDeclaredOneOrThatOfTheRail) {
  const Fabric generated =
      Generate({.hosts = 2, .nics_per_host = 2, .leaves = 2, .spines = 1}).value();
  Fabric::Parts parts = generated.parts();
  ASSERT_EQ(parts.gpus.size(), 4u);
  for (Gpu& gpu : parts.gpus) gpu.nic = kNone;
  const NicIndex first = generated.NicsOf(parts.gpus[0].host)[0];
  const NicIndex second = generated.NicsOf(parts.gpus[0].host)[1];
  parts.gpus[0].rail = parts.nics[second].rail;  // no NIC declared
  parts.gpus[1].rail = parts.nics[second].rail;
  parts.gpus[1].nic = first;
  parts.gpus[2].rail = 77;  // no NIC has this rail
  const Fabric fabric = Fabric::Make(std::move(parts)).value();
  EXPECT_EQ(NicNear(fabric, 0), second);
  EXPECT_EQ(NicNear(fabric, 1), first);
  EXPECT_EQ(NicNear(fabric, 2), kNone);
}

}  // namespace
}  // namespace rocescope::topology
