// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/common/report/finding_watch.h"

#include "appliance/api/message_value.h"
#include "rocescope/v1/report.pb.h"

namespace rocescope {
namespace {

using Key = std::tuple<std::string, std::string, std::string>;

Key KeyOf(const v1::Finding& finding) {
  return {finding.kind(), finding.place(), finding.direction()};
}

v1::Finding Withdrawn(const Key& key, const std::string& sentence) {
  v1::Finding finding;
  finding.set_kind(std::get<0>(key));
  finding.set_place(std::get<1>(key));
  finding.set_direction(std::get<2>(key));
  finding.set_sentence(sentence);
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

void FindingWatch::Look(const v1::ReplayReport& report, const Tell& tell) {
  ++looks_;
  for (const v1::Finding& finding : report.findings()) {
    if (const auto at = known_.find(KeyOf(finding)); at != known_.end()) at->second.seen = looks_;
  }
  std::erase_if(known_, [&](const auto& entry) {
    const Known& known = entry.second;
    if (known.seen == looks_) return false;
    // A resolved finding expires eventually, which is not a change.
    if (!known.over) tell(FindingChange::kWithdrawn, Withdrawn(entry.first, known.sentence));
    return true;
  });
  const std::map<Key, const v1::Finding*> last = LastOfEach(report);
  for (const v1::Finding& finding : report.findings()) {
    const Key key = KeyOf(finding);
    if (last.at(key) != &finding) continue;
    const auto [at, is_new] = known_.try_emplace(key);
    Known& known = at->second;
    known.seen = looks_;
    known.sentence = finding.sentence();
    const bool over = finding.has_end_time();
    // A resolved finding may come back.
    if (is_new || (known.over && !over)) tell(FindingChange::kBegun, finding);
    if (over && !known.over) tell(FindingChange::kOver, finding);
    known.over = over;
  }
}

}  // namespace rocescope
