// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/daemon/core/record_source.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <mutex>
#include <thread>
#include <utility>

#include "appliance/common/scrape/scrape_loop.h"
#include "base/thread_name.h"
#include "dataplane/live/interface_loop.h"
#include "dataplane/live/udp_loop.h"
#include "dataplane/source/wall_clock.h"

namespace rocescope {
namespace {

// A source with one thread, which runs `loop`.
template <typename Loop>
class LoopSource : public RecordSource {
 public:
  LoopSource(SourceKind kind, std::string name, std::unique_ptr<Loop> loop)
      : kind_(kind), name_(std::move(name)), loop_(std::move(loop)) {}

  std::vector<RecordExchange*> Records() final { return {&worker().records()}; }
  void Start() final {
    thread_ = std::thread([this] {
      NameThread(name_.c_str());
      Run(stop_);
    });
  }
  void Stop() final { stop_ = true; }
  void Join() final { thread_.join(); }
  SourceState State() const override {
    return {.name = name_, .kind = kind_, .statistics = Statistics()};
  }
  SourceStatistics Statistics() const final { return worker().Statistics(); }
  std::vector<uint64_t> Beats() const final { return {worker().beats()}; }

 protected:
  virtual void Run(const std::atomic<bool>& stop) { (void)loop_->Run(stop); }
  // What makes the records: loops that receive frames or datagrams have a worker for that.
  auto& worker() const {
    if constexpr (requires { loop_->worker(); }) {
      return loop_->worker();
    } else {
      return *loop_;
    }
  }
  Loop& loop() const { return *loop_; }

 private:
  const SourceKind kind_;
  const std::string name_;
  const std::unique_ptr<Loop> loop_;
  std::atomic<bool> stop_ = false;
  std::thread thread_;
};

class InterfaceSource : public LoopSource<InterfaceLoop> {
 public:
  InterfaceSource(std::string name, std::unique_ptr<InterfaceLoop> loop, Notify notify)
      : LoopSource(SourceKind::kInterface, std::move(name), std::move(loop)),
        notify_(std::move(notify)) {}

  SourceState State() const override {
    SourceState state = LoopSource::State();
    const std::lock_guard lock(mutex_);
    state.error = error_;
    return state;
  }
  Senders LastSenders() const override { return worker().LastSenders(); }

 private:
  void Run(const std::atomic<bool>& stop) override {
    const Status ended = loop().Run(stop);
    if (ended) return;
    {
      const std::lock_guard lock(mutex_);
      error_ = ended.error().message;
    }
    notify_(Severity::kError, ended.error().message);
  }

  const Notify notify_;
  mutable std::mutex mutex_;  // guards the next member
  std::string error_;
};

class UdpSource : public LoopSource<UdpLoop> {
 public:
  explicit UdpSource(std::unique_ptr<UdpLoop> loop)
      : LoopSource(SourceKind::kUdp, "udp", std::move(loop)) {}

  SourceState State() const override {
    SourceState state = LoopSource::State();
    for (size_t i = 0; i < loop().receiver().sockets(); ++i) {
      const UdpAddress where = loop().receiver().AddressOf(i);
      state.listens.push_back({.address = where.address, .port = where.port});
    }
    return state;
  }
  Senders LastSenders() const override { return worker().LastSenders(); }
};

class ScrapeSource : public LoopSource<ScrapeLoop> {
 public:
  explicit ScrapeSource(std::unique_ptr<ScrapeLoop> loop)
      : LoopSource(SourceKind::kScrape, "scrape", std::move(loop)) {}

  SourceState State() const override {
    SourceState state = LoopSource::State();
    state.problems = loop().Problems();
    state.foreign = loop().Foreign();
    return state;
  }
};

class AgentSource : public LoopSource<AgentLoop> {
 public:
  AgentSource(AgentIntake& intake, std::unique_ptr<AgentLoop> loop)
      : LoopSource(SourceKind::kAgents, "agents", std::move(loop)), intake_(intake) {}

  SourceState State() const override {
    SourceState state = LoopSource::State();
    state.problems = intake_.Problems(WallClock());
    for (std::string& problem : loop().Problems()) state.problems.push_back(std::move(problem));
    state.agents = intake_.Agents();
    return state;
  }
  bool IsListed() const override { return intake_.any(); }

 private:
  AgentIntake& intake_;
};

std::vector<UdpAddress> AddressesOf(const std::vector<ListenAddress>& listen) {
  std::vector<UdpAddress> addresses;
  for (const ListenAddress& one : listen) {
    addresses.push_back({.address = one.address, .port = one.port});
  }
  return addresses;
}

}  // namespace

std::string_view NameOf(SourceKind kind) {
  constexpr std::array<std::string_view, 5> kNames = {"interface", "udp", "dpdk", "scrape",
                                                      "agents"};
  return kNames[static_cast<size_t>(kind)];
}

SourceResult OpenInterfaceSource(const InterfaceConfig& config,
                                 const FrameProcessor::Options& processor, TapId tap,
                                 Notify notify) {
  auto loop = InterfaceLoop::Open({.interface = {.interface = config.name,
                                                 .filter = config.filter,
                                                 .snap = config.snap,
                                                 .promiscuous = config.promiscuous,
                                                 .buffer = config.buffer,
                                                 .tap = tap},
                                   .processor = processor});
  if (!loop) return tl::unexpected(loop.error());
  return std::make_unique<InterfaceSource>(config.name, *std::move(loop), std::move(notify));
}

SourceResult OpenUdpSource(const UdpConfig& config, const FrameProcessor::Options& processor,
                           TapId first_tap) {
  auto loop = UdpLoop::Open({.int_reports = AddressesOf(config.int_reports),
                             .sflow = AddressesOf(config.sflow),
                             .buffer = config.buffer,
                             .processor = processor,
                             .first_tap = first_tap});
  if (!loop) return tl::unexpected(loop.error());
  return std::make_unique<UdpSource>(*std::move(loop));
}

SourceResult OpenScrapeSource(const ScrapeConfig& config, uint64_t memory_budget) {
  auto loop =
      ScrapeLoop::Make(config, std::max<size_t>(memory_budget / 8, HttpFetcher::kLargestBody));
  if (!loop) return tl::unexpected(loop.error());
  return std::make_unique<ScrapeSource>(*std::move(loop));
}

std::unique_ptr<RecordSource> MakeAgentSource(AgentIntake& intake,
                                              std::unique_ptr<AgentLoop> loop) {
  return std::make_unique<AgentSource>(intake, std::move(loop));
}

}  // namespace rocescope
