// SPDX-License-Identifier: BSD-3-Clause
// Batches that the appliance has not acknowledged, and acknowledged batches that must be sent again
// to an appliance that lost its state. The size is bounded: the oldest batches are evicted and
// counted. Logs need not be lost: read a log only while HasSpaceForLogs() is true.
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
  kCounters,   // kept until acknowledged
  kLogs,       // kept until evicted
  kInventory,  // only the newest of each state (inventory, queue pairs, processes) is kept
  kQueuePairs,
  kProcesses,
  kMark,  // marks the end of the initial data; never evicted
};

struct HeldBatch {
  uint64_t sequence = 0;
  BatchKind kind = BatchKind::kCounters;
  std::string bytes;  // a serialised AgentBatch without its sequence
};

// All functions are thread-safe.
class BatchBuffer {
 public:
  // Maximum size of a batch in bytes. The appliance accepts messages of 1 MiB, and the envelope
  // needs some space.
  static constexpr size_t kLargest = (size_t{1} << 20) - 1024;

  struct Counts {
    uint64_t lost_batches = 0;  // evicted before they were acknowledged
    uint64_t lost_bytes = 0;
    // Evicted afterwards: a restarted appliance will not get them again.
    uint64_t discarded_batches = 0;
    uint64_t too_large = 0;  // lost batches that were larger than kLargest
    uint64_t buffered_bytes = 0;
    uint64_t taken = 0;  // highest acknowledged sequence
  };

  explicit BatchBuffer(uint64_t most_bytes) : most_bytes_(most_bytes) {}

  // Assigns the next sequence, starting at 1. A batch larger than kLargest counts as lost at once,
  // because the appliance would reject it each time.
  void Append(BatchKind kind, std::string bytes);

  // Returns false while the logs that the appliance has not acknowledged, with `more` bytes, exceed
  // their share of the buffer. The rest of the buffer is for data that cannot be read again later.
  bool HasSpaceForLogs(uint64_t more) const;

  // Called on connection: the appliance has the batches up to `taken`, possibly fewer than it
  // acknowledged before.
  void Begin(uint64_t taken);
  // The appliance acknowledges all batches up to `taken`.
  void Take(uint64_t taken);

  // Returns the first batch after `sequence`, waiting at most `wait` for one. Returns none after
  // Wake.
  std::optional<HeldBatch> After(uint64_t sequence, std::chrono::milliseconds wait);
  void Wake();
  // Waits until everything is acknowledged. Returns false on timeout.
  bool WaitUntilTaken(std::chrono::milliseconds wait);

  Counts counts() const;

 private:
  uint64_t LogShare() const { return most_bytes_ / 4 * 3; }
  void SetTaken(uint64_t taken);
  void MakeRoom();
  bool DropOldest(bool (*may_go)(BatchKind));
  bool DropTakenLog();
  void Drop(std::deque<HeldBatch>::iterator batch);

  const uint64_t most_bytes_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<HeldBatch> batches_;  // ordered by sequence
  uint64_t last_ = 0;              // last sequence assigned
  uint64_t log_bytes_ = 0;
  uint64_t log_bytes_not_taken_ = 0;
  bool woken_ = false;
  Counts counts_;
};

}  // namespace rocescope
