// SPDX-License-Identifier: BSD-3-Clause
#include "sim/flow/competition.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "sim/engine/random.h"
#include "sim/flow/fair_rates.h"

namespace rocescope::sim {
namespace {

// After any sequence of changes, rates and full links are those of a solution from scratch.
TEST(Competition, AgreesWithASolutionFromScratch) {
  constexpr uint32_t kLinks = 12;
  constexpr uint32_t kUsers = 20;
  Random random(7, "competition", 0);
  Competition competition(kLinks);
  std::vector<FairLink> links(kLinks);
  for (uint32_t link = 0; link < kLinks; ++link) {
    links[link].capacity = 1 + random.Uniform();
    competition.SetCapacity(link, links[link].capacity);
  }
  std::vector<std::vector<Competition::Load>> loads(kUsers);
  std::vector<double> limits(kUsers);
  const auto draw = [&](uint32_t user) {
    loads[user].clear();
    for (uint32_t link = 0; link < kLinks; ++link) {
      if (random.Chance(0.2)) loads[user].push_back({link, 0.1 + random.Uniform()});
    }
    limits[user] = random.Uniform();
    competition.SetUser(user, loads[user], limits[user]);
  };
  for (uint32_t user = 0; user < kUsers; ++user) {
    EXPECT_EQ(competition.AddUser(), user);
    draw(user);
  }
  std::vector<bool> active(kUsers);
  std::vector<double> rates(kUsers, 0);  // taken from the changes
  for (int step = 0; step < 2'000; ++step) {
    const auto user = static_cast<uint32_t>(random.Below(kUsers));
    if (step % 50 == 49) {
      const auto link = static_cast<uint32_t>(random.Below(kLinks));
      links[link].capacity = 2 * random.Uniform();
      competition.SetCapacity(link, links[link].capacity);
    } else if (step % 50 == 20) {
      draw(user);
    } else {
      active[user] = !active[user];
      competition.SetActive(user, active[user]);
      if (!active[user]) rates[user] = 0;
    }
    for (const uint32_t changed : competition.Solve().users) {
      rates[changed] = competition.rate(changed);
    }
    for (FairLink& link : links) link.uses.clear();
    for (uint32_t each = 0; each < kUsers; ++each) {
      for (const auto& load : loads[each]) links[load.link].uses.push_back({each, load.share});
    }
    std::vector<bool> full;
    const std::vector<double> expected = FairRates(links, limits, active, &full);
    for (uint32_t each = 0; each < kUsers; ++each) {
      ASSERT_NEAR(rates[each], expected[each], 1e-7) << "user " << each << ", step " << step;
    }
    for (uint32_t link = 0; link < kLinks; ++link) {
      double used = 0;
      double demand = 0;
      for (const auto& use : links[link].uses) {
        used += use.share * expected[use.user];
        demand += active[use.user] ? use.share * limits[use.user] : 0;
      }
      // A link that is just large enough for all may count as full or not.
      if (demand < links[link].capacity * (1 - 1e-7) ||
          demand > links[link].capacity * (1 + 1e-7)) {
        ASSERT_EQ(competition.is_full(link), full[link]) << "link " << link << ", step " << step;
      }
      ASSERT_LE(used, links[link].capacity * (1 + 1e-7));
    }
  }
}

TEST(Competition, ChangesOnlyWhoCompetes) {
  Competition competition(2);
  competition.SetCapacity(0, 1);
  competition.SetCapacity(1, 1);
  for (uint32_t user = 0; user < 4; ++user) {
    competition.AddUser();
    competition.SetUser(user, {{user / 2, 1}}, 0.8);
    competition.SetActive(user, user < 3);
  }
  competition.Solve();
  EXPECT_EQ(competition.rate(0), 0.5);
  EXPECT_EQ(competition.rate(2), 0.8);
  EXPECT_TRUE(competition.is_full(0));
  competition.SetActive(3, true);
  const Competition::Changes& changes = competition.Solve();
  EXPECT_EQ(changes.users, (std::vector<uint32_t>{2, 3}));
  EXPECT_EQ(competition.rate(3), 0.5);
  competition.SetActive(0, false);
  competition.Solve();
  EXPECT_EQ(competition.rate(1), 0.8);
  EXPECT_FALSE(competition.is_full(0));
}

}  // namespace
}  // namespace rocescope::sim
