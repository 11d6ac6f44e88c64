// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/daemon/core/dpdk_source.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <exception>
#include <future>
#include <iterator>
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

}  // namespace

struct DpdkSource::Parts {
  DpdkConfig config;
  std::function<void(const std::string&)> tell;
  uint16_t lcores = 0;
  std::optional<PortSet> set;
  std::atomic<bool> stop = false;
  mutable std::mutex mutex;  // guards the next two
  std::string error;
  std::vector<uint32_t> mbufs_peaks;  // by port: maximum number in use, sampled on each query

  // The thread that is the EAL's main lcore. It synchronises with its owner through these promises,
  // in this order.
  std::thread thread;
  std::promise<Status> opened;
  std::promise<bool> run;  // false: there is nothing to receive
  std::promise<void> received;
  std::promise<void> close;
  bool started = false;
  bool stopped = false;

  void Run() {
    auto eal = Eal::Start(config.eal, [this](std::string_view line) { tell(std::string(line)); });
    Status ready = eal ? OpenPorts(**eal) : Status(tl::unexpected(eal.error()));
    const bool is_ready = ready.has_value();
    opened.set_value(std::move(ready));
    if (!is_ready) return;
    if (run.get_future().get()) Receive(**eal);
    received.set_value();
    close.get_future().wait();  // counters stay readable until then
    set.reset();
  }

  Status OpenPorts(const Eal& eal) {
    const Result<uint16_t> count = LcoresOf(config, eal);
    if (!count) return tl::unexpected(count.error());
    lcores = *count;
    Result<PortSet> ports = PortSet::Open(
        {.ports = config.ports, .lcores = lcores, .spread = config.spread, .mbufs = config.mbufs});
    if (!ports) return tl::unexpected(ports.error());
    set.emplace(*std::move(ports));
    return {};
  }

  // If one lcore throws, all stop: without its frames, the results of the others are misleading.
  void Receive(Eal& eal) {
    try {
      eal.RunOnLcores(lcores, [&](size_t i) {
        try {
          if (!StepForward() && i == 0) {
            tell(
                "DPDK: lcores run without elevated priority; set `LimitNICE=-20` in the systemd "
                "unit, grant CAP_SYS_NICE, or dedicate cores to them");
          }
          set->loops()[i]->Run(stop);
        } catch (...) {
          stop = true;
          throw;
        }
      });
    } catch (const std::exception& failure) {
      const std::lock_guard lock(mutex);
      error = fmt::format("DPDK: an lcore failed, so all lcores stopped: {}", failure.what());
    }
  }
};

Result<std::unique_ptr<DpdkSource>> DpdkSource::Open(const DpdkConfig& config,
                                                     std::function<void(const std::string&)> tell) {
  auto parts = std::make_unique<Parts>();
  parts->config = config;
  parts->tell = std::move(tell);
  parts->thread = std::thread([&parts = *parts] {
    NameThread("dpdk");
    parts.Run();
  });
  const Status opened = parts->opened.get_future().get();
  if (!opened) {
    parts->thread.join();
    return tl::unexpected(opened.error());
  }
  return std::unique_ptr<DpdkSource>(new DpdkSource(std::move(parts)));
}

DpdkSource::DpdkSource(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}

DpdkSource::~DpdkSource() {
  if (!parts_->started) parts_->run.set_value(false);
  Stop();
  parts_->close.set_value();
  parts_->thread.join();
}

std::vector<std::string> DpdkSource::PortNames() const { return parts_->set->Names(); }
uint16_t DpdkSource::lcores() const { return parts_->lcores; }

Status DpdkSource::Prepare(const FrameProcessor::Options& processor, TapId first_tap) {
  PortSet& set = *parts_->set;
  if (Status made = set.MakeLoops(processor, first_tap); !made) return made;
  if (Status started = set.Start(); !started) return started;
  for (const auto& port : set.ports()) {
    for (const std::string& remark : port->remarks()) parts_->tell(remark);
  }
  return set.CheckSpread();
}

std::vector<RecordExchange*> DpdkSource::Records() {
  std::vector<RecordExchange*> records;
  for (const auto& loop : parts_->set->loops()) records.push_back(&loop->records());
  return records;
}

void DpdkSource::Start() {
  parts_->started = true;
  parts_->run.set_value(true);
}

void DpdkSource::Stop() {
  if (std::exchange(parts_->stopped, true)) return;
  parts_->stop = true;
  parts_->received.get_future().wait();
}

SourceStatistics DpdkSource::Statistics() const {
  SourceStatistics all;
  for (const auto& loop : parts_->set->loops()) all += loop->Statistics();
  for (const PortFindings& port : Ports()) all.missed += port.missed + port.no_mbuf;
  return all;
}

Senders DpdkSource::LastSenders() const {
  Senders all;
  for (const auto& loop : parts_->set->loops()) {
    Senders of_one = loop->LastSenders();
    MergeMirrorStreams(all.mirrors, of_one.mirrors);
    std::ranges::move(of_one.telemetry, std::back_inserter(all.telemetry));
  }
  return all;
}

std::vector<std::string> DpdkSource::Problems() const {
  std::vector<std::string> problems;
  for (const auto& port : parts_->set->ports()) {
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

std::vector<uint64_t> DpdkSource::Beats() const {
  std::vector<uint64_t> beats;
  for (const auto& loop : parts_->set->loops()) beats.push_back(loop->beats());
  return beats;
}

std::vector<PortFindings> DpdkSource::Ports() const {
  std::vector<PortFindings> ports;
  const std::lock_guard lock(parts_->mutex);
  parts_->mbufs_peaks.resize(parts_->set->ports().size());
  for (const auto& port : parts_->set->ports()) {
    uint32_t& peak = parts_->mbufs_peaks[ports.size()];
    PortFindings& findings = ports.emplace_back(FindingsOf(*port, 0));
    peak = std::max(peak, findings.mbufs_in_use);
    findings.mbufs_peak = peak;
  }
  return ports;
}

std::string DpdkSource::Error() const {
  const std::lock_guard lock(parts_->mutex);
  return parts_->error;
}

}  // namespace rocescope
