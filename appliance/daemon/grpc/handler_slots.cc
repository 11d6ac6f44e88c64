// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/daemon/grpc/handler_slots.h"

#include <algorithm>
#include <chrono>

namespace rocescope {

void HandlerSlots::ForgetIfIdle(Clients::iterator client) {
  if (client->second.executing == 0 && client->second.waiting == 0) clients_.erase(client);
}

std::optional<HandlerSlots::Slot> HandlerSlots::Take(const std::string& client,
                                                     const std::function<bool()>& is_cancelled) {
  constexpr std::chrono::milliseconds kPace(100);
  std::unique_lock lock(mutex_);
  const auto own = clients_.try_emplace(client).first;
  if (free_ > 0) {
    --free_;
    ++own->second.executing;
    return Slot(*this, own);
  }
  const auto waiter = waiting_.insert(waiting_.end(), {.client = own});
  ++own->second.waiting;
  bool is_over = false;
  while (!is_over && !assigned_.wait_for(lock, kPace, [&] { return waiter->has_slot; })) {
    lock.unlock();
    is_over = is_cancelled();  // may take locks
    lock.lock();
  }
  const bool has_slot = waiter->has_slot;
  waiting_.erase(waiter);
  --own->second.waiting;
  if (has_slot) return Slot(*this, own);
  ForgetIfIdle(own);
  return std::nullopt;
}

void HandlerSlots::Return(Clients::iterator client) {
  const std::lock_guard lock(mutex_);
  --client->second.executing;
  Waiter* next = nullptr;
  for (Waiter& waiter : waiting_) {
    if (waiter.has_slot) continue;
    if (next == nullptr || waiter.client->second.executing < next->client->second.executing) {
      next = &waiter;
    }
  }
  if (next == nullptr) {
    ++free_;
  } else {
    next->has_slot = true;
    ++next->client->second.executing;
    assigned_.notify_all();
  }
  ForgetIfIdle(client);
}

size_t HandlerSlots::waiting() const {
  const std::lock_guard lock(mutex_);
  return static_cast<size_t>(
      std::ranges::count_if(waiting_, [](const Waiter& waiter) { return !waiter.has_slot; }));
}

}  // namespace rocescope
