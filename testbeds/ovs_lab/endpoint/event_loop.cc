// SPDX-License-Identifier: BSD-3-Clause
#include "testbeds/ovs_lab/endpoint/event_loop.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <fstream>
#include <utility>

namespace rocescope::endpoint {
namespace {

constexpr int kNiceness = -10;
constexpr Duration kReportInterval = std::chrono::seconds(1);

// The time of day at the start, advanced by a clock that is never set back.
class Clock {
 public:
  Timestamp Now() const {
    return start_ + std::chrono::duration_cast<Duration>(std::chrono::steady_clock::now() - since_);
  }

 private:
  const Timestamp start_ = std::chrono::system_clock::now();
  const std::chrono::steady_clock::time_point since_ = std::chrono::steady_clock::now();
};

class Runner {
 public:
  Runner(const LabPlan& plan, topology::NodeIndex host, const RunOptions& options)
      : plan_(plan), host_index_(host), options_(options) {}

  Status Run() {
    if (Status opened = Open(); !opened) return opened;
    Loop();
    reports_->Finish(NicReports(), clock_.Now());
    return reports_->status();
  }

 private:
  struct Interface {
    topology::NicIndex nic = 0;
    std::unique_ptr<PacketSocket> socket;
    uint64_t drops = 0;
  };

  Status Open() {
    for (Status (Runner::*step)() : {&Runner::OpenInterfaces, &Runner::OpenEvents}) {
      if (Status done = (this->*step)(); !done) return done;
    }
    // A late ACK looks like loss. Without the privilege, the priority stays as it is.
    setpriority(PRIO_PROCESS, 0, kNiceness);
    auto reports = Reports::Open(plan_, host_index_, options_.directory);
    if (!reports) return tl::unexpected(reports.error());
    reports_ = std::move(*reports);
    Host::Sinks sinks;
    for (const Interface& each : interfaces_) sinks[each.nic] = each.socket.get();
    begin_ = plan_.begin.value_or(clock_.Now());
    if (plan_.duration) end_ = begin_ + *plan_.duration;
    host_.emplace(plan_, host_index_, begin_, sinks, *reports_);
    spdlog::info("started: host={} nics={} jobs={} begin_in={:.3f}s",
                 plan_.fabric->node(host_index_).name, interfaces_.size(), host_->jobs().size(),
                 std::chrono::duration<double>(begin_ - clock_.Now()).count());
    if (host_->jobs().empty()) spdlog::warn("no job of the plan uses this host");
    return {};
  }

  Status OpenInterfaces() {
    const auto all = plan_.fabric->NicsOf(host_index_);
    for (const topology::NicIndex nic : NicsInUse(plan_, host_index_)) {
      const auto number = static_cast<size_t>(std::find(all.begin(), all.end(), nic) - all.begin());
      if (number >= options_.interfaces.size()) {
        return MakeError(
            ErrorCode::kInvalidArgument,
            fmt::format("a job uses {}, the NIC number {} of {}, but --interface names only {}",
                        plan_.fabric->nic(nic).device, number + 1,
                        plan_.fabric->node(host_index_).name, options_.interfaces.size()));
      }
      auto socket =
          PacketSocket::Open(options_.interfaces[number], plan_.transport.mtu + kMostIpOverhead);
      if (!socket) return tl::unexpected(socket.error());
      interfaces_.push_back({.nic = nic, .socket = std::move(*socket)});
    }
    auto port = OccupyRocePort();
    if (!port) return tl::unexpected(port.error());
    roce_port_ = std::move(*port);
    return {};
  }

