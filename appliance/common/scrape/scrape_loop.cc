// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/common/scrape/scrape_loop.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <thread>
#include <utility>

#include "analytics/job/host_name.h"
#include "dataplane/source/wall_clock.h"

namespace rocescope {
namespace {

constexpr auto kLongestWait = std::chrono::milliseconds(50);
constexpr size_t kRecords = 4096;  // in a batch

}  // namespace

Result<std::unique_ptr<ScrapeLoop>> ScrapeLoop::Make(const ScrapeConfig& config,
                                                     size_t most_bytes) {
  std::unique_ptr<ScrapeLoop> loop(new ScrapeLoop(config, most_bytes));
  for (const ScrapeTarget& target : config.targets) {
    const Result<HttpUrl> url = ParseHttpUrl(target.url);
    if (!url) return tl::unexpected(url.error());
    Target& one = loop->targets_.emplace_back();
    one.config = target;
    one.url = *url;
    one.foreign.url = target.url;
    one.foreign.node = target.node;
  }
  return loop;
}

ScrapeLoop::ScrapeLoop(const ScrapeConfig& config, size_t most_bytes)
    : rules_(config.rules), fetcher_(most_bytes), exchange_(kRecords) {}

void ScrapeLoop::Run(const std::atomic<bool>& stop) {
  while (!stop.load(std::memory_order_relaxed)) {
    const Clock::time_point begin = Clock::now();
    AskThoseDue();
    fetcher_.Run(kLongestWait);
    exchange_.HandOver(WallClock(), RecordExchange::WhenFull::kKeep);
    statistics_.records = exchange_.handed_over();
    statistics_.records_dropped = exchange_.dropped();
    published_.Publish(statistics_);
    std::this_thread::sleep_until(begin + kLongestWait);
  }
  exchange_.HandOver(WallClock(), RecordExchange::WhenFull::kWait);
  statistics_.records = exchange_.handed_over();
  published_.Publish(statistics_);
}

// A slow target is not requested again before its response or timeout.
void ScrapeLoop::AskThoseDue() {
  const Clock::time_point now = Clock::now();
  for (Target& target : targets_) {
    if (target.under_way || now < target.due) continue;
    // Stay on multiples of the period, so that readings are equidistant.
    target.due = std::max(target.due + target.config.period, now);
    target.under_way = true;
    fetcher_.Get(target.url, {}, [this, &target](const Result<std::string>& answer) {
      target.under_way = false;
      Take(target, answer);
    });
  }
}

void ScrapeLoop::Take(Target& target, const Result<std::string>& answer) {
  if (answer) Read(target, *answer);
  const std::lock_guard lock(mutex_);
  target.trouble.clear();
  if (answer) return;
  const bool is_too_large = answer.error().code == ErrorCode::kResourceExhausted;
  target.trouble =
      fmt::format("{}: {}{}", target.config.url, answer.error().message,
                  is_too_large ? "; scrape fewer metrics, or increase the key `memory`" : "");
}

// A label may contain a shorter or longer form of the configured name.
bool ScrapeLoop::Admit(Target& target, CounterRecord& record, Timestamp now) {
  const std::string& node = target.config.node;
  if (node.empty()) return true;
  if (SameHost(record.entity.node, node)) {
    record.entity.node = node;
    return true;
  }
  const std::lock_guard lock(mutex_);
  target.foreign.Add(record.entity.node, now);
  return false;
}

void ScrapeLoop::Read(Target& target, const std::string& text) {
  const Timestamp now = WallClock();
  Ledger& ledger = statistics_.frames.ledger;
  const PrometheusLines lines = ParsePrometheusText(text, [&](const PrometheusSample& sample) {
    std::optional<CounterRecord> record = rules_.Read(sample, target.config.node);
    if (!record) {
      ++ledger.filtered;
      return;
    }
    if (!Admit(target, *record, now)) {
      ++ledger.dropped[static_cast<size_t>(DropReason::kForeignNode)];
      return;
    }
    ++ledger.decoded;
    record->arrival_time = now;
    // Clamp timestamps that are in the future or before the epoch.
    constexpr int64_t kMostMs = INT64_MAX / 1'000'000;
    record->event_time =
        sample.time_ms
            ? std::min(now, FromNanoseconds(std::clamp<int64_t>(*sample.time_ms, 0, kMostMs) *
                                            1'000'000))
            : now;
    // A large scrape takes several batches: while the analysis is slow, records are dropped, and
    // batches do not grow. Each one has a new time: a source that lags behind the others by
    // seconds would look like a clock that was set back.
    if (exchange_.IsFull()) exchange_.HandOver(WallClock(), RecordExchange::WhenFull::kKeep);
    exchange_.current().counters.push_back(*std::move(record));
  });
  ledger.received += lines.samples + lines.broken;
  ledger.dropped[static_cast<size_t>(DropReason::kBadCounters)] += lines.broken;
  statistics_.bytes += text.size();
  if (!statistics_.received_any) statistics_.first_arrival = now;
  statistics_.received_any = true;
  statistics_.last_arrival = now;
}

std::vector<std::string> ScrapeLoop::Problems() const {
  std::vector<std::string> problems;
  const std::lock_guard lock(mutex_);
  for (const Target& target : targets_) {
    if (!target.trouble.empty()) problems.push_back(target.trouble);
  }
  return problems;
}

std::vector<ForeignNodes> ScrapeLoop::Foreign() const {
  std::vector<ForeignNodes> foreign;
  const std::lock_guard lock(mutex_);
  for (const Target& target : targets_) {
    if (target.foreign.samples > 0) foreign.push_back(target.foreign);
  }
  return foreign;
}

}  // namespace rocescope
