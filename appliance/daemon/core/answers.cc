// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/daemon/core/answers.h"

#include <utility>

namespace rocescope {

void Answers::Publish(Answer answer) {
  auto next = std::make_shared<Answer>(std::move(answer));
  std::shared_ptr<const Answer> last;  // freed outside the lock
  {
    const std::lock_guard lock(mutex_);
    next->version = latest_ ? latest_->version + 1 : 1;
    last = std::exchange(latest_, std::move(next));
  }
  changed_.notify_all();
}

std::shared_ptr<const Answer> Answers::Latest() const {
  const std::lock_guard lock(mutex_);
  return latest_;
}

std::shared_ptr<const Answer> Answers::WaitForOther(uint64_t version,
                                                    std::chrono::milliseconds wait) {
  std::unique_lock lock(mutex_);
  const auto is_other = [&] { return latest_ && latest_->version != version; };
  changed_.wait_for(lock, wait, [&] { return closed_ || is_other(); });
  return is_other() ? latest_ : nullptr;
}

void Answers::Close() {
  {
    const std::lock_guard lock(mutex_);
    closed_ = true;
  }
  changed_.notify_all();
}

}  // namespace rocescope
