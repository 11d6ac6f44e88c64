// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/daemon/core/dpdk_source.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <exception>
#include <future>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include "appliance/common/process/step_back.h"
#include "base/thread_name.h"
#include "dataplane/port/eal.h"
#include "dataplane/port/port_set.h"
#include "dataplane/port/trap.h"

namespace rocescope {
namespace {

Result<uint16_t> LcoresOf(const DpdkConfig& config, const Eal& eal) {
  const size_t there = eal.lcore_count();
  if (config.lcores > there) {
    return MakeError(
        ErrorCode::kInvalidArgument,
        fmt::format("dpdk.lcores is {}, but the EAL has only {}: add cores with -l in dpdk.eal",
                    config.lcores, there));
  }
  return config.lcores == 0 ? static_cast<uint16_t>(there) : config.lcores;
}

class EalSource : public DpdkSource {
 public:
  EalSource(const DpdkConfig& config, Notify notify)
      : config_(config), notify_(std::move(notify)) {}
  ~EalSource() override {
    if (!thread_.joinable()) return;
    if (!is_started_) run_.set_value(false);
    close_.set_value();
    thread_.join();
  }

  Status Open() {
    thread_ = std::thread([this] {
      NameThread("dpdk");
      Run();
    });
    Status opened = opened_.get_future().get();
    if (!opened) thread_.join();
    return opened;
  }

  std::vector<std::string> PortNames() const override { return set_->Names(); }
  uint16_t lcores() const override { return lcores_; }

  Status Prepare(const FrameProcessor::Options& processor, TapId first_tap) override {
    if (Status made = set_->MakeLoops(processor, first_tap); !made) return made;
    if (Status started = set_->Start(); !started) return started;
    for (const auto& port : set_->ports()) {
      for (const std::string& remark : port->remarks()) notify_(Severity::kWarning, remark);
    }
    return set_->CheckSpread();
  }

  std::vector<RecordExchange*> Records() override {
    std::vector<RecordExchange*> records;
    for (const auto& loop : set_->loops()) records.push_back(&loop->records());
    return records;
  }

  void Start() override {
    is_started_ = true;
    run_.set_value(true);
  }
  void Stop() override { stop_ = true; }
  void Join() override { received_.get_future().wait(); }

  SourceState State() const override {
    SourceState state = {.name = "dpdk",
                         .kind = SourceKind::kDpdk,
                         .statistics = Statistics(),
                         .ports = Ports(),
                         .problems = Problems()};
    const std::lock_guard lock(mutex_);
    state.error = error_;
    return state;
  }

  SourceStatistics Statistics() const override {
    SourceStatistics all;
    for (const auto& loop : set_->loops()) all += loop->Statistics();
    for (const PortFindings& port : Ports()) all.missed += port.missed + port.no_mbuf;
    return all;
  }

  Senders LastSenders() const override {
    Senders all;
    for (const auto& loop : set_->loops()) all.Merge(loop->LastSenders());
    return all;
  }

  std::vector<uint64_t> Beats() const override {
    std::vector<uint64_t> beats;
    for (const auto& loop : set_->loops()) beats.push_back(loop->beats());
    return beats;
  }

 private:
  void Run() {
    auto eal = Eal::Start(config_.eal, [this](std::string_view line) {
      notify_(Severity::kWarning, std::string(line));
    });
    Status ready = eal ? OpenPorts(**eal) : Status(tl::unexpected(eal.error()));
    const bool is_ready = ready.has_value();
    opened_.set_value(std::move(ready));
    if (!is_ready) return;
    if (run_.get_future().get()) Receive(**eal);
    received_.set_value();
    close_.get_future().wait();  // counters stay readable until then
    set_.reset();
  }

  Status OpenPorts(const Eal& eal) {
    const Result<uint16_t> count = LcoresOf(config_, eal);
    if (!count) return tl::unexpected(count.error());
    lcores_ = *count;
    Result<PortSet> ports = PortSet::Open({.ports = config_.ports,
                                           .lcores = lcores_,
                                           .spread = config_.spread,
                                           .mbufs = config_.mbufs});
    if (!ports) return tl::unexpected(ports.error());
    set_.emplace(*std::move(ports));
    return {};
  }

  // If one lcore throws, all stop: without its frames, the results of the others are misleading.
  void Receive(Eal& eal) {
    try {
      eal.RunOnLcores(lcores_, [&](size_t i) {
        try {
          if (!StepForward() && i == 0) {
            notify_(
                Severity::kWarning,
                "DPDK: lcores run without elevated priority; set `LimitNICE=-20` in the systemd "
                "unit, grant CAP_SYS_NICE, or dedicate cores to them");
          }
          set_->loops()[i]->Run(stop_);
        } catch (...) {
          stop_ = true;
          throw;
        }
      });
    } catch (const std::exception& failure) {
      const std::string why =
          fmt::format("DPDK: an lcore failed, so all lcores stopped: {}", failure.what());
      notify_(Severity::kError, why);
      const std::lock_guard lock(mutex_);
      error_ = why;
    }
  }

  std::vector<std::string> Problems() const {
    std::vector<std::string> problems;
    for (const auto& port : set_->ports()) {
      const std::optional<PortCounters> counters = port->Counters();
      if (!counters) continue;
      std::string trap =
          DescribeTrap(port->name(), {},
                       {.on_wire = counters->on_wire,
                        .delivered = counters->delivered + counters->missed + counters->no_mbuf});
      if (!trap.empty()) problems.push_back(std::move(trap));
    }
    return problems;
  }

  std::vector<PortFindings> Ports() const {
    std::vector<PortFindings> ports;
    const std::lock_guard lock(mutex_);
    mbufs_peaks_.resize(set_->ports().size());
    for (const auto& port : set_->ports()) {
      uint32_t& peak = mbufs_peaks_[ports.size()];
      PortFindings& findings = ports.emplace_back(FindingsOf(*port, 0));
      peak = std::max(peak, findings.mbufs_in_use);
      findings.mbufs_peak = peak;
    }
    return ports;
  }

  const DpdkConfig config_;
  const Notify notify_;
  uint16_t lcores_ = 0;
  std::optional<PortSet> set_;
  std::atomic<bool> stop_ = false;
  mutable std::mutex mutex_;  // guards the next two
  std::string error_;
  // For each port: maximum number in use, sampled on each query.
  mutable std::vector<uint32_t> mbufs_peaks_;

  // The thread that is the EAL's main lcore. It synchronises with its owner through these promises,
  // in this order.
  std::thread thread_;
  std::promise<Status> opened_;
  std::promise<bool> run_;  // false: there is nothing to receive
  std::promise<void> received_;
  std::promise<void> close_;
  bool is_started_ = false;
};

}  // namespace

Result<std::unique_ptr<DpdkSource>> DpdkSource::Open(const DpdkConfig& config, Notify notify) {
  auto source = std::make_unique<EalSource>(config, std::move(notify));
  if (const Status opened = source->Open(); !opened) return tl::unexpected(opened.error());
  return source;
}

}  // namespace rocescope
