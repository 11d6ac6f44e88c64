// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/daemon/service/event_log.h"

#include <algorithm>
#include <utility>

#include "rocescope/v1/service.pb.h"

namespace rocescope {
namespace {

constexpr const char* kUnknown =
    "unknown cursor: it is from another appliance, or the clock was set back; all stored events "
    "follow";
constexpr const char* kRestarted = "the appliance restarted: earlier events are not available";
constexpr const char* kForgotten = "earlier events are no longer stored";

std::shared_ptr<const v1::Event> Gap(uint64_t cursor, const char* sentence) {
  auto gap = std::make_shared<v1::Event>();
  gap->set_cursor(cursor);
  gap->set_kind(v1::Event::KIND_GAP);
  gap->set_sentence(sentence);
  return gap;
}

}  // namespace

EventLog::EventLog(uint64_t began) : began_(began), last_(began) {}
EventLog::~EventLog() = default;

void EventLog::Append(v1::Event event) {
  auto made = std::make_shared<v1::Event>(std::move(event));
  const std::lock_guard lock(mutex_);
  made->set_cursor(++last_);
  kept_.push_back(std::move(made));
  if (kept_.size() > kKept) kept_.pop_front();
}

uint64_t EventLog::last() const {
  const std::lock_guard lock(mutex_);
  return last_;
}

std::vector<std::shared_ptr<const v1::Event>> EventLog::After(uint64_t cursor, size_t most) const {
  std::vector<std::shared_ptr<const v1::Event>> events;
  const std::lock_guard lock(mutex_);
  if (cursor == 0) cursor = began_;
  const uint64_t forgotten = last_ - kept_.size();
  if (cursor < forgotten || cursor > last_) {
    events.push_back(Gap(forgotten, cursor > last_    ? kUnknown
                                    : cursor < began_ ? kRestarted
                                                      : kForgotten));
    cursor = forgotten;
  }
  const auto begin = static_cast<size_t>(cursor - forgotten);
  const size_t end = std::min(kept_.size(), begin + most);
  for (size_t i = begin; i < end; ++i) events.push_back(kept_[i]);
  return events;
}

}  // namespace rocescope
