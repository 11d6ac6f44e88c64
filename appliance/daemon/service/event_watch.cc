// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/daemon/service/event_watch.h"

#include <fmt/format.h>

#include <utility>

#include "rocescope/v1/service.pb.h"

namespace rocescope {

std::vector<v1::Event> EventWatch::LookAt(const AnswerView& answer) {
  std::vector<v1::Event> events;
  const uint32_t restarted = answer.answer().restarted;
  if (std::exchange(restarted_, restarted) != restarted) findings_.Forget();
  findings_.Look(answer.findings(), [&](FindingChange change, const v1::Finding& finding) {
    v1::Event& event = events.emplace_back();
    event.set_at_ns(ToNanoseconds(answer.answer().reached));
    event.set_kind(fmt::format("fault_{}", NameOf(change)));
    event.set_sentence(finding.sentence());
    *event.mutable_finding() = finding;
  });
  return events;
}

std::vector<v1::Event> EventWatch::LookAt(const std::vector<SourceState>& sources, Timestamp now) {
  std::vector<v1::Event> events;
  for (const SourceState& source : sources) {
    if (source.error.empty() || !failed_.insert(source.name).second) continue;
    v1::Event& event = events.emplace_back();
    event.set_at_ns(ToNanoseconds(now));
    event.set_kind("source_failed");
    event.set_sentence(source.error);
  }
  return events;
}

}  // namespace rocescope
