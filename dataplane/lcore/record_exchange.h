// SPDX-License-Identifier: BSD-3-Clause
// Batches of records on their way from one lcore to the thread that reads them, and empty ones on
// their way back. All are made beforehand, so handing one over allocates nothing.
#pragma once

#include <array>
#include <atomic>
#include <memory>

#include "base/time.h"
#include "dataplane/lcore/spsc_ring.h"
#include "dataplane/record/record.h"

namespace rocescope {

struct HandedBatch {
  RecordBatch records;
  // The latest event time at the lcore when it handed the batch over; unset (the epoch) if it has
  // decoded nothing yet.
  Timestamp reached;

  size_t size() const {
    return records.flows.size() + records.sightings.size() + records.management.size() +
           records.coverage.size();
  }
};

class RecordExchange {
 public:
  static constexpr size_t kBatches = 8;

  // Reserves room for `records` flow records and as many sightings in each batch; batches that need
  // more grow once and stay so.
  explicit RecordExchange(size_t records);

  // The lcore's side: the batch that it fills, and handing it over for an empty one. False, and
  // nothing happened, while the reader holds all others.
  HandedBatch& current() { return *current_; }
  bool TryHandOver();

  // The reader's side: the next batch or null, and giving it back, emptied.
  HandedBatch* Take() { return full_.TryPop().value_or(nullptr); }
  void GiveBack(HandedBatch* batch);

  // The reader takes no more: from now on it is no use to wait for it.
  void Abandon() { abandoned_.store(true, std::memory_order_relaxed); }
  bool abandoned() const { return abandoned_.load(std::memory_order_relaxed); }

 private:
  std::array<std::unique_ptr<HandedBatch>, kBatches> batches_;
  HandedBatch* current_;
  SpscRing<HandedBatch*, kBatches> full_;
  SpscRing<HandedBatch*, kBatches> empty_;
  std::atomic<bool> abandoned_ = false;
};

}  // namespace rocescope
