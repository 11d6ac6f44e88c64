// SPDX-License-Identifier: BSD-3-Clause
// Rows on their way to the disk: a bounded number, so that whoever adds some never waits.
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
    size_t bytes = 0;  // of BytesOf
  };
  explicit RowQueue(Bounds bounds) : bounds_(bounds) {}

  // False: there is no room, or it is closed.
  bool Add(HistoryRow row);

  // At most so many. Waits `idle` at most for the first one and then `pace` for others, neither of
  // them once it is closed or somebody is in a hurry.
  std::vector<HistoryRow> Take(size_t most, std::chrono::milliseconds idle,
                               std::chrono::milliseconds pace);

  // What is there is to be taken without delay.
  void Hurry();
  // Nothing more comes.
  void Close();
  bool is_closed() const;
  bool is_empty() const;

 private:
  const Bounds bounds_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<HistoryRow> rows_;
  size_t bytes_ = 0;
  size_t wanted_ = 0;  // rows that the taker sleeps for; 0: it does not
  bool in_hurry_ = false;
  bool closed_ = false;
};

}  // namespace rocescope
