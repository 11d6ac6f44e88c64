// SPDX-License-Identifier: BSD-3-Clause
#include "dataplane/host/slurm_jobs.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "base/text/name_range.h"

namespace rocescope {
namespace {

using Json = nlohmann::json;

constexpr size_t kMaxNodes = 65'536;
constexpr size_t kMaxNodesInAll = 1'000'000;
constexpr size_t kMaxGpus = 1024;  // maximum GPUs of a node
constexpr size_t kLongestName = 256;

constexpr std::array<std::string_view, 10> kWantedKeys = {
    "job_id",        "het_job_id",  "name",  "user_name",  "job_state",
    "job_resources", "gres_detail", "nodes", "start_time", "end_time"};
// slurm.schedmd.com/squeue.html, "JOB STATE CODES": in these states a job no longer holds its
// nodes.
constexpr std::array<std::string_view, 10> kEndedStates = {
    "BOOT_FAIL", "CANCELLED",     "COMPLETED", "DEADLINE", "FAILED",
    "NODE_FAIL", "OUT_OF_MEMORY", "PREEMPTED", "REVOKED",  "TIMEOUT"};

// A job has hundreds of keys; only the needed ones are kept in memory.
bool Keep(int depth, Json::parse_event_t event, Json& parsed) {
  if (event != Json::parse_event_t::key) return true;
  const auto& key = parsed.get_ref<const std::string&>();
  if (depth == 1) return key == "jobs";
  if (depth != 3) return true;
  return std::ranges::find(kWantedKeys, key) != kWantedKeys.end();
}

// A job's name may have any encoding but JSON requires UTF-8: non-ASCII bytes are then dropped.
std::string OnlyAscii(std::string_view text) {
  std::string ascii(text);
  std::ranges::replace_if(ascii, [](char c) { return (c & 0x80) != 0; }, '?');
  return ascii;
}

const Json* Find(const Json& object, const char* key) {
  if (!object.is_object()) return nullptr;
  const auto at = object.find(key);
  return at == object.end() ? nullptr : &*at;
}

std::string TextOf(const Json* value) {
  if (value == nullptr || !value->is_string()) return {};
  return value->get_ref<const std::string&>().substr(0, kLongestName);
}

// 7, or {"set": true, "infinite": false, "number": 7}.
std::optional<uint64_t> NumberOf(const Json* value) {
  if (value == nullptr) return std::nullopt;
  if (value->is_number_unsigned()) return value->get<uint64_t>();
  const Json* number = Find(*value, "number");
  if (number == nullptr || !number->is_number_unsigned()) return std::nullopt;
  const Json* set = Find(*value, "set");
  const Json* infinite = Find(*value, "infinite");
  if (set != nullptr && set->is_boolean() && !set->get<bool>()) return std::nullopt;
  if (infinite != nullptr && infinite->is_boolean() && infinite->get<bool>()) return std::nullopt;
  return number->get<uint64_t>();
}

// Slurm prints 0 for an unknown time.
std::optional<Timestamp> TimeOf(const Json* value) {
  constexpr uint64_t kNanoseconds = 1'000'000'000;
  constexpr uint64_t kLatest = static_cast<uint64_t>(ToNanoseconds(kLatestTime)) / kNanoseconds;
  const std::optional<uint64_t> seconds = NumberOf(value);
  if (!seconds || *seconds == 0 || *seconds > kLatest) return std::nullopt;
  return FromNanoseconds(static_cast<int64_t>(*seconds * kNanoseconds));
}

// "RUNNING", or ["CANCELLED", "COMPLETING"]: a state followed by flags.
std::vector<std::string> StatesOf(const Json* value) {
  std::vector<std::string> states;
  if (value == nullptr) return states;
  if (value->is_string()) states.push_back(TextOf(value));
  if (!value->is_array()) return states;
  constexpr size_t kMost = 8;
  for (const Json& state : *value) {
    if (state.is_string() && states.size() < kMost) states.push_back(TextOf(&state));
  }
  return states;
}

bool IsEnded(const std::vector<std::string>& states) {
  // The job holds its nodes until all of its processes have ended.
  if (std::ranges::find(states, "COMPLETING") != states.end()) return false;
  return std::ranges::any_of(states, [](const std::string& state) {
    return std::ranges::find(kEndedStates, state) != kEndedStates.end();
  });
}

// Returns the host list to which gres_detail is parallel, otherwise the one that squeue prints.
std::string_view HostListOf(const Json& job) {
  const auto text = [](const Json* value) -> std::string_view {
    if (value == nullptr || !value->is_string()) return {};
    return value->get_ref<const std::string&>();
  };
  std::string_view list;
  if (const Json* resources = Find(job, "job_resources")) {
    const Json* nodes = Find(*resources, "nodes");
    list = text(nodes);
    if (nodes != nullptr && list.empty()) list = text(Find(*nodes, "list"));
  }
  if (list.empty()) list = text(Find(job, "nodes"));
  return list == "(null)" || list == "None assigned" ? std::string_view() : list;
}

// Returns "0-3,6" of "gpu:h100:5(IDX:0-3,6),nic:1(IDX:0)", for all generic resources named "gpu".
std::vector<uint32_t> GpusOf(std::string_view detail) {
  std::vector<uint32_t> gpus;
  while (!detail.empty()) {
    size_t end = 0;
    for (int depth = 0; end < detail.size(); ++end) {
      depth += (detail[end] == '(') - (detail[end] == ')');
      if (detail[end] == ',' && depth <= 0) break;
    }
    std::string_view one = detail.substr(0, end);
    detail.remove_prefix(std::min(end + 1, detail.size()));
    if (one.starts_with("gres/")) one.remove_prefix(5);
    const size_t index = one.find("(IDX:");
    if (!one.starts_with("gpu:") || index == std::string_view::npos) continue;
    one = one.substr(index + 5);
    one = one.substr(0, one.find(')'));
    const auto numbers = topology::ExpandNames(fmt::format("[{}]", one), kMaxGpus);
    if (!numbers) continue;  // "N/A"
    for (const std::string& number : *numbers) {
      uint32_t value = 0;
      const auto read = std::from_chars(number.data(), number.data() + number.size(), value);
      if (read.ec == std::errc{} && value < kMaxGpus) gpus.push_back(value);
    }
  }
  std::ranges::sort(gpus);
  gpus.erase(std::ranges::unique(gpus).begin(), gpus.end());
  return gpus;
}

class Reader {
 public:
  SlurmJobs Read(const Json& root) {
    const Json* jobs = Find(root, "jobs");
    if (jobs == nullptr || !jobs->is_array()) {
      Note("expected an object with a list \"jobs\", as printed by `squeue --json`");
      return std::move(result_);
    }
    for (const Json& job : *jobs) ReadJob(job);
    for (auto& [id, job] : by_id_) {
      job.allocation.nodes = std::move(job.nodes);
      result_.allocations.push_back(std::move(job.allocation));
    }
    return std::move(result_);
  }

