// SPDX-License-Identifier: BSD-3-Clause
// Takes the records of several lcores in turn, and tells how far all of them have come.
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
    std::function<void(Timestamp)> advance;  // all lcores that still say something reached it
  };

  // The exchanges must outlive it.
  RecordTaker(std::vector<RecordExchange*> lcores, Sink sink);

  // At most one batch of each lcore, so that whoever is slow comes back to look at a clock, and no
  // lcore waits for another's records; false if there was none. `now` is that of this round.
  bool TakeRound(Clock::time_point now);

  // Takes no more: lcores need not wait for that.
  void Abandon();

 private:
  // How far an lcore has come (ExchangedBatch::reached), and when it last came further.
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
