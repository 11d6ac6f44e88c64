// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/daemon/grpc/handler_slots.h"

#include <algorithm>
#include <chrono>

namespace rocescope {

uint32_t HandlerSlots::ExecutingOf(const std::string& client) const {
  const auto at = executing_.find(client);
  return at == executing_.end() ? 0 : at->second;
}

std::optional<HandlerSlots::Slot> HandlerSlots::Take(const std::string& client,
                                                     const std::function<bool()>& is_cancelled) {
  constexpr std::chrono::milliseconds kPace(100);
  std::unique_lock lock(mutex_);
  if (free_ > 0) {
    --free_;
    ++executing_[client];
    return Slot(*this, client);
  }
  const auto waiter = waiting_.insert(waiting_.end(), {.client = client});
  while (!assigned_.wait_for(lock, kPace, [&] { return waiter->has_slot; })) {
    lock.unlock();
    const bool is_over = is_cancelled();  // may take locks
    lock.lock();
    if (is_over && !waiter->has_slot) {
      waiting_.erase(waiter);
      return std::nullopt;
    }
  }
  waiting_.erase(waiter);
  return Slot(*this, client);
}

void HandlerSlots::Return(const std::string& client) {
  const std::lock_guard lock(mutex_);
  if (const auto at = executing_.find(client); --at->second == 0) executing_.erase(at);
  Waiter* next = nullptr;
  for (Waiter& waiter : waiting_) {
    if (waiter.has_slot) continue;
    if (next == nullptr || ExecutingOf(waiter.client) < ExecutingOf(next->client)) next = &waiter;
  }
  if (next == nullptr) {
    ++free_;
    return;
  }
  next->has_slot = true;
  ++executing_[next->client];
  assigned_.notify_all();
}

size_t HandlerSlots::waiting() const {
  const std::lock_guard lock(mutex_);
  return static_cast<size_t>(
      std::ranges::count_if(waiting_, [](const Waiter& waiter) { return !waiter.has_slot; }));
}

}  // namespace rocescope
