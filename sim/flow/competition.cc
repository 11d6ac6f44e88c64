// SPDX-License-Identifier: BSD-3-Clause
#include "sim/flow/competition.h"

#include <algorithm>
#include <utility>

#include "sim/flow/fair_rates.h"

namespace rocescope::sim {

// Sums of demands have rounding errors.
bool Competition::IsOverloaded(const Link& link) const {
  constexpr double kTiny = 1e-9;
  return link.demand > link.capacity * (1 + kTiny);
}

void Competition::NoteLink(uint32_t link) {
  touched_.push_back(link);
  if (!IsOverloaded(links_[link]) && !links_[link].is_full) return;
  seeds_.insert(seeds_.end(), links_[link].users.begin(), links_[link].users.end());
}

void Competition::SetCapacity(uint32_t link, double capacity) {
  Link& of = links_[link];
  if (of.capacity == capacity) return;
  NoteLink(link);
  of.capacity = capacity;
  NoteLink(link);
  if (!of.users.empty()) cache_.clear();
}

uint32_t Competition::AddUser() {
  users_.emplace_back();
  return static_cast<uint32_t>(users_.size() - 1);
}

void Competition::SetUser(uint32_t user, std::vector<Load> loads, double limit) {
  User& of = users_[user];
  const bool same =
      of.limit == limit && std::ranges::equal(of.loads, loads, [](const Load& a, const Load& b) {
        return a.link == b.link && a.share == b.share;
      });
  if (same) return;
  const bool was_active = of.active;
  if (was_active) Leave(user);
  of.loads = std::move(loads);
  of.limit = limit;
  cache_.clear();
  if (was_active) Enter(user);
}

void Competition::SetActive(uint32_t user, bool active) {
  if (users_[user].active == active) return;
  if (active) {
    Enter(user);
  } else {
    Leave(user);
  }
}

void Competition::Enter(uint32_t user) {
  User& of = users_[user];
  of.active = true;
  for (const Load& load : of.loads) {
    Link& link = links_[load.link];
    link.demand += load.share * of.limit;
    link.users.push_back(user);
    NoteLink(load.link);
  }
  seeds_.push_back(user);
}

void Competition::Leave(uint32_t user) {
  User& of = users_[user];
  of.active = false;
  of.rate = 0;
  for (const Load& load : of.loads) {
    Link& link = links_[load.link];
    std::erase(link.users, user);
    NoteLink(load.link);
    link.demand = link.users.empty() ? 0 : link.demand - load.share * of.limit;
  }
}

const Competition::Changes& Competition::Solve() {
  changes_.users.clear();
  changes_.links.clear();
  ++round_;
  for (const uint32_t link : touched_) {
    if (links_[link].seen == round_) continue;
    links_[link].seen = round_;
    changes_.links.push_back(link);
    links_[link].is_full = false;  // until it is solved
  }
  touched_.clear();
  std::vector<uint32_t> set;
  for (const uint32_t seed : seeds_) {
    if (!users_[seed].active || users_[seed].seen == round_) continue;
    users_[seed].seen = round_;
    set.assign(1, seed);
    for (size_t next = 0; next < set.size(); ++next) {
      for (const Load& load : users_[set[next]].loads) {
        const Link& link = links_[load.link];
        if (!IsOverloaded(link)) continue;
        for (const uint32_t other : link.users) {
          if (users_[other].seen == round_) continue;
          users_[other].seen = round_;
          set.push_back(other);
        }
      }
    }
    if (set.size() == 1 && std::ranges::none_of(users_[seed].loads, [&](const Load& load) {
          return IsOverloaded(links_[load.link]);
        })) {
      users_[seed].rate = users_[seed].limit;
      changes_.users.push_back(seed);
      continue;
    }
    std::ranges::sort(set);
    SolveSet(set);
  }
  seeds_.clear();
  return changes_;
}

void Competition::SolveSet(std::span<const uint32_t> set) {
  std::vector<uint32_t> key(set.begin(), set.end());
  const Solution& solution = SolutionOf(key);
  for (size_t i = 0; i < key.size(); ++i) users_[key[i]].rate = solution.rates[i];
  changes_.users.insert(changes_.users.end(), key.begin(), key.end());
  for (const uint32_t user : key) {
    for (const Load& load : users_[user].loads) {
      Link& link = links_[load.link];
      if (link.seen == round_ || !(IsOverloaded(link) || link.is_full)) continue;
      link.seen = round_;
      link.is_full = false;
      changes_.links.push_back(load.link);
    }
  }
  for (const uint32_t link : solution.full) links_[link].is_full = true;
}

const Competition::Solution& Competition::SolutionOf(const std::vector<uint32_t>& users) {
  constexpr size_t kMostSolutions = 20'000;
  if (cache_.size() >= kMostSolutions) cache_.clear();
  const auto [at, is_new] = cache_.try_emplace(users);
  Solution& solution = at->second;
  if (!is_new) return solution;
  ++solutions_;
  std::vector<FairLink> links;
  std::vector<uint32_t> numbers;
  std::vector<double> limits;
  for (uint32_t i = 0; i < users.size(); ++i) {
    limits.push_back(users_[users[i]].limit);
    for (const Load& load : users_[users[i]].loads) {
      Link& link = links_[load.link];
      if (!IsOverloaded(link)) continue;
      if (link.place >= numbers.size() || numbers[link.place] != load.link) {
        link.place = static_cast<uint32_t>(numbers.size());
        numbers.push_back(load.link);
        links.push_back({.capacity = link.capacity, .uses = {}});
      }
      links[link.place].uses.push_back({i, load.share});
    }
  }
  std::vector<bool> full;
  solution.rates = FairRates(links, limits, std::vector<bool>(users.size(), true), &full);
  for (size_t i = 0; i < full.size(); ++i) {
    if (full[i]) solution.full.push_back(numbers[i]);
  }
  return solution;
}

}  // namespace rocescope::sim
