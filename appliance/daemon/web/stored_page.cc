// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/daemon/web/stored_page.h"

#include <fmt/format.h>
#include <google/protobuf/arena.h>
#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "appliance/common/report/message_json.h"
#include "appliance/daemon/service/service.h"
#include "appliance/daemon/web/page_files.h"
#include "base/count_text.h"
#include "rocescope/v1/report.pb.h"
#include "rocescope/v1/service.pb.h"

namespace rocescope {
namespace {

using google::protobuf::Arena;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

constexpr int32_t kPage = 1000;
// Selects the service levels that the page contains. The indicators count the other ones.
constexpr std::string_view kViolated = "state = STATE_MISSED OR state = STATE_AT_RISK";

std::string_view PageFileOf(std::string_view path) {
  for (const PageFile& file : PageFiles()) {
    if (file.path == path) return file.content;
  }
  return {};
}

// Percent-encodes as encodeURIComponent does (ECMA-262, 19.2.6.4).
std::string Encoded(std::string_view text) {
  constexpr std::string_view kKept = "-_.!~*'()";
  std::string encoded;
  for (const char c : text) {
    const bool is_plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                          (c >= '0' && c <= '9') || kKept.find(c) != std::string_view::npos;
    if (is_plain) {
      encoded += c;
    } else {
      encoded += fmt::format("%{:02X}", static_cast<unsigned char>(c));
    }
  }
  return encoded;
}

std::string EscapedHtml(std::string_view text) {
  std::string escaped;
  for (const char c : text) {
    switch (c) {
      case '<':
        escaped += "&lt;";
        break;
      case '>':
        escaped += "&gt;";
        break;
      case '&':
        escaped += "&amp;";
        break;
      default:
        escaped += c;
    }
  }
  return escaped;
}

// Escapes "<" in JSON, so that no string ends the script element that contains it.
std::string WithoutMarkup(std::string_view json) {
  std::string safe;
  safe.reserve(json.size());
  for (const char c : json) {
    if (c == '<') {
      safe += "\\u003c";
    } else {
      safe += c;
    }
  }
  return safe;
}

void SetText(Message& message, const char* field, const std::string& text) {
  const FieldDescriptor* const found = message.GetDescriptor()->FindFieldByName(field);
  if (found != nullptr) message.GetReflection()->SetString(&message, found, text);
}

std::string TextOf(const Message& message, const char* field) {
  const FieldDescriptor* const found = message.GetDescriptor()->FindFieldByName(field);
  return found == nullptr ? "" : message.GetReflection()->GetString(message, found);
}

// Returns the field with the elements of a list, which is the first repeated message field of a
// response. All other fields are the same on every page.
const FieldDescriptor* ListFieldOf(const Message& response) {
  const auto& type = *response.GetDescriptor();
  for (int i = 0; i < type.field_count(); ++i) {
    if (type.field(i)->is_repeated() && type.field(i)->message_type() != nullptr) {
      return type.field(i);
    }
  }
  return nullptr;
}

int SizeOf(const Message& response) {
  const FieldDescriptor* const list = ListFieldOf(response);
  return list == nullptr ? 0 : response.GetReflection()->FieldSize(response, list);
}

// Copies the elements of a page to `all`, up to `most` elements in total.
void AppendList(const Message& page, int most, Message& all) {
  const FieldDescriptor* const list = ListFieldOf(page);
  const auto& reflection = *page.GetReflection();
  for (int i = 0; i < SizeOf(page) && SizeOf(all) < most; ++i) {
    reflection.AddMessage(&all, list)->CopyFrom(reflection.GetRepeatedMessage(page, list, i));
  }
}

// Builds a JSON object from API paths to responses.
class Stored {
 public:
  Stored(Service& service, int32_t max_elements) : service_(service), max_elements_(max_elements) {}

