// SPDX-License-Identifier: BSD-3-Clause
// Rate limits for received data.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>

namespace rocescope {

// Token bucket: limits the rate in bytes per second, with a burst of some seconds.
class Pace {
 public:
  using Clock = std::chrono::steady_clock;

  explicit Pace(uint64_t bytes_per_second, Clock::time_point now = Clock::now())
      : rate_(static_cast<double>(bytes_per_second)), debt_(-kBurst * rate_), last_(now) {}

  // Records received bytes and returns how long to wait before the next read.
  Clock::duration Take(size_t bytes, Clock::time_point now) {
    const double passed = std::chrono::duration<double>(now - last_).count();
    last_ = now;
    debt_ = std::max(debt_ - passed * rate_, -kBurst * rate_) + static_cast<double>(bytes);
    if (debt_ <= 0) return {};
    return std::chrono::duration_cast<Clock::duration>(
        std::chrono::duration<double>(debt_ / rate_));
  }

 private:
  static constexpr double kBurst = 4;  // seconds

  const double rate_;
  double debt_;  // bytes over the limit; negative: bytes that may still be received
  Clock::time_point last_;
};

// One limit for each account. A limit outlives the connections of its account, so that a client
// cannot evade it by connecting again.
class AccountPaces {
 public:
  explicit AccountPaces(uint64_t bytes_per_second) : bytes_per_second_(bytes_per_second) {}

  // The reference is valid until the account's last Release. Each call requires one Release.
  Pace& Of(const std::string& account, Pace::Clock::time_point now) {
    Entry& entry = entries_.try_emplace(account, Entry{Pace(bytes_per_second_, now)}).first->second;
    ++entry.users;
    return entry.pace;
  }
  void Release(const std::string& account, Pace::Clock::time_point now) {
    const auto at = entries_.find(account);
    if (at == entries_.end()) return;
    --at->second.users;
    at->second.idle_since = now;
    // Bounds the table. An idle limit has recovered completely after this time.
    if (entries_.size() < kManyEntries) return;
    std::erase_if(entries_, [&](const auto& entry) {
      return entry.second.users == 0 && now - entry.second.idle_since > kForgetAfter;
    });
  }
  size_t size() const { return entries_.size(); }

 private:
  struct Entry {
    Pace pace;
    uint32_t users = 0;
    Pace::Clock::time_point idle_since = {};
  };
  static constexpr size_t kManyEntries = 4096;
  static constexpr auto kForgetAfter = std::chrono::minutes(2);

  const uint64_t bytes_per_second_;
  std::map<std::string, Entry> entries_;
};

}  // namespace rocescope
