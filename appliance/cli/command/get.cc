// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/cli/command/get.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <thread>

#include "appliance/cli/command/exit_code.h"
#include "appliance/cli/command/message.h"
#include "appliance/cli/command/output.h"
#include "appliance/cli/command/stop_signal.h"
#include "base/nearest.h"

namespace rocescope {
namespace {

using nlohmann::json;

constexpr int kMaxPages = 1000;  // a page has at most 1,000 rows
constexpr double kNanoseconds = 1e9;

const json* At(const json& row, std::string_view member) {
  if (!row.is_object()) return nullptr;
  const auto at = row.find(member);
  return at == row.end() || at->is_null() ? nullptr : &*at;
}

// Text members are escaped by TextTable.
std::string Text(const json& row, std::string_view member) {
  const json* const at = At(row, member);
  return at != nullptr && at->is_string() ? at->get<std::string>() : "";
}

// 64-bit numbers are strings in JSON.
uint64_t Number(const json& row, std::string_view member) {
  const json* const at = At(row, member);
  if (at == nullptr) return 0;
  if (at->is_number_unsigned()) return at->get<uint64_t>();
  return at->is_string() ? std::strtoull(at->get_ref<const std::string&>().c_str(), nullptr, 10)
                         : 0;
}

std::string CountOrEmpty(const json& row, std::string_view member) {
  const uint64_t number = Number(row, member);
  return number == 0 ? "" : fmt::format("{}", number);
}

std::string Bytes(const json& row, std::string_view member) {
  const uint64_t number = Number(row, member);
  return number == 0 ? "" : HumanBytes(number);
}

std::string Percent(const json& row, std::string_view member) {
  const json* const at = At(row, member);
  return at != nullptr && at->is_number() ? fmt::format("{:.1f}%", at->get<double>() * 100) : "";
}

// "STATE_MET" as "met".
std::string Word(const json& row, std::string_view member, std::string_view prefix) {
  std::string text = Text(row, member);
  if (text.starts_with(prefix)) text.erase(0, prefix.size());
  if (text == "UNSPECIFIED") return "";
  std::ranges::transform(text, text.begin(), [](char c) {
    return c == '_' ? '-' : c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  return text;
}

// "2026-01-31T12:00:00.5Z" as "2026-01-31 12:00:00".
std::string Moment(const json& row, std::string_view member) {
  std::string text = Text(row, member);
  constexpr size_t kSeconds = std::string_view("2026-01-31T12:00:00").size();
  if (text.size() <= kSeconds) return text;
  text.resize(kSeconds);
  text[text.find('T')] = ' ';
  return text;
}

// "0.5s" as "500 ms".
std::string Length(const json& row, std::string_view member) {
  const double seconds = std::strtod(Text(row, member).c_str(), nullptr);
  return seconds > 0 && seconds < 1e9 ? HumanDuration(static_cast<int64_t>(seconds * kNanoseconds))
                                      : "";
}

std::string List(const json& row, std::string_view member) {
  const json* const at = At(row, member);
  if (at == nullptr || !at->is_array()) return "";
  std::string text;
  for (const json& one : *at) {
    if (one.is_string()) text += (text.empty() ? "" : ", ") + one.get<std::string>();
  }
  return text;
}

size_t Size(const json& row, std::string_view member) {
  const json* const at = At(row, member);
  return at != nullptr && at->is_array() ? at->size() : 0;
}

std::string SizeOrEmpty(const json& row, std::string_view member) {
  const size_t size = Size(row, member);
  return size == 0 ? "" : fmt::format("{}", size);
}

const json& Member(const json& row, std::string_view member) {
  static const json kNone = json::object();
  const json* const at = At(row, member);
  return at != nullptr && at->is_object() ? *at : kNone;
}

std::string PlaceOf(const json& finding) {
  const std::string direction = Text(finding, "direction");
  return direction.empty() ? Text(finding, "place") : direction;
}

// "acknowledged by ada, muted by bob until 2026-01-31 12:00:00".
std::string ReviewOf(const json& finding) {
  const json& acknowledgement = Member(finding, "acknowledgement");
  const json& mute = Member(finding, "mute");
  std::string text;
  if (!acknowledgement.empty()) {
    text = fmt::format("acknowledged by {}", Text(acknowledgement, "user"));
  }
  if (!mute.empty()) {
    text += fmt::format("{}muted by {} until {}", text.empty() ? "" : ", ", Text(mute, "user"),
                        Moment(mute, "expire_time"));
  }
  return text;
}

std::string ReviewComment(const json& finding) {
  const std::string comment = Text(Member(finding, "acknowledgement"), "comment");
  const std::string reason = Text(Member(finding, "mute"), "comment");
  return comment.empty() || reason.empty() ? comment + reason : comment + "; " + reason;
}

// The longest of the upper bounds, which is that of the job that suffers most.
std::string MostLost(const json& hotspot) {
  const json* const times = At(hotspot, "lost_times");
  double most = 0;
  if (times != nullptr && times->is_array()) {
    for (const json& one : *times) {
      most = std::max(most, std::strtod(Text(one, "lost_duration").c_str(), nullptr));
    }
  }
  return most > 0 && most < 1e9 ? HumanDuration(static_cast<int64_t>(most * kNanoseconds)) : "";
}

const json& LastInterval(const json& path) {
  static const json kNone = json::object();
  const json* const intervals = At(path, "intervals");
  return intervals != nullptr && intervals->is_array() && !intervals->empty() ? intervals->back()
                                                                              : kNone;
}

#define ROCESCOPE_TEXT(expression) [](const json& row) -> std::string { return expression; }

std::vector<GetResource> MakeResources() {
  constexpr Align kRight = Align::kRight;
  return {
      {"findings",
       "finding",
       "/api/v1/findings",
       "findings",
       "",
       {{"STATE", ROCESCOPE_TEXT(At(row, "end_time") == nullptr ? "active" : "ended")},
        {"SEVERITY", ROCESCOPE_TEXT(Word(row, "severity", "SEVERITY_"))},
        {"KIND", ROCESCOPE_TEXT(Text(row, "kind"))},
        {"PLACE", ROCESCOPE_TEXT(PlaceOf(row))},
        {"CONFIDENCE", ROCESCOPE_TEXT(Percent(row, "confidence")), kRight},
        {"SINCE (UTC)", ROCESCOPE_TEXT(Moment(row, "start_time"))},
        {"UNTIL (UTC)", ROCESCOPE_TEXT(Moment(row, "end_time"))},
        {"JOBS", ROCESCOPE_TEXT(SizeOrEmpty(row, "affected_job_ids")), kRight},
        {"REVIEW", ROCESCOPE_TEXT(ReviewOf(row))},
        {"REVIEW COMMENT", ROCESCOPE_TEXT(ReviewComment(row)), Align::kLeft, true},
        {"FINDING", ROCESCOPE_TEXT(Text(row, "sentence")), Align::kLeft, true},
        {"RECOMMENDED ACTION", ROCESCOPE_TEXT(Text(row, "recommended_action")), Align::kLeft,
         true}}},
      {"jobs",
       "job",
       "/api/v1/jobs",
       "jobs",
       "job_id",
       {{"JOB", ROCESCOPE_TEXT(Text(row, "job_id"))},
        {"NAME", ROCESCOPE_TEXT(Text(Member(row, "allocation"), "name"))},
        {"SCHEDULER ID",
         ROCESCOPE_TEXT(CountOrEmpty(Member(row, "allocation"), "scheduler_job_id")), kRight},
        {"SERVICE LEVEL", ROCESCOPE_TEXT(Word(row, "service_level_state", "STATE_"))},
        {"FINDINGS", ROCESCOPE_TEXT(SizeOrEmpty(row, "finding_sentences")), kRight},
        {"RANKS", ROCESCOPE_TEXT(CountOrEmpty(row, "expected_rank_count")), kRight},
        {"HOSTS", ROCESCOPE_TEXT(CountOrEmpty(row, "host_count")), kRight},
        {"ITERATION", ROCESCOPE_TEXT(Length(row, "iteration_period")), kRight},
        {"STRAGGLER", ROCESCOPE_TEXT(Text(row, "straggler"))},
        {"BYTES", ROCESCOPE_TEXT(Bytes(row, "bytes")), kRight, true},
        {"USER", ROCESCOPE_TEXT(Text(Member(row, "allocation"), "user")), Align::kLeft, true},
        {"SOURCE", ROCESCOPE_TEXT(Word(row, "identity", "IDENTITY_")), Align::kLeft, true},
        {"FIRST SEEN (UTC)", ROCESCOPE_TEXT(Moment(row, "first_seen_time")), Align::kLeft, true},
        {"LAST SEEN (UTC)", ROCESCOPE_TEXT(Moment(row, "last_seen_time")), Align::kLeft, true}}},
      {"hotspots",
       "hotspot",
       "/api/v1/hotspots",
       "hotspots",
       "",
       {{"PORT", ROCESCOPE_TEXT(Text(row, "port"))},
        {"CAUSE", ROCESCOPE_TEXT(Word(row, "cause", "CAUSE_"))},
        {"LOST TIME", ROCESCOPE_TEXT(MostLost(row)), kRight},
        {"JOBS", ROCESCOPE_TEXT(SizeOrEmpty(row, "lost_times")), kRight},
        {"SINCE (UTC)", ROCESCOPE_TEXT(Moment(row, "start_time"))},
        {"UNTIL (UTC)", ROCESCOPE_TEXT(Moment(row, "end_time"))},
        {"CE MARKS", ROCESCOPE_TEXT(CountOrEmpty(row, "ce_marked_packets")), kRight},
        {"DROPS", ROCESCOPE_TEXT(CountOrEmpty(row, "dropped_packets")), kRight},
        {"PAUSED", ROCESCOPE_TEXT(Length(row, "paused_duration")), kRight},
        {"PEAK QUEUE", ROCESCOPE_TEXT(Bytes(row, "peak_queue_bytes")), kRight, true},
        {"FLOWS", ROCESCOPE_TEXT(CountOrEmpty(row, "flow_count")), kRight, true},
        {"BYTES", ROCESCOPE_TEXT(Bytes(row, "bytes")), kRight, true},
        {"SEEN BY", ROCESCOPE_TEXT(Word(row, "source", "SOURCE_")), Align::kLeft, true}}},
      {"links",
       "link",
       "/api/v1/links",
       "link_loads",
       "port",
       {{"PORT", ROCESCOPE_TEXT(Text(row, "port"))},
        {"LOAD", ROCESCOPE_TEXT(Percent(row, "utilization")), kRight},
        {"CE MARKS", ROCESCOPE_TEXT(CountOrEmpty(row, "ce_marked_packets")), kRight},
        {"DROPS", ROCESCOPE_TEXT(CountOrEmpty(row, "dropped_packets")), kRight},
        {"PAUSED", ROCESCOPE_TEXT(Length(row, "paused_duration")), kRight},
        {"ERRORS", ROCESCOPE_TEXT(CountOrEmpty(row, "error_frames")), kRight},
        {"BYTES", ROCESCOPE_TEXT(Bytes(row, "bytes")), kRight, true},
        {"PEAK QUEUE", ROCESCOPE_TEXT(Bytes(row, "peak_queue_bytes")), kRight, true},
        {"SEEN BY", ROCESCOPE_TEXT(Word(row, "source", "SOURCE_")), Align::kLeft, true}}},
      {"paths",
       "path",
       "/api/v1/paths",
       "paths",
       "",
       {{"SOURCE", ROCESCOPE_TEXT(Text(row, "source_nic").empty() ? Text(row, "source")
                                                                  : Text(row, "source_nic"))},
        {"DESTINATION",
         ROCESCOPE_TEXT(Text(row, "destination_nic").empty() ? Text(row, "destination")
                                                             : Text(row, "destination_nic"))},
        {"QPN", ROCESCOPE_TEXT(CountOrEmpty(row, "destination_qpn")), kRight},
        {"STATE", ROCESCOPE_TEXT(Word(LastInterval(row), "state", "STATE_"))},
        {"PATH (SENDING PORTS)", ROCESCOPE_TEXT(List(LastInterval(row), "ports"))},
        {"SINCE (UTC)", ROCESCOPE_TEXT(Moment(LastInterval(row), "start_time")), Align::kLeft,
         true},
        {"REROUTED",
         ROCESCOPE_TEXT(
             Size(row, "intervals") < 2 ? "" : fmt::format("{} times", Size(row, "intervals") - 1)),
         Align::kLeft, true}}},
      {"nodes",
       "node",
       "/api/v1/nodes",
       "nodes",
       "node",
       {{"NODE", ROCESCOPE_TEXT(Text(row, "node"))},
        {"HEALTH", ROCESCOPE_TEXT(Word(row, "health", "HEALTH_"))},
        {"HEALTHY NICS", ROCESCOPE_TEXT(CountOrEmpty(row, "healthy_rail_count")), kRight},
        {"NICS", ROCESCOPE_TEXT(CountOrEmpty(row, "rail_count")), kRight},
        {"FREE GPUS", ROCESCOPE_TEXT(CountOrEmpty(row, "free_gpu_count")), kRight},
        {"GPUS", ROCESCOPE_TEXT(CountOrEmpty(row, "gpu_count")), kRight},
        {"REASON",
         ROCESCOPE_TEXT(Size(row, "reasons") == 0 ? "" : Text(row["reasons"][0], "sentence"))},
        {"SCHEDULER JOBS", ROCESCOPE_TEXT(List(row, "scheduler_job_ids")), Align::kLeft, true}}},
      {"anomalies",
       "anomaly",
       "/api/v1/anomalies",
       "anomalies",
       "entity",
       {{"KIND", ROCESCOPE_TEXT(Word(row, "kind", "KIND_"))},
        {"ENTITY", ROCESCOPE_TEXT(Text(row, "entity"))},
        {"SINCE (UTC)", ROCESCOPE_TEXT(Moment(row, "start_time"))},
        {"UNTIL (UTC)", ROCESCOPE_TEXT(Moment(row, "end_time"))},
        {"WINDOWS", ROCESCOPE_TEXT(CountOrEmpty(row, "window_count")), kRight},
        {"METRIC",
         ROCESCOPE_TEXT(Size(row, "metrics") == 0 ? "" : Text(row["metrics"][0], "metric"))}}},
      {"service-levels",
       "service-level",
       "/api/v1/service-levels",
       "service_levels",
       "entity",
       {{"STATE", ROCESCOPE_TEXT(Word(row, "state", "STATE_"))},
        {"INDICATOR", ROCESCOPE_TEXT(Text(row, "indicator"))},
        {"ENTITY", ROCESCOPE_TEXT(Text(row, "entity"))},
        {"SHORT WINDOW", ROCESCOPE_TEXT(Percent(row, "short_window_ratio")), kRight},
        {"LONG WINDOW", ROCESCOPE_TEXT(Percent(row, "long_window_ratio")), kRight},
        {"WINDOWS", ROCESCOPE_TEXT(CountOrEmpty(row, "window_count")), kRight, true}}},
      {"sources",
       "source",
       "/api/v1/sources",
       "sources",
       "name",
       {{"NAME", ROCESCOPE_TEXT(Text(row, "name"))},
        {"KIND", ROCESCOPE_TEXT(Word(row, "kind", "KIND_"))},
        {"RECEIVED", ROCESCOPE_TEXT(CountOrEmpty(Member(row, "ledger"), "received")), kRight},
        {"DECODED", ROCESCOPE_TEXT(CountOrEmpty(Member(row, "ledger"), "decoded")), kRight},
        {"MISSED", ROCESCOPE_TEXT(CountOrEmpty(row, "missed_frames")), kRight},
        {"DROPPED RECORDS", ROCESCOPE_TEXT(CountOrEmpty(row, "dropped_records")), kRight},
        {"LAST DATA (UTC)", ROCESCOPE_TEXT(Moment(row, "last_arrival_time"))},
        {"ERROR", ROCESCOPE_TEXT(Text(row, "error"))},
        {"PROBLEMS", ROCESCOPE_TEXT(List(row, "problems")), Align::kLeft, true}}},
      {"problems",
       "problem",
       "/api/v1/problems",
       "problems",
       "",
       {{"KIND", ROCESCOPE_TEXT(Text(row, "kind"))},
        {"PLACE", ROCESCOPE_TEXT(Text(row, "place"))},
        {"PROBLEM", ROCESCOPE_TEXT(Text(row, "sentence"))},
        {"RECOMMENDED ACTION", ROCESCOPE_TEXT(Text(row, "recommended_action")), Align::kLeft,
         true}}},
  };
}

#undef ROCESCOPE_TEXT

std::string Encoded(std::string_view text) {
  std::string out;
  for (const char c : text) {
    const bool is_plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                          (c >= '0' && c <= '9') || c == '-' || c == '.' || c == '_' || c == '~';
    out += is_plain ? std::string(1, c) : fmt::format("%{:02X}", static_cast<unsigned char>(c));
  }
  return out;
}

// The rows of a response; an empty array if it has none.
const json& RowsOf(const GetResource& resource, const json& response) {
  static const json kNone = json::array();
  const json* const rows = At(response, resource.list);
  return rows != nullptr && rows->is_array() ? *rows : kNone;
}

// The response with only those rows that are new or have changed since the last call.
class ChangedRows {
 public:
  json Take(const GetResource& resource, json response) {
    std::set<std::string> now;
    json changed = json::array();
    for (const json& row : RowsOf(resource, response)) {
      std::string text = row.dump(-1, ' ', false, json::error_handler_t::replace);
      if (!before_.contains(text)) changed.push_back(row);
      now.insert(std::move(text));
    }
    before_ = std::move(now);
    response[std::string(resource.list)] = std::move(changed);
    return response;
  }

 private:
  std::set<std::string> before_;
};

std::string JsonLine(const json& value) {
  return value.dump(-1, ' ', false, json::error_handler_t::replace) + '\n';
}

std::string TextOf(const GetResource& resource, const json& response, const GetOptions& options) {
  if (options.format != GetFormat::kJson) {
    return GetTable(resource, response, options.format == GetFormat::kWide);
  }
  if (!options.watch) return JsonLine(response);
  std::string text;  // one row per line
  for (const json& row : RowsOf(resource, response)) text += JsonLine(row);
  return text;
}

// Sleeps in short steps, so that a signal ends it. Returns false after a signal.
bool Sleep(std::chrono::milliseconds length) {
  constexpr std::chrono::milliseconds kStep{100};
  const auto end = std::chrono::steady_clock::now() + length;
  while (!InputEndedBySignal() && std::chrono::steady_clock::now() < end) {
    std::this_thread::sleep_for(kStep);
  }
  return !InputEndedBySignal();
}

}  // namespace

const std::vector<GetResource>& GetResources() {
  static const std::vector<GetResource> kResources = MakeResources();
  return kResources;
}

const GetResource* FindGetResource(std::string_view name) {
  for (const GetResource& resource : GetResources()) {
    if (name == resource.name || name == resource.singular) return &resource;
  }
  return nullptr;
}

Result<json> ReadAllPages(const GetReader& read, const GetResource& resource, std::string_view name,
                          const std::vector<std::pair<std::string, std::string>>& parameters) {
  std::string query = fmt::format("{}?page_size=1000", resource.path);
  for (const auto& [key, value] : parameters) {
    if (!value.empty()) query += fmt::format("&{}={}", key, Encoded(value));
  }
  json whole;
  json rows = json::array();
  std::string token;
  for (int page = 0; page < kMaxPages; ++page) {
    auto answer =
        read(token.empty() ? query : fmt::format("{}&page_token={}", query, Encoded(token)));
    if (!answer) return tl::unexpected(answer.error());
    if (At(*answer, resource.list) == nullptr) {
      return MakeError(ErrorCode::kInvalidArgument,
                       fmt::format("the response has no \"{}\": the server is not rocescope, or an "
                                   "older version",
                                   resource.list));
    }
    for (const json& row : RowsOf(resource, *answer)) {
      if (name.empty() || Text(row, resource.name_field) == name) rows.push_back(row);
    }
    token = Text(*answer, "next_page_token");
    if (page == 0) whole = *std::move(answer);
    if (token.empty()) break;
  }
  whole[std::string(resource.list)] = std::move(rows);
  if (whole.contains("next_page_token")) whole["next_page_token"] = token;
  return whole;
}

std::string GetTable(const GetResource& resource, const json& response, bool is_wide) {
  std::vector<TextTable::Column> titles;
  for (const GetColumn& column : resource.columns) {
    if (is_wide || !column.is_wide) titles.push_back({column.title, column.align});
  }
  TextTable table(std::move(titles));
  for (const json& row : RowsOf(resource, response)) {
    std::vector<std::string> cells;
    for (const GetColumn& column : resource.columns) {
      if (is_wide || !column.is_wide) cells.push_back(column.text(row));
    }
    table.Add(std::move(cells));
  }
  return table.empty() ? "" : table.Render(0);
}

int RunGet(const GetOptions& options) {
  const GetResource* const resource = FindGetResource(options.resource);
  if (resource == nullptr) {
    std::vector<std::string_view> known;
    for (const GetResource& one : GetResources()) known.push_back(one.name);
    Message(fmt::format("unknown resource \"{}\"{}", options.resource,
                        DidYouMean(options.resource, known)));
    return kExitUsage;
  }
  if (!options.name.empty() && resource->name_field.empty()) {
    Message(fmt::format("{} have no names; select some of them with --filter", resource->name));
    return kExitUsage;
  }
  const GetReader read = [&](std::string_view path) { return AskDaemon(options.page, path); };
  ChangedRows changed;
  for (bool is_first = true;; is_first = false) {
    auto response = ReadAllPages(read, *resource, options.name, options.parameters);
    if (!response) {
      Message(response.error().message);
      if (is_first || !options.watch) return kExitUnreadable;
    } else {
      const bool is_empty = RowsOf(*resource, *response).empty();
      if (is_first && is_empty) {
        Message(options.name.empty()
                    ? fmt::format("There are no {}.", resource->name)
                    : fmt::format("There is no {} \"{}\".", resource->singular, options.name));
        if (!options.name.empty() && !options.watch) return kExitDamaged;
      }
      if (options.watch) response = changed.Take(*resource, *std::move(response));
      if (WriteToStdout(TextOf(*resource, *response, options)) == OutputState::kFailed) {
        return kExitOutput;
      }
    }
    if (!options.watch || !Sleep(options.interval)) return kExitSuccess;
  }
}

}  // namespace rocescope
