// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/intake/agent_loop.h"

#include <algorithm>
#include <thread>
#include <utility>

#include "dataplane/lcore/wall_clock.h"
#include "rocescope/v1/agent.pb.h"

namespace rocescope {
namespace {

constexpr auto kPace = std::chrono::milliseconds(50);
constexpr size_t kRecords = 1;  // flow records that a batch has room for: there are none

}  // namespace

AgentLoop::AgentLoop(AgentIntake& intake, AgentFactsBuilder::NameOf name_of,
                     std::function<void(AgentFacts)> set_facts)
    : intake_(intake),
      set_facts_(std::move(set_facts)),
      builder_(std::move(name_of)),
      exchange_(kRecords) {}

void AgentLoop::Run(const std::atomic<bool>& stop) {
  while (!stop.load(std::memory_order_relaxed)) {
    const Clock::time_point begin = Clock::now();
    const bool more = Read();
    TellFacts(begin);
    // Event time is not held back by hosts that say nothing, nor moved on by none at all.
    if (statistics_.received_any) {
      exchange_.HandOver(WallClock(), RecordExchange::WhenFull::kKeep);
    }
    Publish();
    if (!more) std::this_thread::sleep_until(begin + kPace);
  }
  while (Read()) {
  }
  not_before_ = {};
  TellFacts(Clock::now());
  if (statistics_.received_any) exchange_.HandOver(WallClock(), RecordExchange::WhenFull::kWait);
  Publish();
}

// At most so many at a time, so that records leave in between. True: there may be more.
bool AgentLoop::Read() {
  constexpr int kMost = 256;
  for (int i = 0; i < kMost; ++i) {
    const auto delivery = intake_.Next();
    if (!delivery) return false;
    changed_ = builder_.Add(*delivery, exchange_.current().counters) || changed_;
    statistics_.octets += delivery->batch->ByteSizeLong();
    if (!statistics_.received_any) statistics_.first_arrival = delivery->arrival;
    statistics_.received_any = true;
    statistics_.last_arrival = delivery->arrival;
  }
  return true;
}

void AgentLoop::TellFacts(Clock::time_point now) {
  if (!changed_ || now < not_before_) return;
  changed_ = false;
  set_facts_(builder_.Facts());
  const Clock::time_point after = Clock::now();
  not_before_ =
      after + std::max<Clock::duration>(10 * (after - now), std::chrono::milliseconds(500));
}

void AgentLoop::Publish() {
  const AgentFactsBuilder::Counts& counts = builder_.counts();
  Ledger& ledger = statistics_.frames.ledger;
  ledger.received = counts.readings;
  ledger.dropped[static_cast<size_t>(DropReason::kBadCounters)] = counts.malformed;
  ledger.decoded = counts.readings - counts.malformed;
  statistics_.records = exchange_.handed_over();
  statistics_.records_dropped = exchange_.dropped();
  published_.Publish(statistics_);
}

}  // namespace rocescope
