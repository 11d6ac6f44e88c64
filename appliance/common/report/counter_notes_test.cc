// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/common/report/counter_notes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace rocescope {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

OddReadings& Impossible(ReadingProblem& trouble, Metric metric) {
  return trouble.impossible[static_cast<size_t>(metric)];
}

TEST(NotesOnCounters, AreEmptyWithoutProblems) { EXPECT_THAT(NotesOnCounters({}, {}), IsEmpty()); }

TEST(NotesOnCounters, CountIgnoredReadingsWithAnExample) {
  EXPECT_THAT(
      NotesOnCounters({.late = {.count = 1234, .example = "leaf0:Ethernet1 rx_packets 7"},
                       .backwards = {.count = 1, .example = "leaf0:Ethernet2 fcs_errors 0"}},
                      {}),
      ElementsAre(
          "1,234 counter values older than values already received were ignored (first: "
          "leaf0:Ethernet1 rx_packets 7)",
          "1 counter value decreased (counter reset); the increments between the readings are "
          "unknown (first: leaf0:Ethernet2 fcs_errors 0)"));
}

TEST(NotesOnCounters, NameTheMetricsWithMostImplausibleValues) {
  ReadingProblem trouble;
  Impossible(trouble, Metric::kGpuClock) = {.count = 11, .example = "host0:gpu0 gpu_clock 0"};
  EXPECT_THAT(NotesOnCounters(trouble, {}),
              ElementsAre("11 values of gpu_clock were implausible and ignored (first: "
                          "host0:gpu0 gpu_clock 0)"));
  Impossible(trouble, Metric::kRxBytes) = {.count = 20, .example = "a"};
  Impossible(trouble, Metric::kTxBytes) = {.count = 19, .example = "b"};
  Impossible(trouble, Metric::kRxPackets) = {.count = 18, .example = "c"};
  Impossible(trouble, Metric::kTxPackets) = {.count = 1, .example = "d"};
  Impossible(trouble, Metric::kFcsErrors) = {.count = 2, .example = "e"};
  EXPECT_THAT(NotesOnCounters(trouble, {}),
              ElementsAre(HasSubstr("rx_bytes"), HasSubstr("tx_bytes"), HasSubstr("rx_packets"),
                          HasSubstr("gpu_clock"),
                          "3 values of 2 other metrics were implausible and ignored"));
}

TEST(NotesOnCounters, ReportASingleTimestamp) {
  EXPECT_THAT(
      NotesOnCounters({}, {.no_window = true}),
      ElementsAre(
          "counters were read only once, or their readings are more than 256 windows apart, so no "
          "rates can be computed"));
}

TEST(NotesOnCounters, CountTheLinksWithDetectableSilentLoss) {
  EXPECT_THAT(NotesOnCounters({}, {.links = 384, .links_counted = 12}),
              ElementsAre(HasSubstr("on 12 of 384 links only; ")));
  EXPECT_THAT(NotesOnCounters({}, {.links = 384, .links_counted = 384}), IsEmpty());
  EXPECT_THAT(NotesOnCounters({}, {.links = 384}), IsEmpty()) << "then it is not looked for at all";
}

}  // namespace
}  // namespace rocescope
