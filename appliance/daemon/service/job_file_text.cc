// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/daemon/service/job_file_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <utility>

#include "analytics/job/job_nodes.h"

namespace rocescope {
namespace {

using nlohmann::json;

constexpr int64_t kForm = 1;
constexpr const char* kFormKey = "rocescope_jobs";

json Line(const Allocation& job) {
  json line = {{"id", job.id},
               {"name", job.name},
               {"user", job.user},
               {"ended", job.state == AllocationState::kEnded},
               {"nodes", WriteJobNodes(job.nodes)}};
  if (job.start) line["start_ns"] = ToNanoseconds(*job.start);
  if (job.end) line["end_ns"] = ToNanoseconds(*job.end);
  return line;
}

bool ReadText(const json& line, const char* key, std::string& out) {
  const auto at = line.find(key);
  if (at == line.end() || !at->is_string()) return false;
  out = at->get<std::string>();
  return true;
}

bool ReadTime(const json& line, const char* key, std::optional<Timestamp>& out) {
  const auto at = line.find(key);
  if (at == line.end()) return true;
  if (!at->is_number_integer() || (at->is_number_unsigned() && at->get<uint64_t>() > INT64_MAX)) {
    return false;
  }
  out = WithinBounds(FromNanoseconds(at->get<int64_t>()));
  return true;
}

std::optional<Allocation> ReadJob(const json& line) {
  Allocation job;
  if (!line.is_object()) return std::nullopt;
  const auto id = line.find("id");
  const auto ended = line.find("ended");
  const auto nodes = line.find("nodes");
  if (id == line.end() || !id->is_number_unsigned() || ended == line.end() ||
      !ended->is_boolean() || nodes == line.end() || !nodes->is_array()) {
    return std::nullopt;
  }
  job.id = id->get<uint64_t>();
  job.state = ended->get<bool>() ? AllocationState::kEnded : AllocationState::kHeld;
  job.state_text = ended->get<bool>() ? "COMPLETED" : "RUNNING";
  for (const json& text : *nodes) {
    if (!text.is_string()) return std::nullopt;
    auto parsed = ParseJobNodes(text.get_ref<const std::string&>());
    if (!parsed || job.nodes.size() + parsed->size() > kMaxJobNodes) return std::nullopt;
    std::ranges::move(*parsed, std::back_inserter(job.nodes));
  }
  if (job.id == 0 || job.nodes.empty() || !ReadText(line, "name", job.name) ||
      !ReadText(line, "user", job.user) || !ReadTime(line, "start_ns", job.start) ||
      !ReadTime(line, "end_ns", job.end)) {
    return std::nullopt;
  }
  return job;
}

}  // namespace

std::string WriteJobFile(std::span<const Allocation> jobs) {
  std::string text = fmt::format("{{\"{}\":{}}}\n", kFormKey, kForm);
  for (const Allocation& job : jobs) {
    text += Line(job).dump(-1, ' ', false, json::error_handler_t::replace);
    text += '\n';
  }
  return text;
}

bool IsJobFile(std::string_view text) {
  return text.starts_with(fmt::format("{{\"{}\":", kFormKey));
}

Result<std::vector<Allocation>> ParseJobFile(std::string_view text) {
  std::vector<Allocation> jobs;
  std::set<uint64_t> ids;
  size_t nodes = 0;
  for (size_t number = 1; !text.empty() || number == 1; ++number) {
    const size_t end = std::min(text.find('\n'), text.size());
    const json line = json::parse(text.substr(0, end), nullptr, /*allow_exceptions=*/false);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (number == 1) {
      const auto form = line.is_object() ? line.find(kFormKey) : line.end();
      if (!line.is_object() || form == line.end() || !form->is_number_integer()) {
        return MakeError(ErrorCode::kInvalidArgument,
                         fmt::format("line 1: expected {{\"{}\":{}}}", kFormKey, kForm));
      }
      if (*form != kForm) {
        return MakeError(ErrorCode::kUnimplemented,
                         fmt::format("line 1: unsupported format version {} (this rocescope "
                                     "supports {}): update rocescope, or use another file",
                                     form->dump(), kForm));
      }
      continue;
    }
    std::optional<Allocation> job = ReadJob(line);
    if (job) nodes += job->nodes.size();
    if (!job || !ids.insert(job->id).second || nodes > (size_t{1} << 20)) {
      return MakeError(ErrorCode::kInvalidArgument,
                       fmt::format("line {}: expected a job with the keys id, name, user, ended "
                                   "and nodes, with a unique id",
                                   number));
    }
    jobs.push_back(*std::move(job));
  }
  return jobs;
}

}  // namespace rocescope
