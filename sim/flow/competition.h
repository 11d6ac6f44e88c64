// SPDX-License-Identifier: BSD-3-Clause
// The max-min fair rates of users that share links. A user is a set of flows with the same rate
// (fair_rates.h). Users become active and stop. Such a change affects only users that compete,
// directly or through other users, for a link that cannot carry all of its active users. Only the
// rates of these users are computed again.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <vector>

namespace rocescope::sim {

class Competition {
 public:
  struct Load {
    uint32_t link = 0;
    double share = 0;  // load on the link per unit of the user's rate; positive
  };

  explicit Competition(size_t links) : links_(links) {}

  void SetCapacity(uint32_t link, double capacity);  // not negative
  // Returns the number of a new user, which is not active and has no loads.
  uint32_t AddUser();
  // `loads` has each link at most once. `limit` is the maximum rate of the user.
  void SetUser(uint32_t user, std::vector<Load> loads, double limit);
  void SetActive(uint32_t user, bool active);

  // Computes the rates again. Returns what the changes since the last call may have affected;
  // valid until the next call.
  struct Changes {
    std::vector<uint32_t> users;  // active users whose rate may have changed
    std::vector<uint32_t> links;  // links that may have become full, or may no longer be full
  };
  const Changes& Solve();

  double rate(uint32_t user) const { return users_[user].rate; }  // as of the last Solve()
  bool is_full(uint32_t link) const { return links_[link].is_full; }
  std::span<const uint32_t> active_users(uint32_t link) const { return links_[link].users; }
  // Number of sets of users that were solved, without those found in the cache.
  uint64_t solutions() const { return solutions_; }

 private:
  struct User {
    std::vector<Load> loads;
    double limit = 0;
    double rate = 0;
    bool active = false;
    uint64_t seen = 0;
  };
  struct Link {
    double capacity = 0;
    double demand = 0;            // load if each active user had its maximum rate
    std::vector<uint32_t> users;  // active
    bool is_full = false;
    uint64_t seen = 0;
    uint32_t place = 0;  // index in the set that is being solved
  };
  struct Solution {
    std::vector<double> rates;
    std::vector<uint32_t> full;
  };

  void Enter(uint32_t user);
  void Leave(uint32_t user);
  void NoteLink(uint32_t link);
  bool IsOverloaded(const Link& link) const;
  void SolveSet(std::span<const uint32_t> users);
  const Solution& SolutionOf(const std::vector<uint32_t>& users);

  std::vector<User> users_;
  std::vector<Link> links_;
  std::vector<uint32_t> seeds_;  // users that may be affected
  std::vector<uint32_t> touched_;
  Changes changes_;
  std::map<std::vector<uint32_t>, Solution> cache_;  // by users in ascending order
  uint64_t round_ = 0;
  uint64_t solutions_ = 0;
};

}  // namespace rocescope::sim
