// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/agent/batch_buffer.h"

#include <algorithm>
#include <utility>

namespace rocescope {
namespace {

constexpr uint64_t kOverhead = 64;  // for each batch, so that many small batches are bounded too

bool IsState(BatchKind kind) {
  return kind == BatchKind::kInventory || kind == BatchKind::kQueuePairs ||
         kind == BatchKind::kProcesses;
}

uint64_t WeightOf(const HeldBatch& batch) { return batch.bytes.size() + kOverhead; }

}  // namespace

void BatchBuffer::Append(BatchKind kind, std::string bytes) {
  const std::lock_guard lock(mutex_);
  if (bytes.size() > kLargest) {
    ++counts_.too_large;
    ++counts_.lost_batches;
    counts_.lost_bytes += bytes.size();
    return;
  }
  if (IsState(kind)) {  // replaces the previous state, acknowledged or not
    const auto before = std::ranges::find(batches_, kind, &HeldBatch::kind);
    if (before != batches_.end()) {
      counts_.buffered_bytes -= WeightOf(*before);
      batches_.erase(before);
    }
  }
  batches_.push_back({.sequence = ++last_, .kind = kind, .bytes = std::move(bytes)});
  const uint64_t weight = WeightOf(batches_.back());
  counts_.buffered_bytes += weight;
  if (kind == BatchKind::kLogs) {
    log_bytes_ += weight;
    log_bytes_not_taken_ += weight;
  }
  MakeRoom();
  changed_.notify_all();
}

bool BatchBuffer::HasSpaceForLogs(uint64_t more) const {
  const std::lock_guard lock(mutex_);
  uint64_t used = most_bytes_ / 16;  // reserved for counters
  for (const HeldBatch& batch : batches_) {
    if (IsState(batch.kind)) used += WeightOf(batch);
  }
  const uint64_t rest = most_bytes_ - std::min(used, most_bytes_);
  return log_bytes_not_taken_ + more < std::min(LogShare(), rest);
}

// Acknowledged logs beyond their share go first: nothing is lost. Then counters go because old
// readings are worth least. Logs go later because they identify jobs.
void BatchBuffer::MakeRoom() {
  while (counts_.buffered_bytes > most_bytes_ && batches_.size() > 1) {
    if (log_bytes_ > LogShare() && DropTakenLog()) continue;
    if (DropOldest([](BatchKind kind) { return kind == BatchKind::kCounters; })) continue;
    if (DropOldest([](BatchKind kind) { return kind == BatchKind::kLogs; })) continue;
    if (!DropOldest([](BatchKind kind) { return kind != BatchKind::kMark; })) return;
  }
}

// Never drops the batch that was just appended.
bool BatchBuffer::DropOldest(bool (*may_go)(BatchKind)) {
  const auto last = std::prev(batches_.end());
  const auto at = std::find_if(batches_.begin(), last,
                               [&](const HeldBatch& batch) { return may_go(batch.kind); });
  if (at == last) return false;
  Drop(at);
  return true;
}

// The oldest log is acknowledged before all others.
bool BatchBuffer::DropTakenLog() {
  const auto at = std::ranges::find(batches_, BatchKind::kLogs, &HeldBatch::kind);
  if (at == batches_.end() || at->sequence > counts_.taken) return false;
  Drop(at);
  return true;
}

void BatchBuffer::Drop(std::deque<HeldBatch>::iterator batch) {
  if (batch->kind == BatchKind::kLogs) {
    log_bytes_ -= WeightOf(*batch);
    if (batch->sequence > counts_.taken) log_bytes_not_taken_ -= WeightOf(*batch);
  }
  if (batch->sequence > counts_.taken) {
    ++counts_.lost_batches;
    counts_.lost_bytes += batch->bytes.size();
  } else {
    ++counts_.discarded_batches;
  }
  counts_.buffered_bytes -= WeightOf(*batch);
  batches_.erase(batch);
}

void BatchBuffer::Begin(uint64_t taken) {
  const std::lock_guard lock(mutex_);
  // Otherwise, logs that the appliance had acknowledged before could be evicted as lost.
  while (log_bytes_ > LogShare() && DropTakenLog()) {
  }
  SetTaken(taken);
  changed_.notify_all();
}

void BatchBuffer::SetTaken(uint64_t taken) {
  counts_.taken = std::min(taken, last_);
  log_bytes_not_taken_ = 0;
  for (const HeldBatch& batch : batches_) {
    if (batch.kind == BatchKind::kLogs && batch.sequence > counts_.taken) {
      log_bytes_not_taken_ += WeightOf(batch);
    }
  }
}

void BatchBuffer::Take(uint64_t taken) {
  const std::lock_guard lock(mutex_);
  if (taken <= counts_.taken) return;
  SetTaken(taken);
  std::erase_if(batches_, [&](const HeldBatch& batch) {
    const bool goes = batch.kind == BatchKind::kCounters && batch.sequence <= counts_.taken;
    if (goes) counts_.buffered_bytes -= WeightOf(batch);
    return goes;
  });
  changed_.notify_all();
}

std::optional<HeldBatch> BatchBuffer::After(uint64_t sequence, std::chrono::milliseconds wait) {
  std::unique_lock lock(mutex_);
  const auto find = [&] {
    return std::ranges::upper_bound(batches_, sequence, {}, &HeldBatch::sequence);
  };
  changed_.wait_for(lock, wait, [&] { return woken_ || find() != batches_.end(); });
  woken_ = false;
  const auto at = find();
  return at == batches_.end() ? std::nullopt : std::optional(*at);
}

void BatchBuffer::Wake() {
  const std::lock_guard lock(mutex_);
  woken_ = true;
  changed_.notify_all();
}

bool BatchBuffer::WaitUntilTaken(std::chrono::milliseconds wait) {
  std::unique_lock lock(mutex_);
  return changed_.wait_for(
      lock, wait, [&] { return batches_.empty() || batches_.back().sequence <= counts_.taken; });
}

BatchBuffer::Counts BatchBuffer::counts() const {
  const std::lock_guard lock(mutex_);
  return counts_;
}

}  // namespace rocescope