  void Note(std::string note) {
    if (result_.notes.size() < kMaxSlurmNotes) result_.notes.push_back(std::move(note));
  }
  SlurmJobs Take() { return std::move(result_); }

 private:
  void ReadJob(const Json& job) {
    const std::optional<uint64_t> own_id = NumberOf(Find(job, "job_id"));
    if (!own_id) {
      ++result_.malformed;
      Note("a job has no numeric job_id");
      return;
    }
    const std::string_view list = HostListOf(job);
    const std::vector<std::string> states = StatesOf(Find(job, "job_state"));
    if (list.empty() || std::ranges::find(states, "PENDING") != states.end()) {
      ++result_.without_nodes;
      return;
    }
    auto names = topology::ExpandNames(list, std::min(kMaxNodes, nodes_left_));
    if (!names) {
      ++result_.malformed;
      Note(fmt::format("job {}: nodes: {}", *own_id, names.error().message.substr(0, 200)));
      return;
    }
    nodes_left_ -= names->size();
    const uint64_t shared_id = NumberOf(Find(job, "het_job_id")).value_or(0);
    const uint64_t id = shared_id != 0 ? shared_id : *own_id;
    const auto [at, is_new] = by_id_.try_emplace(id);
    auto& [allocation, nodes] = at->second;
    if (is_new) {
      allocation = {.id = id,
                    .name = TextOf(Find(job, "name")),
                    .user = TextOf(Find(job, "user_name")),
                    .state = IsEnded(states) ? AllocationState::kEnded : AllocationState::kHeld,
                    .state_text = fmt::format("{}", fmt::join(states, "+")),
                    .start = TimeOf(Find(job, "start_time")),
                    .end = TimeOf(Find(job, "end_time"))};
    } else if (!IsEnded(states)) {
      allocation.state = AllocationState::kHeld;
    }
    AddNodes(job, *std::move(names), allocation.id, nodes);
  }

  void AddNodes(const Json& job, std::vector<std::string> names, uint64_t id,
                std::vector<AllocatedNode>& nodes) {
    const Json* detail = Find(job, "gres_detail");
    const bool has_detail = detail != nullptr && detail->is_array() && !detail->empty();
    const bool is_parallel = has_detail && detail->size() == names.size();
    if (has_detail && !is_parallel) {
      Note(fmt::format(
          "job {}: gres_detail lists {} nodes but the job has {}: gres_detail is ignored", id,
          detail->size(), names.size()));
    }
    for (size_t i = 0; i < names.size(); ++i) {
      AllocatedNode& node = nodes.emplace_back();
      node.name = std::move(names[i]);
      if (!is_parallel || !(*detail)[i].is_string()) continue;
      node.gpus = GpusOf((*detail)[i].get_ref<const std::string&>());
    }
  }

  SlurmJobs result_;
  struct Job {
    Allocation allocation;  // without nodes
    std::vector<AllocatedNode> nodes;
  };
  std::map<uint64_t, Job> by_id_;
  size_t nodes_left_ = kMaxNodesInAll;
};

}  // namespace

SlurmJobs ParseSlurmJobs(std::string_view text) {
  Reader reader;
  try {
    try {
      return reader.Read(Json::parse(text, Keep));
    } catch (const Json::exception&) {
      return reader.Read(Json::parse(OnlyAscii(text), Keep));
    }
  } catch (const Json::parse_error& error) {
    reader.Note(
        fmt::format("invalid JSON at byte {}: expected the output of `squeue --json`", error.byte));
  } catch (const Json::exception& error) {
    reader.Note(fmt::format("not the output of `squeue --json`: {}",
                            std::string_view(error.what()).substr(0, 200)));
  }
  return reader.Take();
}

}  // namespace rocescope
