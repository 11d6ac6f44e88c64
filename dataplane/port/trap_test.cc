// SPDX-License-Identifier: BSD-3-Clause
#include "dataplane/port/trap.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace rocescope {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

TEST(Trap, IsAPortThatCountsFramesAndDeliversNone) {
  const TrapReading before = {.on_wire = 5'000, .delivered = 4'000};
  EXPECT_TRUE(LooksTrapped(before, {.on_wire = 10'000, .delivered = 4'003}));
}

TEST(Trap, IsNotAPortThatDelivers) {
  EXPECT_FALSE(LooksTrapped({}, {.on_wire = 10'000, .delivered = 9'999}));
  EXPECT_FALSE(LooksTrapped({}, {.on_wire = 10'000, .delivered = 200}));
}

TEST(Trap, IsNotSilence) { EXPECT_FALSE(LooksTrapped({}, {.on_wire = 20, .delivered = 0})); }

TEST(Trap, IsNotToldFromADriverThatDoesNotCountTheWire) {
  EXPECT_FALSE(LooksTrapped({}, {.on_wire = 0, .delivered = 0}));
}

TEST(Trap, SurvivesCountersThatWereReset) {
  EXPECT_FALSE(LooksTrapped({.on_wire = 9'000, .delivered = 9'000}, {.on_wire = 5}));
}

TEST(RdmaTrapDetector, SeesAPortThatIsTrappedFromTheBeginning) {
  RdmaTrapDetector watch;
  EXPECT_THAT(watch.Look("p", {.on_wire = 600}), IsEmpty());
  EXPECT_THAT(watch.Look("p", {.on_wire = 1'200}), HasSubstr("1200 frames"));
  EXPECT_THAT(watch.Look("p", {.on_wire = 9'000}), IsEmpty()) << "said once";
}

// Somebody binds the RDMA driver while rocescope runs.
TEST(RdmaTrapDetector, SeesAPortThatIsTrappedLater) {
  RdmaTrapDetector watch;
  EXPECT_THAT(watch.Look("p", {.on_wire = 1'000'000, .delivered = 1'000'000}), IsEmpty());
  EXPECT_THAT(watch.Look("p", {.on_wire = 1'000'500, .delivered = 1'000'000}), IsEmpty());
  EXPECT_THAT(watch.Look("p", {.on_wire = 1'001'000, .delivered = 1'000'003}),
              HasSubstr("1000 frames, of which 3"));
}

TEST(RdmaTrapDetector, DoesNotTakeALullForOne) {
  RdmaTrapDetector watch;
  for (uint64_t second = 1; second < 100; ++second) {
    EXPECT_THAT(watch.Look("p", {.on_wire = second * 300, .delivered = second * 300}), IsEmpty());
  }
}

TEST(Trap, SaysWhatToDo) {
  EXPECT_THAT(DescribeTrap("0000:3b:00.0", {}, {.on_wire = 4'000}),
              testing::AllOf(HasSubstr("port 0000:3b:00.0"), HasSubstr("4000 frames"),
                             HasSubstr("pci/0000:3b:00.0 name enable_roce")));
  EXPECT_THAT(DescribeTrap("0000:3b:00.0", {}, {.on_wire = 4'000, .delivered = 4'000}), IsEmpty());
}

}  // namespace
}  // namespace rocescope