  // Adds the response with all pages merged. If the call fails, the path is left out and the page
  // shows that the data is missing.
  template <typename Request, typename Response>
  const Response* Add(const std::string& path,
                      ServiceStatus (Service::*call)(const Caller&, const Request&, Response&),
                      Request request = {}) {
    Response& all = *Arena::CreateMessage<Response>(&arena_);
    if (const FieldDescriptor* size = request.GetDescriptor()->FindFieldByName("page_size")) {
      request.GetReflection()->SetInt32(&request, size, std::min(kPage, max_elements_));
    }
    std::string next;
    bool is_first = true;
    do {
      Response& page = *Arena::CreateMessage<Response>(&arena_);
      if (!(service_.*call)(LocalCaller(), request, page)) return nullptr;
      next = TextOf(page, "next_page_token");
      SetText(page, "next_page_token", "");
      SetText(request, "page_token", next);
      if (std::exchange(is_first, false)) {
        all.Swap(&page);
      } else {
        AppendList(page, max_elements_, all);
      }
    } while (!next.empty() && SizeOf(all) < max_elements_);
    NoteTruncation(path, all);
    json_ += fmt::format("{}\"/api/v1/{}\":", json_.empty() ? "" : ",\n", path);
    AppendJson(all, false, json_);
    return &all;
  }

  std::string Take() { return "{" + WithoutMarkup(json_) + "}"; }
  std::vector<std::string> TakeNotes() { return std::move(notes_); }

 private:
  void NoteTruncation(const std::string& path, const Message& all) {
    const FieldDescriptor* const total = all.GetDescriptor()->FindFieldByName("total_size");
    if (total == nullptr) return;  // not a list
    const int total_size = all.GetReflection()->GetInt32(all, total);
    if (SizeOf(all) >= total_size) return;
    notes_.push_back(fmt::format("/api/v1/{}: the page contains the first {} of {} elements", path,
                                 WithThousands(static_cast<uint64_t>(SizeOf(all))),
                                 WithThousands(static_cast<uint64_t>(total_size))));
  }

  Service& service_;
  const int32_t max_elements_;
  std::vector<std::string> notes_;
  Arena arena_;
  std::string json_;
};

void AddAll(Stored& stored) {
  stored.Add("topology", &Service::GetTopology);
  stored.Add("links", &Service::ListLinkLoads);
  stored.Add("findings", &Service::ListFindings);
  stored.Add("anomalies", &Service::ListAnomalies);
  v1::ListServiceLevelsRequest levels;
  levels.set_filter(std::string(kViolated));
  stored.Add("service-levels", &Service::ListServiceLevels, levels);
  stored.Add("hotspots", &Service::ListHotspots);
  const auto* const jobs = stored.Add("jobs", &Service::ListJobs);
  if (jobs == nullptr) return;
  for (const v1::JobSummary& job : jobs->jobs()) {
    const std::string id = Encoded(job.job_id());
    v1::GetJobRequest get;
    get.set_job_id(job.job_id());
    stored.Add("jobs/" + id, &Service::GetJob, get);
    levels.set_job_id(job.job_id());
    stored.Add("service-levels?job_id=" + id, &Service::ListServiceLevels, levels);
    v1::ListHotspotsRequest hotspots;
    hotspots.set_job_id(job.job_id());
    stored.Add("hotspots?job_id=" + id, &Service::ListHotspots, hotspots);
    v1::FindPathsRequest paths;
    paths.set_job_id(job.job_id());
    stored.Add("paths?job_id=" + id, &Service::FindPaths, paths);
  }
}

}  // namespace

StoredData StoreData(Service& service, int32_t max_elements) {
  Stored stored(service, max_elements);
  AddAll(stored);
  return {.json = stored.Take(), .notes = stored.TakeNotes()};
}

Result<std::string> StoredPage(const StoredData& data, const std::string& title) {
  const std::string_view script = PageFileOf("/app.js");
  const std::string_view style = PageFileOf("/app.css");
  if (script.empty()) {
    return MakeError(ErrorCode::kUnimplemented,
                     "HTML output is not available: this rocescope was built without the "
                     "dashboard. Build it with npm and Node.js 18.13 or later, or use -o json");
  }
  std::string page = fmt::format(
      "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<meta name=\"color-scheme\" content=\"light dark\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
      "style-src 'unsafe-inline'; script-src 'unsafe-inline'\">\n<title>{}</title>\n<style>",
      EscapedHtml(title));
  page += style;
  page +=
      "</style>\n</head>\n<body>\n<div id=\"app\"></div>\n"
      "<noscript>This page needs JavaScript.</noscript>\n"
      "<script type=\"application/json\" id=\"rocescope-data\">";
  page += data.json;
  page += "</script>\n<script type=\"module\">";
  page += script;
  page += "</script>\n</body>\n</html>\n";
  return page;
}

}  // namespace rocescope
