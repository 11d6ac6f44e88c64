// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/common/report/finding_watch.h"

#include <algorithm>
#include <iterator>

#include "appliance/api/message_value.h"
#include "rocescope/v1/report.pb.h"

namespace rocescope {
namespace {

constexpr Duration kLeastTimeBetween = std::chrono::minutes(5);

using Key = std::tuple<std::string, std::string, std::string>;

Key KeyOf(const v1::Finding& finding) {
  return {finding.kind(), finding.place(), finding.direction()};
}

v1::Finding Withdrawn(const Key& key, const std::string& sentence,
                      const std::set<std::string>& affected_job_ids) {
  v1::Finding finding;
  finding.set_kind(std::get<0>(key));
  finding.set_place(std::get<1>(key));
  finding.set_direction(std::get<2>(key));
  finding.set_sentence(sentence);
  for (const std::string& id : affected_job_ids) finding.add_affected_job_ids(id);
  return finding;
}

// A fault that came back has several findings: the last one counts.
std::map<Key, const v1::Finding*> LastOfEach(const v1::ReplayReport& report) {
  const auto end = [](const v1::Finding& finding) {
    return finding.has_end_time() ? Nanoseconds(finding.end_time()) : INT64_MAX;
  };
  std::map<Key, const v1::Finding*> last;
  for (const v1::Finding& finding : report.findings()) {
    const v1::Finding*& of = last[KeyOf(finding)];
    if (of == nullptr || end(*of) < end(finding)) of = &finding;
  }
  return last;
}

}  // namespace

std::string_view NameOf(FindingChange change) {
  switch (change) {
    case FindingChange::kBegun:
      return "started";
    case FindingChange::kOver:
      return "resolved";
    case FindingChange::kWithdrawn:
      break;
  }
  return "withdrawn";
}

void FindingWatch::Look(const v1::ReplayReport& report, Timestamp now, const Tell& tell) {
  ++looks_;
  const auto is_recent = [&](std::optional<Timestamp> time) {
    return time && now - *time < kLeastTimeBetween;
  };
  std::set<std::string_view> jobs;
  for (const v1::Job& job : report.jobs()) jobs.insert(job.job_id());
  for (const v1::Finding& finding : report.findings()) {
    if (const auto at = known_.find(KeyOf(finding)); at != known_.end()) at->second.seen = looks_;
  }
  for (auto at = known_.begin(); at != known_.end();) {
    auto& [key, known] = *at;
    // Jobs come and go during a long fault.
    std::erase_if(known.affected_job_ids,
                  [&](const std::string& id) { return !jobs.contains(id); });
    // A resolved finding expires eventually, which is not a change.
    const bool is_missing = known.seen != looks_;
    if (is_missing && known.is_active && !is_recent(known.ended)) {
      tell(FindingChange::kWithdrawn, Withdrawn(key, known.sentence, known.affected_job_ids));
      known.is_active = false;
      known.ended = now;
    }
    const bool is_forgotten =
        is_missing && !known.is_active && !is_recent(known.started) && !is_recent(known.ended);
    at = is_forgotten ? known_.erase(at) : std::next(at);
  }
  const std::map<Key, const v1::Finding*> last = LastOfEach(report);
  for (const v1::Finding& finding : report.findings()) {
    const Key key = KeyOf(finding);
    if (last.at(key) != &finding) continue;
    const auto [at, is_new] = known_.try_emplace(key);
    Known& known = at->second;
    known.seen = looks_;
    known.sentence = finding.sentence();
    const bool is_active = !finding.has_end_time();
    // A resolved finding may come back.
    if (is_new || (is_active && !known.is_active && !is_recent(known.started))) {
      tell(FindingChange::kBegun, finding);
      known.is_active = true;
      known.started = now;
      known.affected_job_ids.clear();
    }
    known.affected_job_ids.insert(finding.affected_job_ids().begin(),
                                  finding.affected_job_ids().end());
    if (!is_active && known.is_active && !is_recent(known.ended)) {
      tell(FindingChange::kOver, finding);
      known.is_active = false;
      known.ended = now;
    }
  }
}

}  // namespace rocescope
