// SPDX-License-Identifier: BSD-3-Clause
#include "testbeds/ovs_lab/endpoint/lab_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <utility>

#include "base/utf8.h"
#include "testbeds/ovs_lab/endpoint/plan_reader.h"
#include "topology/yaml.h"

namespace rocescope::endpoint {
namespace {

using topology::YamlErrors;
using topology::YamlNode;

constexpr std::string_view kDefaultNccl = "2.20";

Result<std::string> ReadFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::string text;
  if (file) text.assign(std::istreambuf_iterator<char>(file), {});
  if (!file || file.bad()) {
    return MakeError(ErrorCode::kNotFound,
                     fmt::format("{}: cannot be read: {}", path, std::strerror(errno)));
  }
  if (!IsUtf8(text)) {
    return MakeError(ErrorCode::kInvalidArgument,
                     fmt::format("{}: the file is not valid UTF-8", path));
  }
  return text;
}

// Packets have IPv4 only, and the MAC address follows from the address.
void CheckAddresses(const YamlNode& node, const topology::Fabric& fabric, const JobPlan& job,
                    YamlErrors& errors) {
  for (const topology::NicIndex nic : job.nics) {
    const auto& addresses = fabric.nic(nic).addresses;
    if (!addresses.empty() && addresses[0].address.IsV4()) continue;
    errors.Add(
        node, fmt::format("job {}: the topology has no IPv4 address for {} of {}", job.options.name,
                          fabric.nic(nic).device, fabric.node(fabric.nic(nic).host).name));
    return;
  }
}

void AddJobs(const YamlNode& node, LabPlan& plan, QueuePairNumbers& numbers, YamlErrors& errors) {
  for (const YamlNode& item : topology::ReadList(node, errors)) {
    const JobOptions options = ReadJob(item, *plan.fabric, plan.jobs.size() + 1, errors);
    if (!errors.empty()) continue;
    const auto is_same = [&](const JobPlan& job) {
      return job.options.id == options.id || job.options.name == options.name;
    };
    if (std::any_of(plan.jobs.begin(), plan.jobs.end(), is_same)) {
      errors.Add(item,
                 fmt::format("two jobs have the id {} or the name {}", options.id, options.name));
      continue;
    }
    auto job = PrepareJob(*plan.fabric, options, numbers);
    if (!job) {
      errors.Add(item, job.error().message);
      continue;
    }
    CheckAddresses(item, *plan.fabric, *job, errors);
    plan.jobs.push_back(std::move(*job));
  }
}

Result<LabPlan> ReadPlan(const YamlNode& root, std::string_view file, topology::Fabric fabric) {
  YamlErrors errors{std::string(file)};
  const PlanMap map(
      root, "a plan",
      {"topology", "jobs", "network", "rate", "seed", "start_number", "begin", "duration", "nccl"},
      {"name", "about", "model", "time_scale", "record_interval", "analysis_window",
       "reroute_delay", "fabric", "streams", "faults", "benign", "maintenance", "foreign",
       "telemetry"},
      errors);
  LabPlan plan;
  plan.fabric = std::move(fabric);
  map.Number("seed", 0, UINT64_MAX >> 1, plan.seed);
  map.Number("start_number", 0, 1u << 30, plan.start_number);
  bool random_first_psn = true;
  if (const YamlNode* network = map.Find("network")) {
    ReadNetwork(*network, plan.transport, plan.connect_timeout, random_first_psn, errors);
  }
  if (const YamlNode* rate = map.Find("rate")) {
    plan.rate = topology::ReadParsed(*rate, ParseRateLimit, errors).value_or(plan.rate);
  }
  if (map.Find("begin") != nullptr) {
    double seconds = 0;
    constexpr double kLatest = 4e9;
    map.Real("begin", 0, kLatest, seconds);
    plan.begin = Timestamp(Duration(static_cast<int64_t>(seconds * 1e9)));
  }
  if (map.Find("duration") != nullptr) {
    Duration duration{};
    map.Time("duration", std::chrono::milliseconds(1), duration);
    plan.duration = duration;
  }
  std::string nccl(kDefaultNccl);
  map.Text("nccl", nccl);
  if (const auto release = sim::FindNcclRelease(nccl)) {
    plan.nccl = *release;
  } else if (const YamlNode* node = map.Find("nccl")) {
    errors.Add(*node, release.error().message);
  }
  QueuePairNumbers numbers(
      {.seed = plan.seed, .start_number = plan.start_number, .random_first_psn = random_first_psn});
  if (const YamlNode* jobs = map.Require("jobs")) AddJobs(*jobs, plan, numbers, errors);
  if (!errors.empty()) return tl::unexpected(errors.Take());
  return plan;
}

}  // namespace

uint32_t AddressOf(const topology::Fabric& fabric, topology::NicIndex nic) {
  return fabric.nic(nic).addresses[0].address.V4();
}

Result<LabPlan> ParseLabPlan(std::string_view text, std::string_view file,
                             topology::Fabric fabric) {
  const auto root = topology::ParseYaml(text, file);
  if (!root) return tl::unexpected(root.error());
  return ReadPlan(*root, file, std::move(fabric));
}

Result<LabPlan> LoadLabPlan(const std::string& path) {
  const auto text = ReadFile(path);
  if (!text) return tl::unexpected(text.error());
  const auto root = topology::ParseYaml(*text, path);
  if (!root) return tl::unexpected(root.error());
  const YamlNode* topology = nullptr;
  for (size_t i = 0; root->kind == YamlNode::Kind::kMap && i + 1 < root->items.size(); i += 2) {
    if (root->items[i].text == "topology") topology = &root->items[i + 1];
  }
  if (topology == nullptr || topology->kind != YamlNode::Kind::kScalar) {
    return MakeError(
        ErrorCode::kInvalidArgument,
        fmt::format("{}: the key \"topology\" is missing or not the path of a file", path));
  }
  const std::filesystem::path beside = std::filesystem::path(path).parent_path() / topology->text;
  const auto described = ReadFile(beside.string());
  if (!described) {
    return MakeError(described.error().code,
                     fmt::format("{}:{}:{}: {}", path, topology->line, topology->column,
                                 described.error().message));
  }
  auto fabric = topology::LoadFabric(*described, beside.string());
  if (!fabric) return tl::unexpected(fabric.error());
  return ReadPlan(*root, path, std::move(*fabric));
}

}  // namespace rocescope::endpoint
