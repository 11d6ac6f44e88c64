// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/agent/collector.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <set>
#include <system_error>
#include <tuple>
#include <utility>

#include "appliance/agent/gpu_information.h"
#include "appliance/agent/interface_counters.h"
#include "appliance/agent/process_environment.h"
#include "appliance/agent/rdma_sysfs.h"
#include "appliance/agent/sendable_text.h"
#include "appliance/agent/small_file.h"
#include "appliance/common/config/listen_address.h"
#include "dataplane/source/wall_clock.h"
#include "dataplane/telemetry/prometheus_text.h"
#include "rocescope/v1/agent.pb.h"

namespace rocescope {
namespace {

constexpr size_t kMaxText = size_t{256} << 10;    // bytes of logs or counters per batch
constexpr size_t kMaxState = size_t{900} << 10;   // bytes of queue pairs or processes per batch
constexpr size_t kMaxMetrics = size_t{16} << 20;  // bytes of an exporter's response
constexpr size_t kMaxCounters = 4096;             // samples of an exporter per batch
constexpr size_t kMaxProcesses = 4096;
constexpr std::chrono::milliseconds kTimeout{2000};
constexpr std::chrono::milliseconds kSpacePeriod{50};  // between checks for space in the buffer

void Fill(const RdmaDeviceState& device, v1::RdmaDevice& out) {
  out.set_name(device.name);
  out.set_pci_address(device.pci);
  out.set_firmware(device.firmware);
  out.set_board(device.board);
  out.set_node_guid(device.node_guid);
  out.set_interface(device.interface);
  for (const RdmaPortState& port : device.ports) {
    v1::RdmaPort& one = *out.add_ports();
    one.set_number(port.number);
    one.set_link_layer(port.link_layer);
    one.set_state(port.state);
    one.set_bits_per_second(port.bits_per_second);
    for (const IpAddress& address : port.addresses) one.add_addresses(ToString(address));
  }
}

// Groups queue pairs that differ only in their numbers. Returns how many it leaves out because the
// message would exceed the maximum size.
size_t Fill(std::vector<RdmaQueuePair> queue_pairs, v1::QueuePairs& out) {
  constexpr size_t kBytesOfEach = 8;    // two numbers of 24 bits, packed
  constexpr size_t kBytesOfGroup = 40;  // without its strings
  size_t bytes = 0;
  const auto key = [](const RdmaQueuePair& one) {
    return std::tie(one.device, one.port, one.process_id, one.command, one.type, one.state);
  };
  std::ranges::sort(queue_pairs, [&](const RdmaQueuePair& a, const RdmaQueuePair& b) {
    return std::pair(key(a), a.local) < std::pair(key(b), b.local);
  });
  for (size_t i = 0; i < queue_pairs.size(); ++i) {
    const RdmaQueuePair& one = queue_pairs[i];
    if (bytes > kMaxState) return queue_pairs.size() - i;
    bytes += kBytesOfEach;
    if (i == 0 || key(one) != key(queue_pairs[i - 1])) {
      v1::QueuePairGroup& group = *out.add_groups();
      group.set_device(one.device);
      group.set_port(static_cast<uint32_t>(one.port.value_or(0)));
      group.set_process_id(one.process_id.value_or(0));
      group.set_command(one.command);
      group.set_type(one.type);
      group.set_state(one.state);
      bytes += kBytesOfGroup + one.device.size() + one.command.size() + one.type.size() +
               one.state.size();
    }
    v1::QueuePairGroup& group = *out.mutable_groups(out.groups_size() - 1);
    group.add_local_qpns(one.local.value);
    group.add_remote_qpns(one.remote.value_or(Qpn{}).value);
  }
  return 0;
}

void Add(const MetricValue& value, v1::EntityCounters& out) {
  out.add_metrics(std::string(InfoOf(value.metric).name));
  out.add_values(value.value);
}

v1::EntityCounters& AddNic(const std::string& name, v1::AgentBatch& batch) {
  v1::EntityCounters& counters = *batch.add_counters();
  counters.set_kind(std::string(InfoOf(EntityKind::kNic).name));
  counters.set_port(name);
  return counters;
}

// Adds the ethtool statistics that are not in `known`, the device's own counters.
void AddEthtool(const std::string& interface, const std::string& name,
                const std::vector<MetricValue>& known, v1::AgentBatch& batch) {
  int priority = -1;
  v1::EntityCounters* counters = nullptr;
  for (const PriorityValue& one : MetricsOfEthtool(ReadEthtoolStatistics(interface))) {
    const bool of_all = one.priority == PriorityValue::kAll;
    if (of_all && std::ranges::find(known, one.value.metric, &MetricValue::metric) != known.end()) {
      continue;
    }
    if (counters == nullptr || priority != one.priority) {
      priority = one.priority;
      counters = &AddNic(name, batch);
      if (!of_all) counters->set_priority(static_cast<uint32_t>(one.priority));
    }
    Add(one.value, *counters);
  }
}

LogTail::Options TailOptions(const AgentConfig& config) {
  return {.patterns = config.nccl_logs, .newest_age = config.log_age};
}

}  // namespace

Status Collector::Check(const AgentConfig& config) {
  for (const std::string& url : config.metrics.urls) {
    const Result<HttpUrl> where = ParseHttpUrl(url);
    if (!where) return tl::unexpected(where.error());
    if (!IsThisHost(where->host)) {
      return MakeError(ErrorCode::kInvalidArgument,
                       fmt::format("{}: not on this host (127.0.0.1, localhost): use key `scrape` "
                                   "of the appliance configuration for exporters on other hosts",
                                   url));
    }
  }
  return {};
}

std::vector<std::string> Collector::MissingSources(const AgentConfig& config) {
  namespace fs = std::filesystem;
  std::error_code ignored;
  std::vector<std::string> warnings;
  const auto check = [&](std::string_view setting, std::string_view what,
                         const std::vector<std::string>& values, const auto& is_there) {
    std::vector<std::string> missing;
    std::ranges::remove_copy_if(values, std::back_inserter(missing), is_there);
    if (missing.empty()) return;
    warnings.push_back(fmt::format("`{}`: {} {}; it is read when it appears", setting, what,
                                   fmt::join(missing, ", ")));
  };
  if (!config.root.empty() && !fs::is_directory(config.root + "/sys", ignored) &&
      !fs::is_directory(config.root + "/proc", ignored)) {
    warnings.push_back(
        fmt::format("`root`: the directory {} contains neither sys nor proc: no devices, counters "
                    "and processes are reported",
                    config.root));
  }
  check("nccl_logs", "no file matches", config.nccl_logs, LogTail::MatchesAFile);
  check("metrics.files", "there is no file", config.metrics.files,
        [&](const std::string& file) { return fs::exists(file, ignored); });
  check("interfaces", "there is no interface", config.interfaces, [&](const std::string& name) {
    return fs::exists(config.root + "/sys/class/net/" + name, ignored);
  });
  return warnings;
}

Collector::Collector(const AgentConfig& config, BatchBuffer& buffer,
                     ReadQueuePairs read_queue_pairs)
    : config_(config),
      buffer_(buffer),
      read_queue_pairs_(std::move(read_queue_pairs)),
      rules_(config.metrics.rules),
      tail_(TailOptions(config)) {
  for (const std::string& url : config.metrics.urls) {
    exporters_.push_back({.url = url, .where = ParseHttpUrl(url).value_or(HttpUrl{})});
  }
}

Collector::Clock::time_point Collector::Look(Clock::time_point now, Timestamp wall) {
  const auto due = [now](Clock::time_point& at, Duration period) {
    if (now < at) return false;
    // Stay on multiples of the period, and skip the periods that were missed.
    at += period;
    if (at <= now) at = now + period;
    return true;
  };
  if (due(state_due_, config_.queue_pair_period)) TellState(wall);
  if (due(counters_due_, config_.counter_period)) {
    if (config_.counters) TellCounters(wall);
    AskExporters();
  }
  if (!all_read_ && buffer_.HasSpaceForLogs(0)) logs_due_ = now;
  if (due(logs_due_, config_.log_period)) all_read_ = ReadLogs(wall);
  if (all_read_ && !caught_up_) {
    caught_up_ = true;
    v1::AgentBatch batch;
    batch.set_caught_up(true);
    Tell(BatchKind::kMark, batch, wall);
  }
  const bool waits =
      std::ranges::any_of(exporters_, [](const Exporter& one) { return one.under_way; });
  if (waits) fetcher_.Run(std::chrono::milliseconds(10));
  auto next = std::min({state_due_, counters_due_, logs_due_});
  if (!all_read_) next = buffer_.HasSpaceForLogs(0) ? now : std::min(next, now + kSpacePeriod);
  return waits ? std::min(next, now + std::chrono::milliseconds(20)) : next;
}

bool Collector::ReadLogs(Timestamp wall) {
  v1::AgentBatch batch;
  size_t bytes = 0;
  const auto tell = [&] {
    if (bytes == 0) return;
    Tell(BatchKind::kLogs, batch, wall);
    batch.Clear();
    bytes = 0;
  };
  const auto take = [&](const LogTail::Piece& piece) {
    v1::LogLines& lines = *batch.add_logs();
    lines.set_log_id(piece.log);
    lines.set_path(std::string(piece.path));
    lines.set_text(std::string(piece.text));
    bytes += piece.text.size() + piece.path.size();
    if (bytes >= kMaxText) tell();
  };
  // The rest stays in the files until the appliance has acknowledged earlier logs.
  const bool all = tail_.Look(wall, take, [&] { return buffer_.HasSpaceForLogs(bytes); });
  tell();
  return all;
}

void Collector::Tell(BatchKind kind, v1::AgentBatch& batch, Timestamp wall) {
  batch.set_read_ns(ToNanoseconds(wall));
  MakeSendable(batch);
  buffer_.Append(kind, batch.SerializeAsString());
}

void Collector::TellIfNew(BatchKind kind, v1::AgentBatch& batch, Timestamp wall) {
  std::string content = batch.SerializeAsString();
  if (const auto told = told_.find(kind); told != told_.end() && told->second == content) return;
  told_[kind] = std::move(content);
  Tell(kind, batch, wall);
}

void Collector::TellState(Timestamp wall) {
  v1::AgentBatch batch;
  v1::HostInventory& inventory = *batch.mutable_inventory();
  for (const RdmaDeviceState& device : ReadRdmaDevices(config_.root)) {
    Fill(device, *inventory.add_devices());
  }
  for (const GpuInformation& gpu : ReadGpus(config_.root)) {
    v1::GpuDevice& one = *inventory.add_gpus();
    one.set_minor_number(gpu.minor);
    one.set_pci_address(gpu.pci);
    one.set_uuid(gpu.uuid);
    one.set_model(gpu.model);
  }
  TellIfNew(BatchKind::kInventory, batch, wall);
  if (!config_.queue_pairs) return;
  Result<std::vector<RdmaQueuePair>> queue_pairs = read_queue_pairs_();
  queue_pair_problem_.clear();
  if (!queue_pairs) {
    // A host without RDMA has no queue pairs. This is not an error.
    if (queue_pairs.error().code != ErrorCode::kUnimplemented) {
      queue_pair_problem_ = queue_pairs.error().message;
    }
    return;
  }
  for (RdmaQueuePair& one : *queue_pairs) {
    if (one.process_id && one.command.empty()) {
      one.command = ReadProcessCommand(config_.root, *one.process_id);
    }
  }
  TellProcesses(*queue_pairs, wall);
  v1::AgentBatch told;
  if (const size_t left_out = Fill(*std::move(queue_pairs), *told.mutable_queue_pairs());
      left_out > 0) {
    queue_pair_problem_ = fmt::format(
        "{} queue pairs are not reported: the message would exceed its maximum size", left_out);
  }
  TellIfNew(BatchKind::kQueuePairs, told, wall);
}

void Collector::TellProcesses(const std::vector<RdmaQueuePair>& queue_pairs, Timestamp wall) {
  std::map<uint64_t, std::string_view> commands;
  for (const RdmaQueuePair& one : queue_pairs) {
    if (one.process_id && commands.size() < kMaxProcesses) {
      commands.emplace(*one.process_id, one.command);
    }
  }
  v1::AgentBatch batch;
  v1::HostProcesses& processes = *batch.mutable_processes();
  size_t unreadable = 0;
  size_t bytes = 0;
  size_t left_out = 0;
  for (const auto& [process_id, command] : commands) {
    const auto environment = ReadProcessEnvironment(config_.root, process_id);
    if (!environment && !command.empty()) ++unreadable;
    if (!environment || environment->IsEmpty()) continue;
    constexpr size_t kBytesOfEach = 64;  // without its strings
    bytes += kBytesOfEach + command.size() + environment->visible_gpus.size();
    if (bytes > kMaxState) {
      ++left_out;
      continue;
    }
    v1::HostProcess& one = *processes.add_processes();
    one.set_process_id(process_id);
    one.set_command(std::string(command));
    one.set_scheduler_job_id(environment->slurm_job_id.value_or(0));
    if (environment->rank) one.set_rank(*environment->rank);
    if (environment->local_rank) one.set_local_rank(*environment->local_rank);
    if (environment->world_size) one.set_world_size(*environment->world_size);
    one.set_visible_gpus(environment->visible_gpus);
  }
  process_problem_ =
      unreadable == 0
          ? ""
          : fmt::format(
                "the environment of {} with queue pairs cannot be read: reading processes of other "
                "users requires CAP_SYS_PTRACE",
                unreadable == 1 ? "1 process" : fmt::format("{} processes", unreadable));
  if (left_out > 0) {
    process_problem_ = fmt::format(
        "{} processes are not reported: the message would exceed its maximum size", left_out);
  }
  TellIfNew(BatchKind::kProcesses, batch, wall);
}

void Collector::TellCounters(Timestamp wall) {
  v1::AgentBatch batch;
  const auto tell_if_much = [&] {
    if (batch.ByteSizeLong() < kMaxText) return;
    Tell(BatchKind::kCounters, batch, wall);
    batch.Clear();
  };
  for (const std::string& device : NamesIn(config_.root + "/sys/class/infiniband")) {
    const std::string folder = config_.root + "/sys/class/infiniband/" + device;
    for (const std::string& number : NamesIn(folder + "/ports")) {
      const auto port = ParseDecimal(number);
      if (!port) continue;
      // By convention, the device name stands for its first port.
      const std::string name = *port == 1 ? device : fmt::format("{}/{}", device, *port);
      const auto values = ReadRdmaCounters(config_.root, device, static_cast<uint32_t>(*port));
      if (values.empty()) continue;
      v1::EntityCounters& counters = AddNic(name, batch);
      for (const MetricValue& value : values) Add(value, counters);
      // There are no drivers behind a test tree.
      const std::vector<std::string> interfaces = NamesIn(folder + "/device/net");
      if (config_.root.empty() && *port == 1 && !interfaces.empty()) {
        AddEthtool(interfaces.front(), name, values, batch);
      }
      tell_if_much();
    }
  }
  for (const std::string& interface : config_.interfaces) {
    const auto values = ReadInterfaceStatistics(config_.root, interface);
    if (values.empty()) {
      file_problems_[interface] = fmt::format("{}: no such interface", interface);
      continue;
    }
    file_problems_.erase(interface);
    v1::EntityCounters& counters = AddNic(interface, batch);
    for (const MetricValue& value : values) Add(value, counters);
    if (config_.root.empty()) AddEthtool(interface, interface, values, batch);
    tell_if_much();
  }
  if (!batch.counters().empty()) Tell(BatchKind::kCounters, batch, wall);
}

void Collector::AskExporters() {
  for (const std::string& file : config_.metrics.files) {
    const auto text = ReadRawFile(file, kMaxMetrics);
    if (text) {
      file_problems_.erase(file);
      ReadMetrics(*text, WallClock());
    } else {
      file_problems_[file] = fmt::format("cannot read {}", file);
    }
  }
  for (Exporter& exporter : exporters_) {
    if (std::exchange(exporter.under_way, true)) continue;
    fetcher_.Get(exporter.where, {.timeout = kTimeout, .most_bytes = kMaxMetrics},
                 [this, &exporter](const Result<std::string>& answer) {
                   exporter.under_way = false;
                   exporter.trouble =
                       answer ? "" : fmt::format("{}: {}", exporter.url, answer.error().message);
                   if (answer) ReadMetrics(*answer, WallClock());
                 });
  }
}

// Ignores node labels, because they may name a container (dcgm-exporter). All metrics belong to
// this host.
void Collector::ReadMetrics(const std::string& text, Timestamp wall) {
  v1::AgentBatch batch;
  size_t bytes = 0;  // approximate size of the labels
  const auto tell = [&] {
    if (!batch.counters().empty()) Tell(BatchKind::kCounters, batch, wall);
    batch.Clear();
    bytes = 0;
  };
  ParsePrometheusText(text, [&](const PrometheusSample& sample) {
    const auto record = rules_.Read(sample, "this");
    if (!record || record->entity.kind == EntityKind::kPort) return;
    v1::EntityCounters& counters = *batch.add_counters();
    counters.set_kind(std::string(InfoOf(record->entity.kind).name));
    if (record->entity.kind == EntityKind::kNic) {
      counters.set_port(SendableText(record->entity.port));
      bytes += counters.port().size();
    }
    if (record->entity.index != CounterEntity::kNoIndex) {
      counters.set_gpu_index(record->entity.index);
    }
    if (record->entity.priority != CounterEntity::kAllPriorities) {
      counters.set_priority(record->entity.priority);
    }
    if (sample.time_ms) counters.set_event_ns(*sample.time_ms * 1'000'000);
    Add({.metric = record->metric, .value = record->value}, counters);
    if (static_cast<size_t>(batch.counters_size()) >= kMaxCounters || bytes >= kMaxText) tell();
  });
  tell();
}

std::vector<std::string> Collector::Problems() const {
  std::vector<std::string> problems = tail_.problems();
  for (const std::string* one : {&queue_pair_problem_, &process_problem_}) {
    if (!one->empty()) problems.push_back(*one);
  }
  for (const auto& [file, trouble] : file_problems_) problems.push_back(trouble);
  for (const Exporter& exporter : exporters_) {
    if (!exporter.trouble.empty()) problems.push_back(exporter.trouble);
  }
  return problems;
}

}  // namespace rocescope
