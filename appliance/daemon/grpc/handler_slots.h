// SPDX-License-Identifier: BSD-3-Clause
// Limits how many handlers of calls execute at the same time, because each needs memory for its
// work.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

namespace rocescope {

// Thread-safe.
class HandlerSlots {
 public:
  // `max`: handlers. With 0, each call waits until it is cancelled.
  explicit HandlerSlots(uint32_t max) : free_(max) {}

  // The right to execute a handler; ends with this object. Must not outlive HandlerSlots.
  class Slot {
   public:
    Slot(HandlerSlots& slots, std::string client) : slots_(&slots), client_(std::move(client)) {}
    Slot(Slot&& other) noexcept
        : slots_(std::exchange(other.slots_, nullptr)), client_(std::move(other.client_)) {}
    Slot& operator=(Slot&&) = delete;
    ~Slot() {
      if (slots_ != nullptr) slots_->Return(client_);
    }

   private:
    HandlerSlots* slots_;
    std::string client_;
  };

  // Waits until a handler may execute. The next one is that of the client with the fewest executing
  // handlers, and of these the one that came first. Returns nullopt if `is_cancelled`, which is
  // called every 100 ms, returns true meanwhile.
  std::optional<Slot> Take(const std::string& client, const std::function<bool()>& is_cancelled);

  // Returns the number of calls that wait.
  size_t waiting() const;

 private:
  struct Waiter {
    const std::string& client;
    bool has_slot = false;
  };

  void Return(const std::string& client);
  // The mutex must be locked.
  uint32_t ExecutingOf(const std::string& client) const;

  mutable std::mutex mutex_;
  uint32_t free_;
  std::map<std::string, uint32_t> executing_;  // number of handlers by client
  std::list<Waiter> waiting_;                  // not empty only if no slot is free
  std::condition_variable assigned_;
};

}  // namespace rocescope
