// SPDX-License-Identifier: BSD-3-Clause
// Batches that the box has not taken yet, and what of those it has taken a box that begins anew is
// told again. Bounded in octets: the oldest give way, and are counted.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <mutex>
#include <optional>
#include <string>

namespace rocescope {

enum class BatchKind : uint8_t {
  kCounters,   // kept until taken
  kLogs,       // kept while there is room
  kInventory,  // the newest of each of these is kept
  kQueuePairs,
  kProcesses,
  kMark,  // that all was told which was there at the beginning; kept as logs are
};

struct HeldBatch {
  uint64_t sequence = 0;
  BatchKind kind = BatchKind::kCounters;
  std::string bytes;  // an AgentBatch without its sequence
};

// Any thread.
class BatchBuffer {
 public:
  // Bytes of a batch: the box takes messages of a MiB, and there is something around it.
  static constexpr size_t kLargest = (size_t{1} << 20) - 1024;

  struct Counts {
    uint64_t lost_batches = 0;  // given up before they were taken
    uint64_t lost_bytes = 0;
    uint64_t discarded_batches = 0;  // given up after that: another box will lack them
    uint64_t too_large = 0;          // batches, of the lost ones: larger than kLargest
    uint64_t paused_bytes = 0;
    uint64_t taken = 0;  // up to this sequence
  };

  explicit BatchBuffer(uint64_t most_bytes) : most_bytes_(most_bytes) {}

  // Gives it the next sequence, from 1. One that the box would not take is lost at once, or it
  // would be said again for ever.
  void Append(BatchKind kind, std::string bytes);

  // The box says hello: it has the batches up to `taken`, maybe fewer than it had.
  void Begin(uint64_t taken);
  // The box has those up to this one.
  void Take(uint64_t taken);

  // The first batch after `sequence`; waits so long for one. None also after Wake.
  std::optional<HeldBatch> After(uint64_t sequence, std::chrono::milliseconds wait);
  void Wake();
  // Waits until all is taken; false after so long.
  bool WaitUntilTaken(std::chrono::milliseconds wait);

  Counts counts() const;

 private:
  void MakeRoom();
  bool DropOldest(bool (*may_go)(BatchKind));
  void Drop(std::deque<HeldBatch>::iterator batch);

  const uint64_t most_bytes_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<HeldBatch> batches_;  // by sequence
  uint64_t last_ = 0;              // sequence given out
  bool woken_ = false;
  Counts counts_;
};

}  // namespace rocescope
