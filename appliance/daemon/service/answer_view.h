// SPDX-License-Identifier: BSD-3-Clause
// An answer of the engine as messages: each part is made once, however many ask: beforehand
// (AnswerViews::Prepare), or when it is first asked for.
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

// Safe for any number of threads.
class AnswerView {
 public:
  AnswerView(std::shared_ptr<const Answer> answer, Duration window);
  ~AnswerView();

  const Answer& answer() const { return *answer_; }
  const Snapshot& snapshot() const { return *answer_->snapshot; }
  void FillAge(v1::SnapshotMetadata& out) const;

  // Parts of the report: others are empty in what is returned.
  const v1::ReplayReport& jobs() const;
  const v1::ReplayReport& hotspots() const;  // those that last first, then the latest
  const v1::ReplayReport& findings() const;  // likewise
  const v1::ReplayReport& anomalies() const;
  const v1::ReplayReport& service_levels() const;
  // There must be a topology.
  const DependencyGraph& dependencies() const;

  // Makes all parts of the report, so that nobody who asks waits for that.
  void MakeAll() const;

 private:
  enum Part : uint8_t { kJobs, kHotspots, kFindings, kAnomalies, kServiceLevels, kParts };
  template <typename Fill>
  const v1::ReplayReport& Make(Part part, Fill fill) const;

  const std::shared_ptr<const Answer> answer_;
  const Duration window_;
  mutable google::protobuf::Arena arena_;  // may be used by many threads
  mutable std::array<std::once_flag, kParts> made_;
  mutable std::array<v1::ReplayReport*, kParts> parts_{};
  mutable std::once_flag graph_made_;
  mutable std::unique_ptr<DependencyGraph> graph_;
};

// The last answers that anybody asked for, so that pages of one list are of one answer. Any thread.
class AnswerViews {
 public:
  static constexpr size_t kKept = 4;

  // `answers` must outlive it; `window` is that of analysis.
  AnswerViews(const Answers& answers, Duration window) : answers_(answers), window_(window) {}

  // Null: there is none yet. Where somebody prepares views it is the last one that is prepared.
  std::shared_ptr<const AnswerView> Latest();
  // Makes the newest answer's view and all its parts, which may take long, and then lets others
  // have it. By one thread, after each answer.
  std::shared_ptr<const AnswerView> Prepare();
  // Null: it was never asked for, or others have come since.
  std::shared_ptr<const AnswerView> Of(uint64_t version);

 private:
  const Answers& answers_;
  const Duration window_;
  std::shared_ptr<const AnswerView> Keep(std::shared_ptr<const AnswerView> view);

  std::mutex mutex_;
  bool prepares_ = false;
  std::deque<std::shared_ptr<const AnswerView>> kept_;  // the newest last
};

}  // namespace rocescope
