// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/daemon/intake/agent_loop.h"

#include <fmt/format.h>

#include <algorithm>
#include <thread>
#include <utility>

#include "dataplane/source/wall_clock.h"
#include "rocescope/v1/agent.pb.h"

namespace rocescope {
namespace {

constexpr auto kPace = std::chrono::milliseconds(50);
constexpr size_t kRecords = 1;  // capacity for flow records, of which there are none

}  // namespace

AgentLoop::AgentLoop(AgentIntake& intake, AgentFactsBuilder::NameOf name_of,
                     std::function<void(AgentFacts)> set_facts,
                     const AgentFactsBuilder::Limits& limits)
    : intake_(intake),
      set_facts_(std::move(set_facts)),
      builder_(std::move(name_of), limits),
      exchange_(kRecords) {}

void AgentLoop::Run(const std::atomic<bool>& stop) {
  while (!stop.load(std::memory_order_relaxed)) {
    const Clock::time_point begin = Clock::now();
    NoticeSilence(begin);
    const bool more = Read();
    NoticeLosses(begin);
    PublishFacts(begin);
    // Silent hosts do not hold back event time, and event time does not advance without data.
    if (statistics_.received_any) {
      exchange_.HandOver(WallClock(), RecordExchange::WhenFull::kKeep);
    }
    Publish();
    if (!more) std::this_thread::sleep_until(begin + kPace);
  }
  while (Read()) {
    if (exchange_.IsFull()) exchange_.HandOver(WallClock(), RecordExchange::WhenFull::kWait);
  }
  NoticeLosses(Clock::now());
  not_before_ = {};
  PublishFacts(Clock::now());
  if (statistics_.received_any) exchange_.HandOver(WallClock(), RecordExchange::WhenFull::kWait);
  Publish();
}

// Reads a bounded number of deliveries, so that records are handed over in between. Returns true if
// there may be more.
bool AgentLoop::Read() {
  constexpr int kMost = 256;
  for (int i = 0; i < kMost; ++i) {
    if (exchange_.IsFull()) return true;
    const auto delivery = intake_.Next();
    if (!delivery) return false;
    changed_ = builder_.Add(*delivery, exchange_.current().counters) || changed_;
    if (!delivery->batch) continue;
    statistics_.bytes += delivery->batch->ByteSizeLong();
    if (!statistics_.received_any) statistics_.first_arrival = delivery->arrival;
    statistics_.received_any = true;
    statistics_.last_arrival = delivery->arrival;
  }
  return true;
}

void AgentLoop::NoticeSilence(Clock::time_point now) {
  if (now < silence_due_) return;
  silence_due_ = now + std::chrono::seconds(1);
  intake_.NoticeSilence(WallClock());
}

void AgentLoop::NoticeLosses(Clock::time_point now) {
  constexpr auto kRemembered = std::chrono::minutes(5);
  const AgentFactsBuilder::Counts& counts = builder_.counts();
  const uint64_t before = std::exchange(lost_, counts.forgotten + counts.refused);
  const bool more = lost_ != before;
  if (more) lost_at_ = now;
  const bool ends = now - lost_at_ > kRemembered;
  const std::lock_guard lock(mutex_);
  if (!more && (!ends || problems_.empty())) return;
  problems_.clear();
  if (ends) return;
  if (counts.forgotten > 0) {
    problems_.push_back(
        fmt::format("{} logs of hosts were evicted, starting with the oldest writes: there are too "
                    "many or they are too long (rotate them, or narrow an agent's `nccl_logs`)",
                    counts.forgotten));
  }
  if (counts.refused > 0) {
    problems_.push_back(
        fmt::format("{} queue pairs of hosts were ignored: too many on a host, or invalid QPNs",
                    counts.refused));
  }
}

std::vector<std::string> AgentLoop::Problems() const {
  const std::lock_guard lock(mutex_);
  return problems_;
}

void AgentLoop::PublishFacts(Clock::time_point now) {
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
