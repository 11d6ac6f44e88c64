// SPDX-License-Identifier: BSD-3-Clause
#include "dataplane/pipeline/record_exchange.h"

#include <algorithm>
#include <thread>
#include <vector>

namespace rocescope {
namespace {

template <typename Record>
void Reserve(std::vector<Record>& records, size_t count, bool at_once) {
  records.reserve(count);
  if (!at_once) return;
  records.resize(count);
  records.clear();
}

}  // namespace

RecordExchange::RecordExchange(size_t records, bool at_once)
    : records_(std::max<size_t>(records, 1)) {
  // A burst of frames is looked at before anyone asks whether a batch is full.
  const size_t room = records_ + records_ / 4;
  for (std::unique_ptr<ExchangedBatch>& batch : batches_) {
    batch = std::make_unique<ExchangedBatch>();
    Reserve(batch->records.flows, room, at_once);
    Reserve(batch->records.sightings, room, at_once);
    batch->records.management.reserve(room);
    batch->records.hops.reserve(room);
    batch->records.samples.reserve(room);
    batch->records.counters.reserve(room);
    if (&batch != &batches_.front()) PushEmpty(batch.get());
  }
  current_ = batches_.front().get();
}

void RecordExchange::HandOver(Timestamp reached, WhenFull when_full) {
  current_->reached = reached;
  const size_t records = current_->size();
  const size_t left = batches_handed_over_ - batches_given_back_.load(std::memory_order_relaxed);
  if (when_full == WhenFull::kKeep && !IsFull() && left >= kBatches / 2) return;
  bool handed = TryHandOver();
  while (!handed && when_full == WhenFull::kWait && !abandoned_.load(std::memory_order_relaxed)) {
    std::this_thread::sleep_for(std::chrono::microseconds(100));
    handed = TryHandOver();
  }
  if (handed) {
    handed_over_ += records;
  } else if (IsFull()) {
    dropped_ += records;
    current_->records.Clear();
  }
}

bool RecordExchange::TryHandOver() {
  ExchangedBatch* next = empty_.load(std::memory_order_acquire);
  while (next != nullptr &&
         !empty_.compare_exchange_weak(next, next->below, std::memory_order_acquire)) {
  }
  if (next == nullptr) return false;
  ++batches_handed_over_;
  full_.TryPush(current_);  // has room for all batches
  current_ = next;
  return true;
}

void RecordExchange::PushEmpty(ExchangedBatch* batch) {
  batch->below = empty_.load(std::memory_order_relaxed);
  while (!empty_.compare_exchange_weak(batch->below, batch, std::memory_order_release,
                                       std::memory_order_relaxed)) {
  }
}

void RecordExchange::GiveBack(ExchangedBatch* batch) {
  batches_given_back_.fetch_add(1, std::memory_order_relaxed);
  batch->records.Clear();
  PushEmpty(batch);
}

}  // namespace rocescope
