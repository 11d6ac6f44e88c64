// SPDX-License-Identifier: BSD-3-Clause
// The constants of sizing.h are the figures of docs/sizing.md.
#include "appliance/cli/plan/sizing.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <map>
#include <sstream>
#include <string>

#include "appliance/common/config/config.h"
#include "base/count_text.h"
#include "dataplane/record/capacity.h"

namespace rocescope::plan {
namespace {

using testing::HasSubstr;

std::string Page() {
  std::ifstream file(ROCESCOPE_SIZING_PAGE);
  return {std::istreambuf_iterator<char>(file), {}};
}

// The second column of each row whose first column is a constant: "| `kName` | 2,000,000 | ...".
std::map<std::string, double> FiguresOf(const std::string& page) {
  std::map<std::string, double> figures;
  std::istringstream lines(page);
  constexpr std::string_view kStart = "| `k";
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with(kStart)) continue;
    const size_t end = line.find('`', kStart.size());
    const size_t value = line.find('|', end) + 1;
    std::string digits = line.substr(value, line.find('|', value) - value);
    std::erase(digits, ',');
    figures[line.substr(3, end - 3)] = std::stod(digits);
  }
  return figures;
}

TEST(SizingTest, ConstantsAreTheFiguresOfThePage) {
  std::map<std::string, double> constants;
  for (const SizingFigure& figure : kSizingFigures) {
    constants[std::string(figure.name)] = figure.value;
  }
  ASSERT_EQ(constants.size(), kSizingFigures.size());
  EXPECT_EQ(FiguresOf(Page()), constants);
}

TEST(SizingTest, TheSummaryFollowsFromTheConstants) {
  const std::string page = Page();
  const double cores = 1e6 / kPacketsPerCore;
  EXPECT_THAT(page, HasSubstr(fmt::format("| Cores for 1,000,000 mirrored packets/s | {} | {} |",
                                          cores, cores * kCoreSafety)));
  const auto memory = [&](std::string_view what, double bytes) {
    EXPECT_THAT(page, HasSubstr(fmt::format("| {} | {:.2f} GB | {:.2f} GB |", what, bytes / 1e9,
                                            bytes / 1e9 * kMemoryHeadroom * kMemoryHeadroom)));
  };
  memory("Memory for 100,000 flows", 1e5 * kFlowBytes);
  memory("Memory for 1,000,000 flows", 1e6 * kFlowBytes);
  memory("Memory for each receiving core", kReceiveCoreBytes);
  memory("Memory for 10,000 links of the topology", 1e4 * kLinkBytes);
  EXPECT_THAT(page,
              HasSubstr(fmt::format("| Disk for 1,000 links and a day of history | {:.1f} MB |",
                                    2 * 1e3 * 24 * 60 * kLinkMinuteBytes / 1e6)));
}

TEST(SizingTest, LimitsAreThoseOfTheProgram) {
  EXPECT_EQ(kMostFlows, kFlowCapacity);
  const auto lcores = [](uint64_t count) {
    return ParseConfig(fmt::format("dpdk: {{eal: [--no-huge], lcores: {}}}\n", count), "a.yaml");
  };
  EXPECT_TRUE(lcores(kMostReceiveCores).has_value());
  EXPECT_FALSE(lcores(kMostReceiveCores + 1).has_value());
  const ApplianceConfig defaults;
  EXPECT_EQ(defaults.memory, kDefaultBudget);
  EXPECT_EQ(defaults.history.max_bytes, kDefaultHistoryBytes);
  EXPECT_EQ(defaults.history.keep_series, std::chrono::hours(24 * kHistoryDays));
}

}  // namespace
}  // namespace rocescope::plan
