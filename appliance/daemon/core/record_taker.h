// SPDX-License-Identifier: BSD-3-Clause
// Reads the records of several lcores in turn and tracks the time that all of them have reached.
#pragma once

#include <chrono>
#include <functional>
#include <vector>

#include "base/time.h"
#include "dataplane/pipeline/record_exchange.h"
#include "dataplane/record/record.h"

namespace rocescope {

class RecordTaker {
 public:
  using Clock = std::chrono::steady_clock;

  struct Sink {
    std::function<void(const RecordBatch&)> ingest;
    // Called with the time that all active lcores have reached.
    std::function<void(Timestamp)> advance;
  };

  // The exchanges must outlive this object.
  RecordTaker(std::vector<RecordExchange*> lcores, Sink sink);

  // Takes at most one batch of each lcore, so that a slow caller can check the time and no lcore
  // starves. Returns false if there was none. `now` is the time of this round.
  bool TakeRound(Clock::time_point now);

  // Stops taking records, so that lcores do not wait for it.
  void Abandon();

 private:
  // The progress of an lcore (ExchangedBatch::reached), and when it last progressed.
  struct Lcore {
    RecordExchange* records;
    Timestamp reached;
    Clock::time_point moved;
  };

  void Advance(Clock::time_point now) const;

  std::vector<Lcore> lcores_;
  Sink sink_;
};

}  // namespace rocescope
