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

  struct Client {
    uint32_t executing = 0;
    uint32_t waiting = 0;
  };
  using Clients = std::map<std::string, Client>;

  // The right to execute a handler; ends with this object. Must not outlive HandlerSlots.
  class Slot {
   public:
    Slot(HandlerSlots& slots, Clients::iterator client) : slots_(&slots), client_(client) {}
    Slot(Slot&& other) noexcept
        : slots_(std::exchange(other.slots_, nullptr)), client_(other.client_) {}
    Slot& operator=(Slot&&) = delete;
    ~Slot() {
      if (slots_ != nullptr) slots_->Return(client_);
    }

   private:
    HandlerSlots* slots_;
    Clients::iterator client_;
  };

  // Waits until a handler may execute. The next one is that of the client with the fewest executing
  // handlers, and of these the one that came first. Returns nullopt if `is_cancelled`, which is
  // called every 100 ms, returns true meanwhile.
  std::optional<Slot> Take(const std::string& client, const std::function<bool()>& is_cancelled);

  // Returns the number of calls that wait.
  size_t waiting() const;

 private:
  struct Waiter {
    Clients::iterator client;
    bool has_slot = false;
  };

  // Must not allocate memory: it ends a call that may have failed for lack of memory.
  void Return(Clients::iterator client);
  // The mutex must be locked.
  void ForgetIfIdle(Clients::iterator client);

  mutable std::mutex mutex_;
  uint32_t free_;
  Clients clients_;            // those with a call that executes or waits
  std::list<Waiter> waiting_;  // not empty only if no slot is free
  std::condition_variable assigned_;
};

}  // namespace rocescope
