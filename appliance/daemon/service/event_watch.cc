// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/daemon/service/event_watch.h"

#include <utility>

#include "appliance/api/message_value.h"
#include "rocescope/v1/service.pb.h"

namespace rocescope {
namespace {

v1::Event::Kind KindOf(FindingChange change) {
  switch (change) {
    case FindingChange::kBegun:
      return v1::Event::KIND_FAULT_STARTED;
    case FindingChange::kOver:
      return v1::Event::KIND_FAULT_RESOLVED;
    case FindingChange::kWithdrawn:
      return v1::Event::KIND_FAULT_WITHDRAWN;
  }
  return v1::Event::KIND_UNSPECIFIED;
}

}  // namespace

std::vector<v1::Event> EventWatch::LookAt(const AnswerView& answer) {
  std::vector<v1::Event> events;
  const uint32_t restarted = answer.answer().restarted;
  if (std::exchange(restarted_, restarted) != restarted) findings_.Forget();
  const Timestamp reached = answer.answer().reached;
  findings_.Look(answer.findings(), reached, [&](FindingChange change, const v1::Finding& finding) {
    v1::Event& event = events.emplace_back();
    *event.mutable_event_time() = TimestampMessage(reached);
    event.set_kind(KindOf(change));
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
    *event.mutable_event_time() = TimestampMessage(now);
    event.set_kind(v1::Event::KIND_SOURCE_FAILED);
    event.set_sentence(source.error);
  }
  return events;
}

}  // namespace rocescope
