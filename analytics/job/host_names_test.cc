// SPDX-License-Identifier: BSD-3-Clause
#include "analytics/job/host_names.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <iterator>
#include <random>
#include <string>
#include <vector>

#include "analytics/job/host_name.h"

namespace rocescope {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

HostNames Indexed(const std::vector<std::string>& names) {
  HostNames result;
  for (const std::string& name : names) result.Add(name);
  result.Index();
  return result;
}

// A name of up to four labels.
std::string RandomName(std::mt19937& random) {
  static constexpr const char* kLabels[] = {"a", "A", "b", "a-1", "a1", ""};
  std::string name;
  const uint32_t labels = 1 + random() % 4;
  for (uint32_t i = 0; i < labels; ++i) {
    if (i != 0) name += '.';
    name += kLabels[random() % std::size(kLabels)];
  }
  return name;
}

TEST(HostNames, FindsWhatSameHostFinds) {
  std::mt19937 random(1);  // NOLINT(cert-msc51-cpp): repeatable
  for (int round = 0; round < 2000; ++round) {
    HostNames names;
    std::vector<std::string> all;
    const uint32_t count = random() % 12;
    for (uint32_t i = 0; i < count; ++i) {
      const std::string name = RandomName(random);
      if (names.Add(name) == all.size()) all.push_back(name);
    }
    names.Index();
    const std::string searched = RandomName(random);
    std::vector<uint32_t> expected;
    for (uint32_t i = 0; i < all.size(); ++i) {
      if (SameHost(all[i], searched)) expected.push_back(i);
    }
    ASSERT_EQ(names.Find(searched), expected)
        << searched << " in " << fmt::format("{}", fmt::join(all, " "));
  }
}

TEST(HostNames, AnAmbiguousNameIsOnlyTheHostWithTheSameSpelling) {
  std::vector<std::string> all = {"w"};
  for (size_t i = 0; i < HostNames::kMaxMatches; ++i) all.push_back(fmt::format("w.{}.x", i));
  const HostNames names = Indexed(all);
  EXPECT_THAT(names.Find("w"), ElementsAre(0));
  EXPECT_THAT(names.Find("W"), IsEmpty());
  EXPECT_THAT(names.Find("w.7.x"), ElementsAre(0, 8));
  EXPECT_THAT(names.Find("w.7"), ElementsAre(0, 8));
}

TEST(HostNames, ANameBeginsOnlyWithNamesOfTheSet) {
  std::string many = "a";
  for (int i = 1; i < 200; ++i) many += ".a";
  const HostNames names = Indexed({many, "a.A", "A.", "a.b"});
  const auto shorter = names.ShorterThan(names.GroupOf(0));
  EXPECT_THAT(std::vector(shorter.begin(), shorter.end()),
              ElementsAre(names.GroupOf(2), names.GroupOf(1)));
}

TEST(HostNames, ANameBeginsWithALimitedNumberOfNames) {
  std::vector<std::string> all = {"a"};
  for (int i = 1; i < 200; ++i) all.push_back(all.back() + ".a");
  const HostNames names = Indexed(all);
  EXPECT_EQ(names.ShorterThan(names.GroupOf(199)).size(), HostNames::kMaxShorter);
}

}  // namespace
}  // namespace rocescope
