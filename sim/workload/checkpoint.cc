// SPDX-License-Identifier: BSD-3-Clause
#include "sim/workload/checkpoint.h"

#include <algorithm>

namespace rocescope::sim {

void CheckpointWriter::Write(uint64_t bytes, std::function<void()> done) {
  constexpr uint64_t kStorageHeap = 0x7d00'0000'0000;
  constexpr uint32_t kStorageKey = 0x57;
  // A write of no bytes is one empty message, so that `done` is called in any case.
  uint64_t written = 0;
  do {
    const uint64_t length = std::min(kMessage, bytes - written);
    ++posted_;
    connection_.first->Post({.verb = Verb::kWrite,
                             .length = length,
                             .address = kStorageHeap + written,
                             .rkey = kStorageKey});
    written += length;
  } while (written < bytes);
  pending_.push_back({.messages = posted_, .done = std::move(done)});
}

void CheckpointWriter::Completed(QueuePair&, const Message&) {
  ++completed_;
  if (pending_.empty() || pending_.front().messages > completed_) return;
  const Pending done = std::move(pending_.front());
  pending_.pop_front();
  if (done.done) done.done();
}

void CheckpointWriter::Close() {
  pending_.clear();
  connection_.first->Close();
  connection_.second->Close();
}

}  // namespace rocescope::sim
