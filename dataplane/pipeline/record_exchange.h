// SPDX-License-Identifier: BSD-3-Clause
// Passes batches of records from an lcore to the reader thread, and empty batches back. All batches
// are allocated beforehand, so that handing one over allocates nothing.
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
  // Latest capture time of the frames that the lcore had decoded when it handed the batch over;
  // unset (the epoch) if there were none. Event times from mirror headers are within one second of
  // it. Intervals that were closed while no frames arrived may end later.
  Timestamp reached;
  ExchangedBatch* below = nullptr;  // next in the stack of empty batches

  size_t size() const { return records.size(); }
};

class RecordExchange {
 public:
  static constexpr size_t kBatches = 128;
  static constexpr size_t kRecords = 4096;  // about 1.5 MB

  // A batch is full at `records` records. The batches used last are reused first, so that memory
  // grows only as the reader needs it. With `at_once`, the memory of flow records and packet
  // observations is allocated here (330 MB), so that the lcore never waits for it.
  explicit RecordExchange(size_t records = kRecords, bool at_once = false);

  // For the lcore: the batch that it fills.
  RecordBatch& current() { return current_->records; }
  size_t current_size() const { return current_->size(); }
  bool IsFull() const { return current_size() >= records_; }

  // What HandOver does while the reader holds all other batches.
  enum class WhenFull : uint8_t { kKeep, kWait };

  // Exchanges the current batch for an empty one; `reached` is described in ExchangedBatch. If the
  // reader has returned no batch, kWait waits until it returns one or abandons the exchange. kKeep
  // continues with the current batch, whose records are all dropped when it is full. kKeep
  // hands over a batch that is not full only while the reader holds fewer than half of all batches.
  void HandOver(Timestamp reached, WhenFull when_full);
  uint64_t handed_over() const { return handed_over_; }  // number of records
  uint64_t dropped() const { return dropped_; }

  // For the reader: takes the next batch or null, and returns it emptied.
  ExchangedBatch* Take() { return full_.TryPop().value_or(nullptr); }
  void GiveBack(ExchangedBatch* batch);

  // The reader takes no more batches, so that nothing waits for it from now on.
  void Abandon() { abandoned_.store(true, std::memory_order_relaxed); }

 private:
  bool TryHandOver();
  void PushEmpty(ExchangedBatch* batch);

  std::array<std::unique_ptr<ExchangedBatch>, kBatches> batches_;
  ExchangedBatch* current_;
  SpscRing<ExchangedBatch*, kBatches> full_;
  // A stack that only the reader pushes to and only the lcore pops from. This excludes the ABA
  // problem.
  std::atomic<ExchangedBatch*> empty_ = nullptr;
  std::atomic<size_t> batches_given_back_ = 0;
  std::atomic<bool> abandoned_ = false;
  const size_t records_;
  size_t batches_handed_over_ = 0;
  uint64_t handed_over_ = 0;
  uint64_t dropped_ = 0;
};

}  // namespace rocescope
