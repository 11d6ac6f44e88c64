// SPDX-License-Identifier: BSD-3-Clause
#include "dataplane/lcore/record_exchange.h"

#include <thread>

namespace rocescope {

RecordExchange::RecordExchange(size_t records, size_t most) : most_(most) {
  for (std::unique_ptr<HandedBatch>& batch : batches_) {
    batch = std::make_unique<HandedBatch>();
    batch->records.flows.reserve(records);
    batch->records.sightings.reserve(records);
    batch->records.management.reserve(records / 16);
    if (&batch != &batches_.front()) PushEmpty(batch.get());
  }
  current_ = batches_.front().get();
}

void RecordExchange::HandOver(Timestamp reached, WhenFull when_full) {
  current_->reached = reached;
  const size_t records = current_->size();
  bool handed = TryHandOver();
  while (!handed && when_full == WhenFull::kWait && !abandoned_.load(std::memory_order_relaxed)) {
    std::this_thread::sleep_for(std::chrono::microseconds(100));
    handed = TryHandOver();
  }
  if (handed) {
    handed_over_ += records;
  } else if (handed_over_ - given_back_.load(std::memory_order_relaxed) + records > most_) {
    dropped_ += records;
    current_->records.Clear();
  }
}

bool RecordExchange::TryHandOver() {
  const uint64_t left = handed_over_ - given_back_.load(std::memory_order_relaxed);
  if (left > 0 && left + current_->size() > most_) return false;
  HandedBatch* next = empty_.load(std::memory_order_acquire);
  while (next != nullptr &&
         !empty_.compare_exchange_weak(next, next->below, std::memory_order_acquire)) {
  }
  if (next == nullptr) return false;
  full_.TryPush(current_);  // has room for all batches
  current_ = next;
  return true;
}

void RecordExchange::PushEmpty(HandedBatch* batch) {
  batch->below = empty_.load(std::memory_order_relaxed);
  while (!empty_.compare_exchange_weak(batch->below, batch, std::memory_order_release,
                                       std::memory_order_relaxed)) {
  }
}

void RecordExchange::GiveBack(HandedBatch* batch) {
  given_back_.fetch_add(batch->size(), std::memory_order_relaxed);
  batch->records.Clear();
  PushEmpty(batch);
}

}  // namespace rocescope
