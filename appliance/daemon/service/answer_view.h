// SPDX-License-Identifier: BSD-3-Clause
// A snapshot of the engine as messages. Each part is built once: in advance (AnswerViews::Prepare)
// or on first use.
#pragma once

#include <google/protobuf/arena.h>

#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>

#include "analytics/dependency/dependency_graph.h"
#include "appliance/daemon/core/answers.h"

namespace rocescope {

namespace v1 {
class SnapshotMetadata;
class ReplayReport;
}  // namespace v1

// Thread-safe.
class AnswerView {
 public:
  AnswerView(std::shared_ptr<const Answer> answer, Duration window);
  ~AnswerView();

  const Answer& answer() const { return *answer_; }
  const Snapshot& snapshot() const { return *answer_->snapshot; }
  void FillMetadata(v1::SnapshotMetadata& out) const;

  // Each function returns a report in which only that part is filled.
  const v1::ReplayReport& jobs() const;
  const v1::ReplayReport& hotspots() const;  // ongoing ones first, then the latest
  const v1::ReplayReport& findings() const;  // ongoing ones first, then the latest
  const v1::ReplayReport& anomalies() const;
  const v1::ReplayReport& service_levels() const;
  // Requires a topology.
  const DependencyGraph& dependencies() const;

  // Builds all parts of the report in advance.
  void MakeAll() const;

 private:
  enum Part : uint8_t { kJobs, kHotspots, kFindings, kAnomalies, kServiceLevels, kParts };
  template <typename Fill>
  const v1::ReplayReport& Make(Part part, Fill fill) const;

  const std::shared_ptr<const Answer> answer_;
  const Duration window_;
  mutable google::protobuf::Arena arena_;  // Arena is thread-safe
  mutable std::array<std::once_flag, kParts> made_;
  mutable std::array<v1::ReplayReport*, kParts> parts_{};
  mutable std::once_flag graph_made_;
  mutable std::unique_ptr<DependencyGraph> graph_;
};

// The views of the last snapshots, so that all pages of a list come from the same snapshot.
// Thread-safe.
class AnswerViews {
 public:
  static constexpr size_t kKept = 4;

  // `answers` must outlive the views; `window` is the length of an analysis window.
  AnswerViews(const Answers& answers, Duration window) : answers_(answers), window_(window) {}

  // Returns the newest view, or null before the first snapshot. If Prepare is in use, returns the
  // last prepared view.
  std::shared_ptr<const AnswerView> Latest();
  // Builds the view of the newest snapshot with all its parts, which may take long, and then
  // publishes it. To be called by one thread after each analysis pass.
  std::shared_ptr<const AnswerView> Prepare();
  // Returns null if the view was never built or is no longer kept.
  std::shared_ptr<const AnswerView> Of(uint64_t version);

 private:
  const Answers& answers_;
  const Duration window_;
  std::shared_ptr<const AnswerView> Keep(std::shared_ptr<const AnswerView> view);

  std::mutex mutex_;
  bool prepares_ = false;
  std::deque<std::shared_ptr<const AnswerView>> kept_;  // newest last
};

}  // namespace rocescope
