// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/daemon/intake/agent_facts.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <functional>
#include <optional>
#include <set>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "base/utf8.h"
#include "rocescope/v1/agent.pb.h"

namespace rocescope {
namespace {

constexpr size_t kLongestName = 128;
constexpr int kMaxDevices = 1024;
constexpr size_t kMaxNics = 128;           // per host
constexpr size_t kMaxAddressesOfNic = 32;  // for each VLAN and IP version, a port has one
constexpr size_t kMaxJobs = 256;           // per host: of the scheduler, named by processes
constexpr Duration kLongestToCatchUp = std::chrono::seconds(60);
constexpr uint64_t kLogOverhead = 1024;  // per log, so that many small logs are bounded too

std::string Short(const std::string& text, size_t most = kLongestName) {
  return std::string(Utf8Front(text, most));
}

// MetricNamed with a hash table, because there are hundreds of thousands of readings per second.
std::optional<Metric> FindMetric(std::string_view name) {
  static const auto* const kByName = [] {
    auto* const by_name = new std::unordered_map<std::string_view, Metric>;
    for (size_t i = 0; i < kMetricCount; ++i) {
      by_name->emplace(kMetrics[i].name, static_cast<Metric>(i));
    }
    return by_name;
  }();
  const auto at = kByName->find(name);
  return at == kByName->end() ? std::nullopt : std::optional(at->second);
}

// Expands groups of queue pairs and skips invalid QPNs.
std::vector<RdmaQueuePair> QueuePairsOf(const v1::QueuePairs& all, size_t most, uint64_t& refused) {
  std::vector<RdmaQueuePair> result;
  for (const v1::QueuePairGroup& group : all.groups()) {
    RdmaQueuePair one;
    one.device = Short(group.device());
    constexpr uint32_t kMaxPorts = 255;
    if (group.port() > 0 && group.port() <= kMaxPorts) one.port = static_cast<int>(group.port());
    one.type = Short(group.type());
    one.state = Short(group.state());
    one.command = Short(group.command());
    if (group.process_id() != 0) one.process_id = group.process_id();
    for (int i = 0; i < group.local_qpns_size(); ++i) {
      const uint32_t remote = i < group.remote_qpns_size() ? group.remote_qpns(i) : 0;
      if (one.device.empty() || group.local_qpns(i) > k24BitMask || remote > k24BitMask ||
          result.size() >= most) {
        ++refused;
        continue;
      }
      one.local = Qpn{group.local_qpns(i)};
      one.remote.reset();
      if (remote != 0) one.remote = Qpn{remote};
      result.push_back(one);
      result.back().line = result.size();
    }
  }
  return result;
}

std::vector<HostNic> NicsOf(const std::string& host, const v1::HostInventory& inventory) {
  std::vector<HostNic> nics;
  for (const v1::RdmaDevice& device : inventory.devices()) {
    if (nics.size() >= kMaxNics) break;
    HostNic nic = {.host = host, .device = Short(device.name()), .addresses = {}};
    for (const v1::RdmaPort& port : device.ports()) {
      for (const std::string& text : port.addresses()) {
        const auto address = ParseIpAddress(text);
        if (address && nic.addresses.size() < kMaxAddressesOfNic) nic.addresses.push_back(*address);
      }
    }
    if (!nic.device.empty() && !nic.addresses.empty()) nics.push_back(std::move(nic));
  }
  return nics;
}

// The GPUs of a host, in order of their index.
struct Gpus {
  std::vector<HostGpu> gpus;
  std::vector<std::string> uuids;  // by index; empty: unknown
};

// Indices follow the PCI address, as in nvidia-smi.
Gpus GpusOf(const std::string& host, const v1::HostInventory& inventory) {
  std::vector<const v1::GpuDevice*> devices;
  for (const v1::GpuDevice& gpu : inventory.gpus()) {
    if (devices.size() >= kMaxDevices) break;
    devices.push_back(&gpu);
  }
  std::ranges::stable_sort(devices, {},
                           [](const auto* gpu) { return std::string_view(gpu->pci_address()); });
  Gpus all;
  for (const v1::GpuDevice* const gpu : devices) {
    const auto number = static_cast<uint32_t>(all.gpus.size());
    all.gpus.push_back(
        {.host = host, .number = number, .pci = Short(gpu->pci_address()), .device = ""});
    all.uuids.push_back(Short(gpu->uuid()));
  }
  return all;
}

// Matches a GPU UUID as CUDA does ("CUDA Environment Variables" in its programming guide): a prefix
// suffices if it is unique. -1: no match or several.
int GpuByUuid(const std::vector<std::string>& uuids, std::string_view front) {
  int number = -1;
  for (size_t i = 0; i < uuids.size(); ++i) {
    if (!uuids[i].starts_with(front)) continue;
    if (number >= 0) return -1;
    number = static_cast<int>(i);
  }
  return number;
}

// Parses an index or "GPU-...". -1: invalid or unknown.
int GpuNamed(std::string_view name, int most, const std::vector<std::string>& uuids) {
  constexpr std::string_view kUuid = "GPU-";
  if (name.size() > kUuid.size() && name.starts_with(kUuid)) return GpuByUuid(uuids, name);
  int number = -1;
  const auto read = std::from_chars(name.data(), name.data() + name.size(), number);
  return read.ptr != name.data() + name.size() || number < 0 || number > most ? -1 : number;
}

// The GPUs named in a process environment. UUIDs resolve to indices only with the host's inventory,
// which may arrive or change later.
struct VisibleGpus {
  std::string names;  // CUDA_VISIBLE_DEVICES
  int64_t local_rank = -1;
};

// A launcher gives a process either one GPU, or all GPUs of the host and a local rank.
int GpuOf(const VisibleGpus& process, const std::vector<std::string>& uuids) {
  constexpr int kMost = 1024;
  const std::string_view visible = process.names;
  const auto local = static_cast<int>(std::clamp<int64_t>(process.local_rank, -1, kMost));
  if (visible.empty()) return local;
  int number = -1;
  int count = 0;
  for (size_t begin = 0; begin <= visible.size();) {
    const size_t end = std::min(visible.find(',', begin), visible.size());
    if (count == 0 || count == local) {
      number = GpuNamed(visible.substr(begin, end - begin), kMost, uuids);
    }
    ++count;
    begin = end + 1;
  }
  return count == 1 || (local >= 0 && local < count) ? number : -1;
}

struct RankProcess {
  HostProcess process;
  VisibleGpus visible;
};

std::vector<RankProcess> ProcessesOf(const std::string& host, const v1::HostProcesses& processes) {
  constexpr int kMaxProcesses = 4096;
  constexpr int64_t kMaxRanks = int64_t{1} << 24;
  constexpr size_t kLongestList = 8192;
  std::vector<RankProcess> result;
  for (const v1::HostProcess& process : processes.processes()) {
    if (result.size() >= kMaxProcesses) break;
    if (!process.has_rank() || process.rank() < 0 || process.rank() >= kMaxRanks) continue;
    const bool counted = process.world_size() > process.rank() && process.world_size() <= kMaxRanks;
    RankProcess& one = result.emplace_back();
    one.process = {.host = host,
                   .process_id = process.process_id(),
                   .rank = static_cast<int>(process.rank()),
                   .world_size = counted ? static_cast<int>(process.world_size()) : -1};
    one.visible = {.names = Short(process.visible_gpus(), kLongestList),
                   .local_rank = process.has_local_rank() ? process.local_rank() : -1};
  }
  return result;
}

}  // namespace

struct AgentFactsBuilder::Log {
  explicit Log(const std::string& name) : reader(name) {}
  NcclLogReader reader;
  std::shared_ptr<const NcclLog> read;  // null: outdated by newer text
  uint64_t bytes = kLogOverhead;
  uint64_t written = 0;  // value of log_pieces_ at the last write
};

struct AgentFactsBuilder::Session {
  uint64_t number = 0;
  Timestamp began;
  std::map<uint64_t, Log> logs;
  uint64_t log_bytes = 0;  // bytes of all logs
  std::vector<RdmaQueuePair> queue_pairs;
  bool has_queue_pairs = false;
  std::vector<HostNic> nics;
  Gpus gpus;
  std::vector<RankProcess> processes;
  std::set<uint64_t> slurm_jobs;
};

// A new session replaces the previous one once it has sent its initial data, or after a timeout.
struct AgentFactsBuilder::Host {
  std::string node;     // name in the topology
  std::string account;  // of its last session
  bool silent = false;  // its processes may have ended since
  Session now;
  std::unique_ptr<Session> next;
};

AgentFactsBuilder::Limits AgentFactsBuilder::LimitsFor(uint64_t memory) {
  constexpr uint64_t kBytesAQueuePair = 512;  // with long names
  Limits limits;
  limits.all_log_bytes = std::min(limits.all_log_bytes, memory / 8);
  limits.log_bytes = std::min(limits.log_bytes, memory / 32);
  limits.queue_pairs = std::min<size_t>(limits.queue_pairs, memory / 32 / kBytesAQueuePair);
  return limits;
}

AgentFactsBuilder::AgentFactsBuilder(NameOf name_of, const Limits& limits)
    : name_of_(std::move(name_of)), limits_(limits) {}
AgentFactsBuilder::~AgentFactsBuilder() = default;

AgentFactsBuilder::Host& AgentFactsBuilder::HostOf(const AgentDelivery& delivery) {
  std::unique_ptr<Host>& host = hosts_[delivery.host];
  if (!host) {
    host = std::make_unique<Host>();
    host->node = name_of_(delivery.host);
    host->now.number = delivery.session;
  }
  host->account = delivery.account;
  return *host;
}

AgentFactsBuilder::Session& AgentFactsBuilder::SessionOf(const AgentDelivery& delivery,
                                                         Host& host) {
  if (host.now.number == delivery.session) return host.now;
  if (!host.next || host.next->number != delivery.session) {
    GiveBack(host.next.get());
    host.next = std::make_unique<Session>();
    host.next->number = delivery.session;
    host.next->began = delivery.arrival;
  }
  return *host.next;
}

bool AgentFactsBuilder::Add(const AgentDelivery& delivery, std::vector<CounterRecord>& counters) {
  if (delivery.news == AgentNews::kGone) return ForgetHost(delivery.host);
  if (delivery.news != AgentNews::kBatch) {
    const auto at = hosts_.find(delivery.host);
    if (at == hosts_.end()) return false;
    at->second->silent = delivery.news == AgentNews::kSilent;
    return true;
  }
  Host& host = HostOf(delivery);
  AddCounters(delivery, host.node, counters);
  return AddBatch(delivery, host);
}

bool AgentFactsBuilder::AddBatch(const AgentDelivery& delivery, Host& host) {
  const v1::AgentBatch& batch = *delivery.batch;
  Session& session = SessionOf(delivery, host);
  bool changed = AddLogs(batch, delivery.host, session);
  if (batch.has_inventory()) {
    session.nics = NicsOf(delivery.host, batch.inventory());
    session.gpus = GpusOf(delivery.host, batch.inventory());
    changed = true;
  }
  if (batch.has_queue_pairs()) {
    session.queue_pairs = QueuePairsOf(batch.queue_pairs(), limits_.queue_pairs, counts_.refused);
    session.has_queue_pairs = true;
    changed = true;
  }
  if (batch.has_processes()) {
    session.processes = ProcessesOf(delivery.host, batch.processes());
    session.slurm_jobs.clear();
    for (const v1::HostProcess& process : batch.processes().processes()) {
      if (session.slurm_jobs.size() >= kMaxJobs) break;
      if (process.scheduler_job_id() != 0) session.slurm_jobs.insert(process.scheduler_job_id());
    }
    changed = true;
  }
  if (host.next && (batch.caught_up() || delivery.arrival - host.next->began > kLongestToCatchUp)) {
    GiveBack(&host.now);
    host.now = std::move(*host.next);
    host.next.reset();
    host.silent = false;
    changed = true;
  }
  return changed;
}

void AgentFactsBuilder::GiveBack(const Session* session) {
  if (session != nullptr) log_bytes_ -= session->log_bytes;
}

bool AgentFactsBuilder::ForgetHost(const std::string& host) {
  const auto at = hosts_.find(host);
  if (at == hosts_.end()) return false;
  GiveBack(&at->second->now);
  GiveBack(at->second->next.get());
  hosts_.erase(at);
  return true;
}

bool AgentFactsBuilder::AddLogs(const v1::AgentBatch& batch, const std::string& host,
                                Session& session) {
  for (const v1::LogLines& lines : batch.logs()) {
    Log& log = LogOf(lines, host, session);
    const size_t processes = log.reader.process_count();
    log.reader.Read(lines.text());
    log.read.reset();
    // A process takes far more memory than the line that names it.
    const uint64_t added =
        lines.text().size() + limits_.process_bytes * (log.reader.process_count() - processes);
    log.bytes += added;
    session.log_bytes += added;
    log_bytes_ += added;
    if (log_bytes_ > limits_.all_log_bytes) MakeRoomAmongAll();
  }
  return !batch.logs().empty();
}

// Makes space for these lines by evicting the session's logs with the oldest writes. A log that is
// too long by itself restarts.
AgentFactsBuilder::Log& AgentFactsBuilder::LogOf(const v1::LogLines& lines, const std::string& host,
                                                 Session& session) {
  auto at = session.logs.find(lines.log_id());
  if (at != session.logs.end()) at->second.written = ++log_pieces_;
  while (!session.logs.empty() &&
         (session.log_bytes + kLogOverhead + lines.text().size() > limits_.log_bytes ||
          (at == session.logs.end() && session.logs.size() >= limits_.logs))) {
    const auto oldest = std::ranges::min_element(
        session.logs, {}, [](const auto& entry) { return entry.second.written; });
    if (oldest == at) at = session.logs.end();
    ForgetLog(session, oldest->first);
  }
  if (at == session.logs.end()) {
    constexpr size_t kLongestPath = 1024;
    const std::string name = fmt::format("{}:{}", host, Short(lines.path(), kLongestPath));
    at = session.logs.emplace(lines.log_id(), Log(name)).first;
    at->second.written = ++log_pieces_;
    session.log_bytes += kLogOverhead;
    log_bytes_ += kLogOverhead;
  }
  return at->second;
}

void AgentFactsBuilder::ForgetLog(Session& session, uint64_t number) {
  const auto at = session.logs.find(number);
  session.log_bytes -= at->second.bytes;
  log_bytes_ -= at->second.bytes;
  session.logs.erase(at);
  ++counts_.forgotten;
}

// Evicts logs of the account that stores most, so that a single client cannot displace the logs of
// others; among them, those with the oldest writes. Frees a sixteenth at once, because it scans all
// logs.
void AgentFactsBuilder::MakeRoomAmongAll() {
  struct Stored {
    uint64_t bytes = 0;
    std::vector<std::tuple<uint64_t, Session*, uint64_t>> logs;  // last write, session, log number
  };
  std::map<std::string, Stored> accounts;
  for (const auto& [name, host] : hosts_) {
    Stored& stored = accounts[host->account];
    for (Session* const session : {&host->now, host->next.get()}) {
      if (session == nullptr) continue;
      stored.bytes += session->log_bytes;
      for (const auto& [number, log] : session->logs) {
        stored.logs.emplace_back(log.written, session, number);
      }
    }
  }
  for (auto& [account, stored] : accounts) std::ranges::sort(stored.logs, std::greater());
  const auto most = [&] {
    return std::ranges::max_element(accounts, {}, [](const auto& one) { return one.second.bytes; });
  };
  while (log_bytes_ > limits_.all_log_bytes / 16 * 15) {
    const auto largest = most();
    if (largest == accounts.end() || largest->second.logs.empty()) return;
    const auto [written, session, number] = largest->second.logs.back();
    largest->second.logs.pop_back();
    const uint64_t before = log_bytes_;
    ForgetLog(*session, number);
    largest->second.bytes -= before - log_bytes_;
  }
}

void AgentFactsBuilder::AddCounters(const AgentDelivery& delivery, const std::string& node,
                                    std::vector<CounterRecord>& counters) {
  for (const v1::EntityCounters& entity : delivery.batch->counters()) {
    counts_.readings += static_cast<uint64_t>(entity.metrics_size());
    const auto kind = EntityKindNamed(entity.kind());
    const int64_t read_ns = entity.event_ns() != 0 ? entity.event_ns() : delivery.batch->read_ns();
    constexpr uint32_t kPriorities = 8;
    constexpr int64_t kCentury = int64_t{3'155'760'000} * 1'000'000'000;
    // A host reports only its own counters, never those of switch ports.
    if (!kind || *kind == EntityKind::kPort || entity.priority() >= kPriorities || read_ns <= 0 ||
        read_ns > kCentury || (*kind == EntityKind::kNic) == entity.port().empty() ||
        entity.metrics_size() != entity.values_size()) {
      counts_.malformed += static_cast<uint64_t>(entity.metrics_size());
      continue;
    }
    CounterRecord record;
    record.entity.kind = *kind;
    record.entity.node = node;
    record.entity.port = Short(entity.port());
    if (entity.has_gpu_index()) record.entity.index = entity.gpu_index();
    if (entity.has_priority()) record.entity.priority = static_cast<uint8_t>(entity.priority());
    // No reading is from the future.
    record.event_time = std::min(FromNanoseconds(read_ns) + delivery.clock_ahead, delivery.arrival);
    record.arrival_time = delivery.arrival;
    for (int i = 0; i < entity.metrics_size(); ++i) {
      const auto metric = FindMetric(entity.metrics(i));
      if (!metric) {
        ++counts_.malformed;
        continue;
      }
      record.metric = *metric;
      record.value = entity.values(i);
      counters.push_back(record);
    }
  }
}

AgentFacts AgentFactsBuilder::Facts() {
  AgentFacts facts;
  std::map<uint64_t, std::vector<AllocatedNode>> allocations;
  for (const auto& [name, host] : hosts_) {
    Session& session = host->now;
    for (auto& [number, log] : session.logs) {
      if (!log.read) log.read = std::make_shared<const NcclLog>(log.reader.Log());
      facts.logs.push_back(log.read);
    }
    if (session.has_queue_pairs) {
      facts.rdma.push_back({.host = name, .queue_pairs = session.queue_pairs});
    }
    facts.nics.insert(facts.nics.end(), session.nics.begin(), session.nics.end());
    facts.gpus.insert(facts.gpus.end(), session.gpus.gpus.begin(), session.gpus.gpus.end());
    if (host->silent) continue;
    for (const RankProcess& one : session.processes) {
      HostProcess process = one.process;
      process.gpu = GpuOf(one.visible, session.gpus.uuids);
      facts.processes.push_back(std::move(process));
    }
    for (const uint64_t job : session.slurm_jobs) {
      allocations[job].push_back({.name = name, .gpus = {}});
    }
  }
  for (auto& [id, nodes] : allocations) {
    facts.allocations.push_back({.id = id, .state_text = "RUNNING", .nodes = std::move(nodes)});
  }
  return facts;
}

}  // namespace rocescope
