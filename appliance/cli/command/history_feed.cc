// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/cli/command/history_feed.h"

#include <utility>
#include <vector>

#include "appliance/daemon/service/job_summary.h"
#include "appliance/daemon/service/past_answer.h"
#include "rocescope/v1/service.pb.h"

namespace rocescope {
namespace {

// Event time. A job summary reads all connections of all jobs, which is too expensive for every
// snapshot.
constexpr Duration kJobsEvery = std::chrono::seconds(5);

}  // namespace

HistoryFeed::HistoryFeed(HistoryStore* store, std::shared_ptr<const topology::Fabric> fabric)
    : store_(store), links_(std::move(fabric)) {}

void HistoryFeed::Keep(const v1::Event& event) {
  if (store_ != nullptr) store_->Add(ToPastEvent(event));
}

void HistoryFeed::LookAt(const AnswerView& answer) {
  if (store_ == nullptr) return;
  const uint32_t restarted = answer.answer().restarted;
  if (std::exchange(restarted_, restarted) != restarted) Restart();
  links_.Add(*answer.snapshot().link_loads);
  AddJobs(answer);
  AddAnswers(answer);
  Add(links_.Take());
  Add(jobs_.Take());
  store_->SetLate(links_.late() + jobs_.late());
}

// The clock was set back, and new data is older than stored data.
void HistoryFeed::Restart() {
  links_.Restart();
  jobs_.Restart();
  jobs_reached_ = {};
  answers_minute_ = INT64_MIN;
}

void HistoryFeed::AddJobs(const AnswerView& answer) {
  const Snapshot& snapshot = answer.snapshot();
  const Timestamp reached = answer.answer().reached;
  if (jobs_reached_ != Timestamp{} && reached < jobs_reached_ + kJobsEvery) return;
  jobs_reached_ = reached;
  std::vector<v1::JobSummary> jobs(snapshot.attribution->jobs.size());
  for (size_t i = 0; i < jobs.size(); ++i) FillJobSummary(answer, i, jobs[i]);
  jobs_.Add(reached, jobs);
}

// Stores the first snapshot of each minute.
void HistoryFeed::AddAnswers(const AnswerView& answer) {
  const int64_t minute = IntervalIndex(answer.answer().reached, kMinute);
  if (minute <= answers_minute_) return;
  answers_minute_ = minute;
  for (PastAnswer& part : PastAnswersOf(answer)) store_->Add(std::move(part));
}

void HistoryFeed::End() {
  if (store_ == nullptr) return;
  Add(links_.Take(/*unfinished=*/true));
  Add(jobs_.Take(/*unfinished=*/true));
}

void HistoryFeed::Add(std::vector<HistoryRow> rows) {
  for (HistoryRow& row : rows) store_->Add(std::move(row));
}

}  // namespace rocescope
