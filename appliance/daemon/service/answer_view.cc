// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/daemon/service/answer_view.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "appliance/api/message_value.h"
#include "appliance/common/report/job_report.h"
#include "rocescope/v1/report.pb.h"
#include "rocescope/v1/service.pb.h"

namespace rocescope {
namespace {

// Sorts ongoing elements first, then the latest. The sort is stable.
template <typename Rows, typename Lasts>
void SortByTime(Rows& rows, Lasts lasts) {
  std::stable_sort(rows.pointer_begin(), rows.pointer_end(), [&](const auto* a, const auto* b) {
    return std::tuple(!lasts(*a), -Nanoseconds(a->end_time()), -Nanoseconds(a->start_time())) <
           std::tuple(!lasts(*b), -Nanoseconds(b->end_time()), -Nanoseconds(b->start_time()));
  });
}

}  // namespace

AnswerView::AnswerView(std::shared_ptr<const Answer> answer, Duration window)
    : answer_(std::move(answer)), window_(window) {}

AnswerView::~AnswerView() = default;

void AnswerView::FillMetadata(v1::SnapshotMetadata& out) const {
  out.set_version(answer_->version);
  *out.mutable_data_time() = TimestampMessage(answer_->reached);
  *out.mutable_publish_time() = TimestampMessage(answer_->published_at);
  *out.mutable_window_duration() = DurationMessage(window_);
}

template <typename Fill>
const v1::ReplayReport& AnswerView::Make(Part part, Fill fill) const {
  std::call_once(made_[part], [&] {
    parts_[part] = google::protobuf::Arena::CreateMessage<v1::ReplayReport>(&arena_);
    fill(*parts_[part]);
  });
  return *parts_[part];
}

const v1::ReplayReport& AnswerView::jobs() const {
  return Make(kJobs, [&](v1::ReplayReport& out) { FillJobs(snapshot(), out); });
}

const v1::ReplayReport& AnswerView::hotspots() const {
  return Make(kHotspots, [&](v1::ReplayReport& out) {
    FillHotspots(snapshot(), out);
    // A hotspot that reaches into the last evaluated window is ongoing.
    int64_t last = 0;
    for (const v1::Hotspot& hotspot : out.hotspots())
      last = std::max(last, Nanoseconds(hotspot.end_time()));
    SortByTime(*out.mutable_hotspots(),
               [&](const v1::Hotspot& hotspot) { return Nanoseconds(hotspot.end_time()) == last; });
  });
}

const v1::ReplayReport& AnswerView::findings() const {
  return Make(kFindings, [&](v1::ReplayReport& out) {
    FillJobNames(snapshot(), out);
    FillFindings(snapshot(), out);
    if (out.has_diagnosis_coverage()) {
      out.mutable_diagnosis_coverage()->set_dropped_records_note(LossText(answer_->loss));
    }
    SortByTime(*out.mutable_findings(),
               [](const v1::Finding& finding) { return !finding.has_end_time(); });
  });
}

const v1::ReplayReport& AnswerView::anomalies() const {
  return Make(kAnomalies, [&](v1::ReplayReport& out) { FillAnomalies(snapshot(), out); });
}

const v1::ReplayReport& AnswerView::service_levels() const {
  return Make(kServiceLevels, [&](v1::ReplayReport& out) { FillServiceLevels(snapshot(), out); });
}

const DependencyGraph& AnswerView::dependencies() const {
  std::call_once(graph_made_, [&] {
    const Snapshot& of = snapshot();
    graph_ =
        std::make_unique<DependencyGraph>(*of.fabric, *of.attribution, *of.connections, *of.paths);
  });
  return *graph_;
}

void AnswerView::MakeAll() const {
  jobs();
  hotspots();
  findings();
  anomalies();
  service_levels();
}

std::shared_ptr<const AnswerView> AnswerViews::Latest() {
  std::shared_ptr<const Answer> latest = answers_.Latest();
  if (!latest) return nullptr;
  {
    const std::lock_guard lock(mutex_);
    const bool is_there =
        !kept_.empty() && (prepares_ || kept_.back()->answer().version >= latest->version);
    if (is_there) return kept_.back();
  }
  return Keep(std::make_shared<const AnswerView>(std::move(latest), window_));
}

std::shared_ptr<const AnswerView> AnswerViews::Prepare() {
  std::shared_ptr<const Answer> latest = answers_.Latest();
  if (!latest) return nullptr;
  {
    const std::lock_guard lock(mutex_);
    if (!kept_.empty() && kept_.back()->answer().version >= latest->version) return kept_.back();
  }
  auto view = std::make_shared<const AnswerView>(std::move(latest), window_);
  view->MakeAll();
  {
    const std::lock_guard lock(mutex_);
    prepares_ = true;
  }
  return Keep(std::move(view));
}

// Stores the view if it is the newest, and returns the newest one.
std::shared_ptr<const AnswerView> AnswerViews::Keep(std::shared_ptr<const AnswerView> view) {
  std::shared_ptr<const AnswerView> forgotten;  // destroyed after the lock is released
  const std::lock_guard lock(mutex_);
  // Another thread may have stored a newer view in the meantime.
  if (kept_.empty() || kept_.back()->answer().version < view->answer().version) {
    kept_.push_back(std::move(view));
    if (kept_.size() > kKept) {
      forgotten = std::move(kept_.front());
      kept_.pop_front();
    }
  }
  return kept_.back();
}

std::shared_ptr<const AnswerView> AnswerViews::Of(uint64_t version) {
  const std::lock_guard lock(mutex_);
  for (const auto& view : kept_) {
    if (view->answer().version == version) return view;
  }
  return nullptr;
}

}  // namespace rocescope
