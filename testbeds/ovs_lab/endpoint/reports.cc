// SPDX-License-Identifier: BSD-3-Clause
#include "testbeds/ovs_lab/endpoint/reports.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <iterator>
#include <memory>
#include <nlohmann/json.hpp>
#include <utility>

#include "sim/emit/output_file.h"

namespace rocescope::endpoint {
namespace {

using Json = nlohmann::ordered_json;

struct Row {
  std::string_view name;
  std::string_view description;
  uint64_t Counters::* value;
};
constexpr Row kRows[] = {
#define ROW(name, description) {#name, description, &Counters::name},
    ROCESCOPE_ENDPOINT_COUNTERS(ROW)
#undef ROW
};

struct InterfaceRow {
  std::string_view name;
  std::string_view description;
  uint64_t InterfaceCounters::* value;
};
constexpr InterfaceRow kInterfaceRows[] = {
    {"rx_bytes", "bytes received by the interface", &InterfaceCounters::rx_bytes},
    {"rx_packets", "frames received by the interface", &InterfaceCounters::rx_packets},
    {"rx_errors", "frames received with errors", &InterfaceCounters::rx_errors},
    {"rx_discards", "received frames that were dropped", &InterfaceCounters::rx_discards},
    {"tx_bytes", "bytes sent by the interface", &InterfaceCounters::tx_bytes},
    {"tx_packets", "frames sent by the interface", &InterfaceCounters::tx_packets},
    {"tx_errors", "frames not sent because of errors", &InterfaceCounters::tx_errors},
    {"tx_discards", "frames dropped before transmission", &InterfaceCounters::tx_discards},
};

// Metrics of this program that NICs do not have. The others have names of rocescope's metrics.
bool IsOwn(std::string_view name) {
  constexpr std::string_view kOwn[] = {
      "sent_packets",       "received_packets", "retransmitted_packets", "naks_sent",
      "connecting_packets", "rx_malformed",     "rx_unknown_queue_pair", "tx_errors",
      "rx_socket_drops"};
  return std::find(std::begin(kOwn), std::end(kOwn), name) != std::end(kOwn);
}

}  // namespace

Reports::Reports(const LabPlan& plan, topology::NodeIndex host, const std::string& directory)
    : plan_(plan),
      host_(host),
      directory_(directory),
      nccl_(fmt::format("{}/nccl/{}.log", directory, plan.fabric->node(host).name)),
      rdma_(fmt::format("{}/rdma/{}.json", directory, plan.fabric->node(host).name)),
      lines_(fmt::format("{}/endpoint/{}.jsonl", directory, plan.fabric->node(host).name)),
      prometheus_(fmt::format("{}/endpoint/{}.prom", directory, plan.fabric->node(host).name)) {}

Result<std::unique_ptr<Reports>> Reports::Open(const LabPlan& plan, topology::NodeIndex host,
                                               const std::string& directory) {
  std::unique_ptr<Reports> reports(new Reports(plan, host, directory));
  if (Status made = reports->MakeFolders(); !made) return tl::unexpected(made.error());
  reports->Replace(reports->nccl_, "");
  reports->Replace(reports->lines_, "");
  reports->Replace(reports->rdma_, sim::RenderRdma(*plan.fabric, host, {}, {}));
  if (!reports->status_) return tl::unexpected(reports->status_.error());
  return reports;
}

Status Reports::MakeFolders() {
  for (const char* const name : {"nccl", "rdma", "endpoint"}) {
    const std::string path = fmt::format("{}/{}", directory_, name);
    std::error_code error;
    std::filesystem::create_directories(path, error);
    if (error) {
      return MakeError(ErrorCode::kPermissionDenied,
                       fmt::format("{}: cannot be created: {}", path, error.message()));
    }
  }
  return {};
}

void Reports::Note(const Status& status) {
  if (status_ && !status) status_ = status;
}

void Reports::Append(const std::string& path, std::string_view text) {
  std::ofstream file(path, std::ios::app | std::ios::binary);
  file << text;
  file.close();
  if (!file) {
    Note(MakeError(ErrorCode::kResourceExhausted,
                   fmt::format("{}: cannot be written: {}", path, std::strerror(errno))));
  }
}

// Readers see either the old or the new file.
void Reports::Replace(const std::string& path, std::string_view text) {
  const std::string fresh = path + ".new";
  Status written = sim::WriteFile(fresh, text);
  if (written) {
    std::error_code error;
    std::filesystem::rename(fresh, path, error);
    if (error) {
      written = MakeError(ErrorCode::kPermissionDenied,
                          fmt::format("{}: cannot be replaced: {}", path, error.message()));
    }
  }
  Note(written);
}

void Reports::JobStarted(const Job& job) {
  started_.push_back(Describe(plan_, job.plan(), now_));
  Append(nccl_, RenderNcclLogs(plan_, started_.back(), host_));
  Replace(rdma_, sim::RenderRdma(*plan_.fabric, host_, started_, {}));
  Append(lines_, Json{{"event", "job_started"},
                      {"job", job.plan().options.name},
                      {"time_ns", ToNanoseconds(now_)}}
                         .dump() +
                     "\n");
}

void Reports::IterationFinished(const Job& job, uint32_t iteration, Timestamp begin,
                                Timestamp end) {
  Append(lines_, Json{{"event", "iteration"},
                      {"job", job.plan().options.name},
                      {"iteration", iteration},
                      {"begin_ns", ToNanoseconds(begin)},
                      {"end_ns", ToNanoseconds(end)}}
                         .dump() +
                     "\n");
}

void Reports::JobFinished(const Job& job) {
  Append(lines_, Json{{"event", "job_finished"},
                      {"job", job.plan().options.name},
                      {"time_ns", ToNanoseconds(now_)}}
                         .dump() +
                     "\n");
}

const sim::LoggedJob& Reports::Logged(const Job& job) {
  return *std::find_if(started_.begin(), started_.end(), [&](const sim::LoggedJob& each) {
    return each.id == job.plan().options.id;
  });
}

void Reports::JobFailed(const Job& job, const JobFailure& failure) {
  std::string reason =
      "the peer sent a message that the plan does not contain; do all hosts use "
      "the same plan and start number?";
  if (failure.cause == FailureCause::kRetriesExceeded) reason = "retries exceeded";
  if (failure.cause == FailureCause::kRemoteInvalidRequest) reason = "remote invalid request";
  if (failure.cause) Append(nccl_, RenderNcclFailure(plan_, job.plan(), Logged(job), failure));
  const std::string& peer = plan_.fabric->node(job.plan().hosts[failure.peer_rank]).name;
  Append(lines_, Json{{"event", "job_failed"},
                      {"job", job.plan().options.name},
                      {"time_ns", ToNanoseconds(now_)},
                      {"rank", failure.rank},
                      {"peer_rank", failure.peer_rank},
                      {"peer_host", peer},
                      {"qpn", failure.local.value},
                      {"reason", reason}}
                         .dump() +
                     "\n");
}

void Reports::WriteCounters(const std::vector<NicReport>& nics) {
  std::string text;
  const auto add = [&](std::string_view name, std::string_view description, auto value,
                       std::string_view type = "counter") {
    std::string help(description);
    help[0] = static_cast<char>(std::toupper(help[0]));
    fmt::format_to(std::back_inserter(text), "# HELP {} {}.\n# TYPE {} {}\n", name, help, name,
                   type);
    for (const NicReport& nic : nics) {
      fmt::format_to(std::back_inserter(text), "{}{{node=\"{}\",port=\"{}\"}} {}\n", name,
                     plan_.fabric->node(host_).name, plan_.fabric->nic(nic.nic).device, value(nic));
    }
  };
  for (const InterfaceRow& row : kInterfaceRows) {
    add(fmt::format("fabric_nic_{}", row.name), row.description,
        [&](const NicReport& nic) { return nic.interface.*row.value; });
  }
  add(
      "fabric_nic_link_up", "whether the link is up (0 or 1)",
      [](const NicReport& nic) { return nic.up ? 1 : 0; }, "gauge");
  add(
      "fabric_nic_link_speed", "speed of the link in the topology in bit/s",
      [&](const NicReport& nic) { return plan_.fabric->SpeedOf(plan_.fabric->nic(nic.nic).port); },
      "gauge");
  for (const Row& row : kRows) {
    const std::string name = IsOwn(row.name) ? fmt::format("lab_endpoint_{}_total", row.name)
                                             : fmt::format("fabric_nic_{}", row.name);
    add(name, row.description, [&](const NicReport& nic) { return nic.counters.*row.value; });
  }
  Replace(prometheus_, text);
}

void Reports::Finish(const std::vector<NicReport>& nics, Timestamp now) {
  WriteCounters(nics);
  Json all = Json::object();
  for (const Row& row : kRows) {
    uint64_t sum = 0;
    for (const NicReport& nic : nics) sum += nic.counters.*row.value;
    all[std::string(row.name)] = sum;
  }
  Append(lines_,
         Json{{"event", "counters"}, {"time_ns", ToNanoseconds(now)}, {"counters", all}}.dump() +
             "\n");
}

}  // namespace rocescope::endpoint
