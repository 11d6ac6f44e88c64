// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/daemon/service/answer_view.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "appliance/common/report/job_report.h"
#include "rocescope/v1/report.pb.h"
#include "rocescope/v1/service.pb.h"

namespace rocescope {
namespace {

// What lasts first, then the latest; of the same times in the order of the report.
template <typename Rows, typename Lasts>
void SortByTime(Rows& rows, Lasts lasts) {
  std::stable_sort(rows.pointer_begin(), rows.pointer_end(), [&](const auto* a, const auto* b) {
    return std::tuple(!lasts(*a), -a->until_ns(), -a->from_ns()) <
           std::tuple(!lasts(*b), -b->until_ns(), -b->from_ns());
  });
}

}  // namespace

AnswerView::AnswerView(std::shared_ptr<const Answer> answer, Duration window)
    : answer_(std::move(answer)), window_(window) {}

AnswerView::~AnswerView() = default;

void AnswerView::FillAge(v1::SnapshotMetadata& out) const {
  out.set_version(answer_->version);
  out.set_data_time_ns(ToNanoseconds(answer_->reached));
  out.set_published_time_ns(ToNanoseconds(answer_->published_at));
  out.set_window_ns(window_.count());
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
    // The last window that was looked at is not over for those that reach into it.
    int64_t last = 0;
    for (const v1::Hotspot& hotspot : out.hotspots()) last = std::max(last, hotspot.until_ns());
    SortByTime(*out.mutable_hotspots(),
               [&](const v1::Hotspot& hotspot) { return hotspot.until_ns() == last; });
  });
}

const v1::ReplayReport& AnswerView::findings() const {
  return Make(kFindings, [&](v1::ReplayReport& out) {
    FillJobNames(snapshot(), out);
    FillFindings(snapshot(), out);
    if (out.has_diagnosis_coverage()) {
      out.mutable_diagnosis_coverage()->set_given_up(LossText(answer_->loss));
    }
    SortByTime(*out.mutable_findings(),
               [](const v1::Finding& finding) { return finding.until_ns() == 0; });
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

// The newest of all that were made.
std::shared_ptr<const AnswerView> AnswerViews::Keep(std::shared_ptr<const AnswerView> view) {
  std::shared_ptr<const AnswerView> forgotten;  // freed outside of the lock
  const std::lock_guard lock(mutex_);
  // Another thread may have come here later with an earlier one in its hands.
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
