// SPDX-License-Identifier: BSD-3-Clause
#include "sim/emit/host_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>

#include "base/text/name_range.h"
#include "sim/emit/output_file.h"

namespace rocescope::sim {
namespace {

using Json = nlohmann::ordered_json;  // keeps the key order of the tools

constexpr uint32_t kRdmaPort = 1;

struct StateText {
  const char* state;
  const char* reason;
};
// Indexed by LoggedState. slurm.schedmd.com/squeue.html, "JOB STATE CODES" and "JOB REASON CODES".
constexpr StateText kStates[] = {
    {"PENDING", "BeginTime"}, {"RUNNING", "None"}, {"COMPLETED", "None"}, {"TIMEOUT", "TimeLimit"}};

struct Row {
  topology::NicIndex nic;
  Qpn local;
  Qpn remote;
  uint32_t process_id;
  std::string_view command;
  uint32_t receive_psn = 0;
  uint32_t send_psn = 0;
};

Json JsonOf(const topology::Fabric& fabric, const Row& row, size_t device) {
  return {{"ifindex", device},
          {"ifname", fabric.nic(row.nic).device},
          {"port", kRdmaPort},
          {"lqpn", row.local.value},
          {"rqpn", row.remote.value},
          {"type", "RC"},
          {"state", "RTS"},
          {"rq-psn", row.receive_psn},
          {"sq-psn", row.send_psn},
          {"path-mig-state", "MIGRATED"},
          {"pdn", row.process_id % 97 + 8},
          {"pid", row.process_id},
          {"comm", row.command}};
}

// The NIC's queue pair for subnet management (GSI), which the kernel owns.
Json ManagementOf(const topology::Fabric& fabric, topology::NicIndex nic, size_t device) {
  return {{"ifindex", device}, {"ifname", fabric.nic(nic).device},
          {"port", kRdmaPort}, {"lqpn", kManagementQpn.value},
          {"type", "GSI"},     {"state", "RTS"},
          {"sq-psn", 0},       {"comm", "ib_core"}};
}

// "0-3,6"
std::string Ranges(std::vector<uint32_t> numbers) {
  std::sort(numbers.begin(), numbers.end());
  std::string text;
  for (size_t i = 0; i < numbers.size();) {
    size_t end = i + 1;
    while (end < numbers.size() && numbers[end] == numbers[end - 1] + 1) ++end;
    text += fmt::format("{}{}", text.empty() ? "" : ",", numbers[i]);
    if (end - i > 1) text += fmt::format("-{}", numbers[end - 1]);
    i = end;
  }
  return text;
}

Json JsonOf(const topology::Fabric& fabric, const LoggedJob& job) {
  std::map<topology::NodeIndex, std::vector<uint32_t>> gpus_of;
  for (const LoggedRank& rank : job.ranks) {
    gpus_of[fabric.gpu(rank.gpu).host].push_back(fabric.gpu(rank.gpu).number);
  }
  std::vector<std::string> hosts;
  Json gres = Json::array();
  for (const auto& [host, gpus] : gpus_of) {
    hosts.push_back(fabric.node(host).name);
    gres.push_back(fmt::format("gpu:{}(IDX:{})", gpus.size(), Ranges(gpus)));
  }
  const bool has_nodes = job.state != LoggedState::kPending;
  const std::string nodes = has_nodes ? topology::CompressNames(hosts) : "";
  if (!has_nodes) gres = Json::array();
  constexpr int64_t kSecondNs = 1'000'000'000;
  const int64_t start = ToNanoseconds(job.start) / kSecondNs;
  const Timestamp end = job.completed.value_or(job.start + job.time_limit);
  const auto [state, reason] = kStates[static_cast<size_t>(job.state)];
  Json resources = Json::object();
  if (has_nodes) resources = {{"nodes", nodes}, {"allocated_hosts", hosts.size()}};
  return {{"job_id", job.id},
          {"name", job.name},
          {"user_name", job.user},
          {"partition", "gpu"},
          {"job_state", state},
          {"state_reason", reason},
          {"restart_cnt", 0},
          {"submit_time", start},
          {"start_time", start},
          {"end_time", ToNanoseconds(end) / kSecondNs},
          {"time_limit", std::chrono::ceil<std::chrono::minutes>(job.time_limit).count()},
          {"node_count", hosts.size()},
          {"tasks", job.ranks.size()},
          {"nodes", nodes},
          {"batch_host", has_nodes && !hosts.empty() ? hosts.front() : ""},
          {"tres_alloc_str", has_nodes ? fmt::format("node={},billing={},gres/gpu={}", hosts.size(),
                                                     job.ranks.size(), job.ranks.size())
                                       : ""},
          {"gres_detail", std::move(gres)},
          {"job_resources", std::move(resources)}};
}

Status MakeFolder(const std::string& path) {
  std::error_code error;
  std::filesystem::create_directories(path, error);
  if (!error) return {};
  return MakeError(ErrorCode::kPermissionDenied,
                   fmt::format("{}: cannot be created: {}", path, error.message()));
}

Status WriteLogs(const std::string& folder, const topology::Fabric& fabric,
                 std::span<const LoggedJob> jobs, const NcclRelease& release,
                 NcclLogContent content) {
  if (Status made = MakeFolder(folder); !made) return made;
  for (const LoggedJob& job : jobs) {
    if (job.state == LoggedState::kPending) continue;  // it has no processes yet
    for (uint32_t rank = 0; rank < job.ranks.size(); ++rank) {
      const std::string& host = fabric.node(fabric.gpu(job.ranks[rank].gpu).host).name;
      const std::string path =
          fmt::format("{}/{}-{}.log", folder, host, job.ranks[rank].process_id);
      if (Status written = WriteFile(path, RenderNcclLog(fabric, job, rank, release, content));
          !written) {
        return written;
      }
    }
  }
  return {};
}

Status WriteRdma(const std::string& folder, const topology::Fabric& fabric,
                 std::span<const LoggedJob> jobs, std::span<const LoggedQueuePair> others,
                 Timestamp time) {
  if (Status made = MakeFolder(folder); !made) return made;
  for (topology::NodeIndex host = 0; host < fabric.nodes().size(); ++host) {
    if (fabric.node(host).IsSwitch()) continue;
    const std::string path =
        fmt::format("{}/{}.{}.json", folder, fabric.node(host).name, ToNanoseconds(time));
    if (Status written = WriteFile(path, RenderRdma(fabric, host, jobs, others)); !written) {
      return written;
    }
  }
  return {};
}

}  // namespace

std::string RenderRdma(const topology::Fabric& fabric, topology::NodeIndex host,
                       std::span<const LoggedJob> jobs, std::span<const LoggedQueuePair> others) {
  std::vector<Row> rows;
  for (const LoggedJob& job : jobs) {
    for (const LoggedConnection& connection : job.connections) {
      const auto& ranks = job.communicators[connection.communicator].ranks;
      for (const LoggedConnection::QueuePair& each : connection.queue_pairs) {
        rows.push_back({connection.sender, each.sender, each.receiver,
                        job.ranks[ranks[connection.from]].process_id, "python3", each.receiver_psn,
                        each.sender_psn});
        rows.push_back({connection.receiver, each.receiver, each.sender,
                        job.ranks[ranks[connection.to]].process_id, "python3", each.sender_psn,
                        each.receiver_psn});
      }
    }
  }
  for (const LoggedQueuePair& other : others) {
    rows.push_back({other.nic, other.local, other.remote, other.process_id, other.command});
  }
  std::erase_if(rows, [&](const Row& row) { return fabric.nic(row.nic).host != host; });
  std::sort(rows.begin(), rows.end(), [](const Row& a, const Row& b) { return a.local < b.local; });

  Json list = Json::array();
  const auto nics = fabric.NicsOf(host);
  for (size_t device = 0; device < nics.size(); ++device) {
    list.push_back(ManagementOf(fabric, nics[device], device));
    for (const Row& row : rows) {
      if (row.nic == nics[device]) list.push_back(JsonOf(fabric, row, device));
    }
  }
  return list.dump() + "\n";
}

std::string RenderSlurm(const topology::Fabric& fabric, std::span<const LoggedJob> jobs) {
  Json list = Json::array();
  for (const LoggedJob& job : jobs) list.push_back(JsonOf(fabric, job));
  const Json json = {
      {"meta",
       {{"plugin", {{"type", "openapi/v0.0.37"}, {"name", "Slurm OpenAPI v0.0.37"}}},
        {"Slurm",
         {{"version", {{"major", 21}, {"micro", 5}, {"minor", 8}}}, {"release", "21.08.5"}}}}},
      {"errors", Json::array()},
      {"jobs", std::move(list)}};
  return json.dump(2) + "\n";
}

Status WriteHostFiles(const std::string& directory, const topology::Fabric& fabric,
                      std::span<const LoggedJob> jobs, std::span<const LoggedQueuePair> others,
                      const HostFilesOptions& options) {
  if (options.nccl) {
    const Status written =
        WriteLogs(directory + "/nccl", fabric, jobs, *options.nccl, options.nccl_content);
    if (!written) return written;
  }
  if (options.rdma) {
    const Status written = WriteRdma(directory + "/rdma", fabric, jobs, others, options.rdma_time);
    if (!written) return written;
  }
  if (!options.slurm) return {};
  return WriteFile(directory + "/slurm.json", RenderSlurm(fabric, jobs));
}

}  // namespace rocescope::sim
