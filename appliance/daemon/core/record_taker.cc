// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/daemon/core/record_taker.h"

#include <algorithm>
#include <utility>

namespace rocescope {
namespace {

// An lcore that makes no progress for this long does not hold back the time of the others. It still
// hands over empty batches.
constexpr auto kSilent = std::chrono::seconds(1);

}  // namespace

RecordTaker::RecordTaker(std::vector<RecordExchange*> lcores, Sink sink) : sink_(std::move(sink)) {
  for (RecordExchange* records : lcores) lcores_.push_back({.records = records});
}

bool RecordTaker::TakeRound(Clock::time_point now) {
  bool took = false;
  for (Lcore& lcore : lcores_) {
    ExchangedBatch* batch = lcore.records->Take();
    if (batch == nullptr) continue;
    took = true;
    sink_.ingest(batch->records);
    if (batch->reached != lcore.reached) {
      lcore.reached = batch->reached;
      lcore.moved = now;
    }
    lcore.records->GiveBack(batch);
  }
  if (took) Advance(now);
  return took;
}

void RecordTaker::Abandon() {
  for (const Lcore& lcore : lcores_) lcore.records->Abandon();
}

void RecordTaker::Advance(Clock::time_point now) const {
  Timestamp least = Timestamp::max();
  for (const Lcore& lcore : lcores_) {
    if (lcore.reached == Timestamp{} || now - lcore.moved > kSilent) continue;
    least = std::min(least, lcore.reached);
  }
  if (least != Timestamp::max()) sink_.advance(least);
}

}  // namespace rocescope