  Status OpenEvents() {
    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, SIGINT);
    sigaddset(&signals, SIGTERM);
    sigprocmask(SIG_BLOCK, &signals, nullptr);
    signals_ = Descriptor(signalfd(-1, &signals, SFD_NONBLOCK | SFD_CLOEXEC));
    timer_ = Descriptor(timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC));
    poll_ = Descriptor(epoll_create1(EPOLL_CLOEXEC));
    if (signals_.number() < 0 || timer_.number() < 0 || poll_.number() < 0) {
      return SystemFailure("cannot create an event queue");
    }
    std::vector<int> watched = {signals_.number(), timer_.number()};
    for (const Interface& each : interfaces_) watched.push_back(each.socket->descriptor());
    for (const int descriptor : watched) {
      epoll_event event{.events = EPOLLIN, .data = {.fd = descriptor}};
      if (epoll_ctl(poll_.number(), EPOLL_CTL_ADD, descriptor, &event) != 0) {
        return SystemFailure("cannot add a descriptor to the event queue");
      }
    }
    return {};
  }

  void Loop() {
    Timestamp next_report = clock_.Now();
    while (reports_->status()) {
      const Timestamp now = clock_.Now();
      reports_->SetTime(now);
      host_->Advance(now);
      if (now >= end_) return;
      if (now >= next_report) {
        next_report = now + kReportInterval;
        ReadSlowdown();
        reports_->WriteCounters(NicReports());
      }
      if (Wait(std::min({host_->Next(), next_report, end_}))) return;
    }
  }

  // Waits for packets, a signal or the time `until`. Returns whether a signal arrived.
  bool Wait(Timestamp until) {
    const Timestamp now = clock_.Now();
    const int64_t time = until > now ? (until - now).count() : 1;
    constexpr int64_t kSecond = 1'000'000'000;
    itimerspec setting{};
    setting.it_value = {.tv_sec = time / kSecond, .tv_nsec = time % kSecond};
    timerfd_settime(timer_.number(), 0, &setting, nullptr);
    std::array<epoll_event, 16> events;
    const int count = epoll_wait(poll_.number(), events.data(), events.size(), -1);
    for (int i = 0; i < count; ++i) {
      const int descriptor = events[static_cast<size_t>(i)].data.fd;
      if (descriptor == signals_.number()) return true;
      for (Interface& each : interfaces_) {
        if (each.socket->descriptor() == descriptor) Receive(each);
      }
    }
    return false;
  }

  void Receive(Interface& from) {
    const Timestamp now = clock_.Now();
    reports_->SetTime(now);
    from.socket->Receive(
        [&](std::span<const uint8_t> frame) { host_->Receive(from.nic, frame, now); });
  }

  std::vector<Reports::NicReport> NicReports() {
    std::vector<Reports::NicReport> reports;
    for (Interface& each : interfaces_) {
      each.drops += each.socket->TakeDrops();
      reports.push_back({.nic = each.nic,
                         .counters = host_->nics().at(each.nic)->counters(),
                         .interface = ReadInterfaceCounters(each.socket->interface()),
                         .up = each.socket->IsUp()});
      reports.back().counters.rx_socket_drops = each.drops;
    }
    return reports;
  }

  // The factor in endpoint/HOST.slowdown makes the ranks of this host stragglers.
  void ReadSlowdown() {
    std::ifstream file(fmt::format("{}/endpoint/{}.slowdown", options_.directory,
                                   plan_.fabric->node(host_index_).name));
    double factor = 1;
    if (!(file >> factor) || !(factor > 0) || factor > 1e6) factor = 1;
    if (factor == slowdown_) return;
    slowdown_ = factor;
    host_->SetSlowdown(factor);
    spdlog::info("compute times change: factor={}", factor);
  }

  const LabPlan& plan_;
  const topology::NodeIndex host_index_;
  const RunOptions& options_;
  const Clock clock_;
  std::vector<Interface> interfaces_;
  Descriptor roce_port_;
  Descriptor signals_;
  Descriptor timer_;
  Descriptor poll_;
  std::unique_ptr<Reports> reports_;
  std::optional<Host> host_;
  Timestamp begin_{};
  Timestamp end_ = Timestamp::max();
  double slowdown_ = 1;
};

}  // namespace

Status RunHost(const LabPlan& plan, topology::NodeIndex host, const RunOptions& options) {
  return Runner(plan, host, options).Run();
}

}  // namespace rocescope::endpoint
