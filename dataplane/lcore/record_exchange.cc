// SPDX-License-Identifier: BSD-3-Clause
#include "dataplane/lcore/record_exchange.h"

#include <optional>

namespace rocescope {

RecordExchange::RecordExchange(size_t records) {
  for (std::unique_ptr<HandedBatch>& batch : batches_) {
    batch = std::make_unique<HandedBatch>();
    batch->records.flows.reserve(records);
    batch->records.sightings.reserve(records);
    batch->records.management.reserve(records / 16);
    if (&batch != &batches_.front()) empty_.TryPush(batch.get());
  }
  current_ = batches_.front().get();
}

bool RecordExchange::TryHandOver() {
  const std::optional<HandedBatch*> next = empty_.TryPop();
  if (!next) return false;
  full_.TryPush(current_);  // has room for all batches
  current_ = *next;
  return true;
}

void RecordExchange::GiveBack(HandedBatch* batch) {
  batch->records.Clear();
  empty_.TryPush(batch);
}

}  // namespace rocescope
