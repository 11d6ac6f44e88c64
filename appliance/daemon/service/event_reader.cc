// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/daemon/service/event_reader.h"

#include <algorithm>
#include <utility>

#include "appliance/api/message_value.h"
#include "rocescope/v1/service.pb.h"

namespace rocescope {

EventReader::EventReader(Service& service, const Caller& caller, uint64_t cursor)
    : service_(service),
      caller_(caller),
      cursor_(cursor == 0 ? service.events().last() : cursor),
      needs_active_faults_(cursor == 0) {}

std::vector<std::shared_ptr<const v1::Event>> EventReader::Next() {
  constexpr size_t kMaxAtATime = 64;
  auto events = service_.events().After(cursor_, kMaxAtATime);
  if (!events.empty()) cursor_ = events.back()->cursor();
  for (auto& event : events) {
    if (!event->has_finding()) continue;
    auto decorated = std::make_shared<v1::Event>(*event);
    service_.reviews().Decorate(*decorated->mutable_finding(), TimeOf(event->event_time()));
    event = std::move(decorated);
  }
  // Events are missing, so the client may not know of a fault.
  if (std::ranges::any_of(events,
                          [](const auto& event) { return event->kind() == v1::Event::KIND_GAP; })) {
    needs_active_faults_ = true;
  }
  const auto answer = service_.views().Latest();
  if (!answer || std::exchange(version_, answer->answer().version) == answer->answer().version) {
    Restrict(answer.get(), events);
    return events;
  }
  auto event = std::make_shared<v1::Event>();
  event->set_cursor(cursor_);  // a client can resume after this event
  event->set_kind(v1::Event::KIND_SNAPSHOT);
  *event->mutable_event_time() = TimestampMessage(answer->answer().reached);
  answer->FillMetadata(*event->mutable_snapshot());
  events.push_back(std::move(event));
  if (std::exchange(needs_active_faults_, false)) AddActiveFaults(*answer, events);
  Restrict(answer.get(), events);
  return events;
}

void EventReader::Restrict(const AnswerView* answer,
                           std::vector<std::shared_ptr<const v1::Event>>& events) const {
  if (caller_.MayReadAll() || events.empty()) return;
  const OwnJobs own = answer != nullptr ? service_.OwnJobsOf(caller_, *answer)
                                        : OwnJobs(caller_, nullptr, service_.daemon().node_names());
  std::vector<std::shared_ptr<const v1::Event>> restricted;
  for (const auto& event : events) {
    auto own_event = std::make_shared<v1::Event>(*event);
    if (own.Restrict(*own_event)) restricted.push_back(std::move(own_event));
  }
  events = std::move(restricted);
}

void EventReader::AddActiveFaults(const AnswerView& answer,
                                  std::vector<std::shared_ptr<const v1::Event>>& events) const {
  for (const v1::Finding& finding : answer.findings().findings()) {
    if (finding.has_end_time()) continue;
    auto event = std::make_shared<v1::Event>();
    event->set_cursor(cursor_);
    event->set_kind(v1::Event::KIND_FAULT_ACTIVE);
    *event->mutable_event_time() = TimestampMessage(answer.answer().reached);
    event->set_sentence(finding.sentence());
    *event->mutable_finding() = finding;
    service_.reviews().Decorate(*event->mutable_finding());
    events.push_back(std::move(event));
  }
}

}  // namespace rocescope
