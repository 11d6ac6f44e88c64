// SPDX-License-Identifier: BSD-3-Clause
// The seam to the event engine, which is ns-3's: what time it is, something to be done at a time,
// not to be done after all, and run. Nothing else of the simulator knows ns-3.
//
// ns-3 has one simulator a process; so there is one Engine at a time.
#pragma once

#include <cstdint>
#include <functional>

#include <ns3/event-impl.h>

#include "sim/engine/time.h"

namespace rocescope::sim {

// Something that happens again and again. One object may be waiting any number of times; it must
// outlive all of them, or the engine. Costs no allocation of its own.
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

  // `when` lies not before Now. What is due at the same time happens in the order of these calls.
  void At(SimTime when, Event& event);
  // For what happens seldom.
  void At(SimTime when, std::function<void()> call);

  // Until nothing is left to do or `end`, whichever comes first; Now is then `end` if that was
  // reached.
  void Run(SimTime end = kNever);
  void Stop();
  // Forgets all that waits: before the objects that it would call go.
  void Clear();

  uint64_t events() const { return events_; }  // handed to At

 private:
  static SimTime now_();

  uint64_t events_ = 0;
};

// A deadline that moves more often than it is met: moving it later costs nothing, since the event
// that waits finds it moved and waits again. Calls a member function when it is over.
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
    if (now == waiting_)
      waiting_ = kNever;  // one that was overtaken by an earlier one does nothing
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
  SimTime waiting_ = kNever;  // when the earliest waiting event wakes
  MemberEvent<Timer, &Timer::Wake> event_;
};

}  // namespace rocescope::sim
