// SPDX-License-Identifier: BSD-3-Clause
// The interface to the event engine of ns-3: get the current time, schedule and cancel events, run.
// No other part of the simulator uses ns-3.
//
// ns-3 has one simulator per process, so only one Engine can exist at a time.
#pragma once

#include <cstdint>
#include <functional>

#include <ns3/event-impl.h>

#include "sim/engine/time.h"

namespace rocescope::sim {

// A recurring event. One object may be scheduled any number of times at once. It must outlive all
// of its scheduled occurrences, or the engine. It causes no allocation of its own.
class Event : public ns3::EventImpl {
 public:
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;

 protected:
  Event() = default;
};

// Calls a member function: `MemberEvent<Port, &Port::Arrive> arrival_{*this};`.
template <typename T, void (T::*kMember)()>
class MemberEvent final : public Event {
 public:
  explicit MemberEvent(T& object) : object_(object) {}

 private:
  void Notify() override { (object_.*kMember)(); }

  T& object_;
};

class Engine {
 public:
  Engine();
  ~Engine();
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  SimTime Now() const { return now_(); }

  // `when` must not be before Now. Events with the same time run in the order of these calls.
  void At(SimTime when, Event& event);
  // For rare events; allocates.
  void At(SimTime when, std::function<void()> call);

  // Runs until no events are left or until `end`, whichever comes first. Now is `end` if that time
  // was reached.
  void Run(SimTime end = kNever);
  void Stop();
  // Cancels all scheduled events. Call it before the objects that they refer to are destroyed.
  void Clear();

  uint64_t events() const { return events_; }  // scheduled with At so far

 private:
  static SimTime now_();

  uint64_t events_ = 0;
};

// A timer that is moved more often than it expires. Moving it later costs nothing, because the
// scheduled event finds the new deadline and waits again. On expiry it calls a member function.
template <typename T, void (T::*kMember)()>
class Timer {
 public:
  Timer(Engine& engine, T& object) : engine_(engine), object_(object), event_(*this) {}

  bool armed() const { return deadline_ != kNever; }
  SimTime deadline() const { return deadline_; }

  void Arm(SimTime deadline) {
    deadline_ = deadline;
    if (deadline >= waiting_) return;
    waiting_ = deadline;
    engine_.At(deadline, event_);
  }
  void Disarm() { deadline_ = kNever; }

 private:
  void Wake() {
    const SimTime now = engine_.Now();
    if (now == waiting_) waiting_ = kNever;  // an event overtaken by an earlier one does nothing
    if (deadline_ == kNever) return;
    if (now < deadline_) {
      if (deadline_ < waiting_) {
        waiting_ = deadline_;
        engine_.At(deadline_, event_);
      }
      return;
    }
    deadline_ = kNever;
    (object_.*kMember)();
  }

  Engine& engine_;
  T& object_;
  SimTime deadline_ = kNever;
  SimTime waiting_ = kNever;  // time of the earliest scheduled event
  MemberEvent<Timer, &Timer::Wake> event_;
};

}  // namespace rocescope::sim
