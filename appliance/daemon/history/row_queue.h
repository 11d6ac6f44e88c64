// SPDX-License-Identifier: BSD-3-Clause
// Bounded queue of rows for the writer thread. Producers never wait.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <mutex>
#include <vector>

#include "appliance/daemon/history/rows.h"

namespace rocescope {

class RowQueue {
 public:
  struct Bounds {
    size_t rows = 0;
    size_t bytes = 0;  // bytes as BytesOf computes them
  };
  explicit RowQueue(Bounds bounds) : bounds_(bounds) {}

  // Returns false if the queue is full or closed.
  bool Add(HistoryRow row);

  // Returns at most `most` rows. Waits at most `idle` for the first one and then `pace` for more,
  // but not if the queue is closed or Hurry was called.
  std::vector<HistoryRow> Take(size_t most, std::chrono::milliseconds idle,
                               std::chrono::milliseconds pace);

  // Makes Take return the present rows without delay.
  void Hurry();
  // Closes the queue for new rows.
  void Close();
  bool is_closed() const;
  bool is_empty() const;

 private:
  const Bounds bounds_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<HistoryRow> rows_;
  size_t bytes_ = 0;
  size_t wanted_ = 0;  // number of rows that Take waits for; 0: it does not wait
  bool in_hurry_ = false;
  bool closed_ = false;
};

}  // namespace rocescope
