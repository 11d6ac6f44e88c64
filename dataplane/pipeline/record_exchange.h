// SPDX-License-Identifier: BSD-3-Clause
// Batches of records on their way from one lcore to the thread that reads them, and empty ones on
// their way back. All are made beforehand, so handing one over allocates nothing.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>

#include "base/time.h"
#include "dataplane/pipeline/spsc_ring.h"
#include "dataplane/record/record.h"

namespace rocescope {

struct ExchangedBatch {
  RecordBatch records;
  // The latest capture time of the frames that the lcore had decoded when it handed the batch over;
  // unset (the epoch) if there were none. What mirrors tell of event time lies within a second of
  // it, and intervals that silence closed may end later.
  Timestamp reached;
  ExchangedBatch* below = nullptr;  // among the empty ones

  size_t size() const { return records.size(); }
};

class RecordExchange {
 public:
  static constexpr size_t kBatches = 128;
  static constexpr size_t kRecords = 4096;  // some 1.5 MB

  // A batch is full with `records`. Those that were used last are used again first, so memory is
  // taken as the reader needs it. `at_once`: that of flows and sightings is taken here, 330 MB, and
  // the lcore never waits for it.
  explicit RecordExchange(size_t records = kRecords, bool at_once = false);

  // The lcore's side: the batch that it fills.
  RecordBatch& current() { return current_->records; }
  size_t current_size() const { return current_->size(); }
  bool IsFull() const { return current_size() >= records_; }

  // What to do while the reader holds all other batches.
  enum class WhenFull : uint8_t { kKeep, kWait };

  // Hands the current batch over for an empty one; `reached` as ExchangedBatch has it. Where the
  // reader has left all others behind it waits, until the reader gives one back or abandons it; or
  // goes on with the current one, whose records are dropped, all at once, when it is full. The last
  // half of the batches is for full ones.
  void HandOver(Timestamp reached, WhenFull when_full);
  uint64_t handed_over() const { return handed_over_; }  // records
  uint64_t dropped() const { return dropped_; }

  // The reader's side: the next batch or null, and giving it back, emptied.
  ExchangedBatch* Take() { return full_.TryPop().value_or(nullptr); }
  void GiveBack(ExchangedBatch* batch);

  // The reader takes no more: from now on it is no use to wait for it.
  void Abandon() { abandoned_.store(true, std::memory_order_relaxed); }

 private:
  bool TryHandOver();
  void PushEmpty(ExchangedBatch* batch);

  std::array<std::unique_ptr<ExchangedBatch>, kBatches> batches_;
  ExchangedBatch* current_;
  SpscRing<ExchangedBatch*, kBatches> full_;
  // A stack that the reader alone pushes to and the lcore alone pops from: so no top can have been
  // away and come back between two looks.
  std::atomic<ExchangedBatch*> empty_ = nullptr;
  std::atomic<size_t> batches_given_back_ = 0;
  std::atomic<bool> abandoned_ = false;
  const size_t records_;
  size_t batches_handed_over_ = 0;
  uint64_t handed_over_ = 0;
  uint64_t dropped_ = 0;
};

}  // namespace rocescope
