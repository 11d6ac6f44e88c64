// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/daemon/history/row_queue.h"

#include <utility>

namespace rocescope {

bool RowQueue::Add(HistoryRow row) {
  const size_t bytes = BytesOf(row);
  bool wake = false;
  {
    const std::lock_guard lock(mutex_);
    if (closed_ || rows_.size() >= bounds_.rows || bytes_ + bytes > bounds_.bytes) return false;
    rows_.push_back(std::move(row));
    bytes_ += bytes;
    wake = wanted_ > 0 && rows_.size() >= wanted_;
  }
  if (wake) changed_.notify_one();
  return true;
}

std::vector<HistoryRow> RowQueue::Take(size_t most, std::chrono::milliseconds idle,
                                       std::chrono::milliseconds pace) {
  std::vector<HistoryRow> taken;
  std::unique_lock lock(mutex_);
  for (const auto& [wanted, wait] : {std::pair(size_t{1}, idle), std::pair(most, pace)}) {
    wanted_ = wanted;
    changed_.wait_for(lock, wait, [&] { return closed_ || in_hurry_ || rows_.size() >= wanted_; });
    wanted_ = 0;
    if (rows_.empty()) break;
  }
  while (!rows_.empty() && taken.size() < most) {
    bytes_ -= BytesOf(rows_.front());
    taken.push_back(std::move(rows_.front()));
    rows_.pop_front();
  }
  if (rows_.empty()) in_hurry_ = false;
  return taken;
}

void RowQueue::Hurry() {
  {
    const std::lock_guard lock(mutex_);
    in_hurry_ = true;
  }
  changed_.notify_one();
}

void RowQueue::Close() {
  {
    const std::lock_guard lock(mutex_);
    closed_ = true;
  }
  changed_.notify_one();
}

bool RowQueue::is_closed() const {
  const std::lock_guard lock(mutex_);
  return closed_;
}

bool RowQueue::is_empty() const {
  const std::lock_guard lock(mutex_);
  return rows_.empty();
}

}  // namespace rocescope
