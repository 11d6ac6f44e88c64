// SPDX-License-Identifier: BSD-3-Clause
#include "sim/engine/engine.h"

#include <ns3/nstime.h>
#include <ns3/simulator-impl.h>
#include <ns3/simulator.h>

#include <utility>

namespace rocescope::sim {
namespace {

class Call final : public Event {
 public:
  explicit Call(std::function<void()> call) : call_(std::move(call)) {}

 private:
  void Notify() override { call_(); }

  std::function<void()> call_;
};

}  // namespace

Engine::Engine() {
  // Must run before any ns3::Time is created: ns-3 then fixes its resolution.
  static const bool kResolved = [] {
    ns3::Time::SetResolution(ns3::Time::PS);
    return true;
  }();
  static_cast<void>(kResolved);
}

Engine::~Engine() { Clear(); }

void Engine::Clear() { ns3::Simulator::Destroy(); }

SimTime Engine::now_() { return ns3::Simulator::Now().GetTimeStep(); }

void Engine::At(SimTime when, Event& event) {
  ++events_;
  // Simulator::Schedule takes a reference through a Ptr; the engine releases it.
  ns3::Simulator::Schedule(ns3::TimeStep(static_cast<uint64_t>(when - Now())),
                           ns3::Ptr<ns3::EventImpl>(&event));
}

void Engine::At(SimTime when, std::function<void()> call) {
  ++events_;
  ns3::Simulator::Schedule(ns3::TimeStep(static_cast<uint64_t>(when - Now())),
                           ns3::Ptr<ns3::EventImpl>(new Call(std::move(call)), false));
}

void Engine::Run(SimTime end) {
  if (end != kNever) ns3::Simulator::Stop(ns3::TimeStep(static_cast<uint64_t>(end - Now())));
  ns3::Simulator::Run();
}

void Engine::Stop() { ns3::Simulator::Stop(); }

}  // namespace rocescope::sim
