// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/common/report/table.h"

#include <gtest/gtest.h>

#include <limits>

namespace rocescope {
namespace {

TEST(TextTable, AlignsColumnsByTheirWidestCell) {
  TextTable table({{"HOST"}, {"BYTES", Align::kRight}, {"NIC"}});
  table.Add({"node0", "7", "mlx5_0"});
  table.Add({"n1", "1,234,567", "rxe0"});
  EXPECT_EQ(table.Render(2),
            "  HOST       BYTES  NIC\n"
            "  node0          7  mlx5_0\n"
            "  n1     1,234,567  rxe0\n");
}

TEST(TextTable, ATitleMayBeTheWidest) {
  TextTable table({{"A", Align::kRight}, {"MESSAGES", Align::kRight}});
  table.Add({"100", "2"});
  EXPECT_EQ(table.Render(0),
            "  A  MESSAGES\n"
            "100         2\n");
}

TEST(TextTable, LeavesOutColumnsWithoutContent) {
  TextTable table({{"A"}, {"RETRANS", Align::kRight}, {"B"}});
  table.Add({"x", "", "y"});
  EXPECT_EQ(table.Render(0), "A  B\nx  y\n");
}

TEST(TextTable, PadsShortRowsAndEndsNoLineInSpaces) {
  TextTable table({{"A"}, {"LONG TITLE"}});
  table.Add({"x"});
  table.Add({"y", "z"});
  EXPECT_EQ(table.Render(0), "A  LONG TITLE\nx\ny  z\n");
}

TEST(TextTable, WrapsALongLastColumn) {
  TextTable table({{"FROM"}, {"PATH"}});
  table.Add({"a", "leaf0:Ethernet1 > spine0:Ethernet2 > leaf1:Ethernet3"});
  EXPECT_EQ(table.Render(2, 44),
            "  FROM  PATH\n"
            "  a     leaf0:Ethernet1 > spine0:Ethernet2 >\n"
            "        leaf1:Ethernet3\n");
}

TEST(TextTable, LosesTheMostDispensableColumnsFirstAndNamesThem) {
  TextTable table({{"QUEUE"},
                   {"PRIORITY", Align::kRight, 1},
                   {"FLOWS", Align::kRight, 2},
                   {"CE", Align::kRight}});
  table.Add({"leaf0:Ethernet1", "3", "12", "5"});
  EXPECT_EQ(table.Render(0, 36), table.Render(0)) << "it fits exactly";
  EXPECT_EQ(table.Render(0, 35),
            "QUEUE            PRIORITY  CE\n"
            "leaf0:Ethernet1         3   5\n"
            "not shown at this width: FLOWS\n");
  EXPECT_EQ(table.Render(0, 10),
            "QUEUE            CE\n"
            "leaf0:Ethernet1   5\n"
            "not shown at this width: PRIORITY, FLOWS\n");
}

TEST(HumanBytes, CountsInThousands) {
  EXPECT_EQ(HumanBytes(0), "0 B");
  EXPECT_EQ(HumanBytes(999), "999 B");
  EXPECT_EQ(HumanBytes(1'000), "1.0 kB");
  EXPECT_EQ(HumanBytes(98'308), "98.3 kB");
  EXPECT_EQ(HumanBytes(999'949), "999.9 kB");
  EXPECT_EQ(HumanBytes(999'999), "1.0 MB") << "never 1000.0 kB";
  EXPECT_EQ(HumanBytes(std::numeric_limits<uint64_t>::max()), "18446.7 PB");
}

TEST(HumanDuration, PicksTheUnit) {
  EXPECT_EQ(HumanDuration(0), "0 ns");
  EXPECT_EQ(HumanDuration(999), "999 ns");
  EXPECT_EQ(HumanDuration(12'345), "12.3 us");
  EXPECT_EQ(HumanDuration(12'345'678), "12.3 ms");
  EXPECT_EQ(HumanDuration(10'020'000'000), "10.02 s");
}

TEST(HumanDuration, RoundsUpToTheNextUnit) {
  EXPECT_EQ(HumanDuration(999'999), "1.0 ms");
  EXPECT_EQ(HumanDuration(999'999'999), "1.00 s");
}

TEST(HumanDuration, PrintsMinutesHoursAndDays) {
  constexpr int64_t kSecond = 1'000'000'000;
  EXPECT_EQ(HumanDuration(59 * kSecond), "59.00 s");
  EXPECT_EQ(HumanDuration(60 * kSecond - 1), "1 min 0 s") << "never 60.00 s";
  EXPECT_EQ(HumanDuration(125 * kSecond), "2 min 5 s");
  EXPECT_EQ(HumanDuration(3'600 * kSecond - 1), "1 h 0 min");
  EXPECT_EQ(HumanDuration(7'260 * kSecond), "2 h 1 min");
  EXPECT_EQ(HumanDuration(100'800 * kSecond), "1 d 4 h") << "28 hours";
}

TEST(SignedDuration, HasOneSign) {
  EXPECT_EQ(SignedDuration(0), "+0 ns");
  EXPECT_EQ(SignedDuration(14'100), "+14.1 us");
  EXPECT_EQ(SignedDuration(-20'769), "-20.8 us");
}

TEST(ConfidenceText, NeverRoundsUp) {
  EXPECT_EQ(ConfidenceText(0), "0.00");
  EXPECT_EQ(ConfidenceText(0.5), "0.50");
  EXPECT_EQ(ConfidenceText(0.29), "0.29") << "though a double of 0.29 times 100 is less than 29";
  EXPECT_EQ(ConfidenceText(0.989'9), "0.98");
  EXPECT_EQ(ConfidenceText(0.99), "0.99");
  EXPECT_EQ(ConfidenceText(0.998), ">0.99");
  EXPECT_EQ(ConfidenceText(1), ">0.99") << "nothing here is beyond doubt";
}

TEST(TextTable, EscapesCells) {
  TextTable table({{"HOST"}, {"NIC"}});
  table.Add({"no\nde\x1b[2J", "mlx5_0"});
  EXPECT_EQ(table.Render(0),
            "HOST           NIC\n"
            "no\\nde\\x1b[2J  mlx5_0\n");
}

}  // namespace
}  // namespace rocescope
