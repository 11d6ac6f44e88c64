// SPDX-License-Identifier: BSD-3-Clause
#include "dataplane/lcore/record_exchange.h"

#include <optional>
#include <thread>

namespace rocescope {

RecordExchange::RecordExchange(size_t records, size_t most) : most_(most) {
  for (std::unique_ptr<HandedBatch>& batch : batches_) {
    batch = std::make_unique<HandedBatch>();
    batch->records.flows.reserve(records);
    batch->records.sightings.reserve(records);
    batch->records.management.reserve(records / 16);
    if (&batch != &batches_.front()) empty_.TryPush(batch.get());
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
  } else if (records > most_) {
    dropped_ += records;
    current_->records.Clear();
  }
}

bool RecordExchange::TryHandOver() {
  const std::optional<HandedBatch*> next = empty_.TryPop();
  if (!next) return false;
  full_.TryPush(current_);  // has room for all batches
  current_ = *next;
  return true;
}

void RecordExchange::GiveBack(HandedBatch* batch) {
  batch->records.Clear();
  empty_.TryPush(batch);
}

}  // namespace rocescope
