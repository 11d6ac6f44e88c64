// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/daemon/web/stored_page.h"

#include <fmt/format.h>
#include <google/protobuf/arena.h>
#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>

#include <string_view>
#include <utility>

#include "appliance/common/report/message_json.h"
#include "appliance/daemon/service/service.h"
#include "appliance/daemon/web/page_files.h"
#include "rocescope/v1/report.pb.h"
#include "rocescope/v1/service.pb.h"

namespace rocescope {
namespace {

using google::protobuf::Arena;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

constexpr uint32_t kPage = 1000;
constexpr int kMaxPages = 20;

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

// Copies the elements of a page to `all`. The list is the first repeated message field of a
// response; all other fields are the same on every page.
void AppendList(Message& page, Message& all) {
  const auto& type = *page.GetDescriptor();
  for (int i = 0; i < type.field_count(); ++i) {
    const FieldDescriptor& field = *type.field(i);
    if (!field.is_repeated() || field.message_type() == nullptr) continue;
    const auto& reflection = *page.GetReflection();
    for (int k = 0; k < reflection.FieldSize(page, &field); ++k) {
      reflection.AddMessage(&all, &field)->CopyFrom(reflection.GetRepeatedMessage(page, &field, k));
    }
    return;
  }
}

// Builds a JSON object from API paths to responses.
class Stored {
 public:
  explicit Stored(Service& service) : service_(service) {}

  // Adds the response with all pages merged. If the call fails, the path is left out and the page
  // shows that the data is missing.
  template <typename Request, typename Response>
  const Response* Add(const std::string& path,
                      ServiceStatus (Service::*call)(const Request&, Response&),
                      Request request = {}) {
    Response& all = *Arena::CreateMessage<Response>(&arena_);
    if (const FieldDescriptor* size = request.GetDescriptor()->FindFieldByName("page_size")) {
      request.GetReflection()->SetUInt32(&request, size, kPage);
    }
    std::string next;
    int pages = 0;
    do {
      Response& page = *Arena::CreateMessage<Response>(&arena_);
      if (!(service_.*call)(request, page)) return nullptr;
      next = TextOf(page, "next_page_token");
      SetText(page, "next_page_token", "");
      SetText(request, "page_token", next);
      if (pages == 0) {
        all.Swap(&page);
      } else {
        AppendList(page, all);
      }
    } while (!next.empty() && ++pages < kMaxPages);
    json_ += fmt::format("{}\"/api/v1/{}\":", json_.empty() ? "" : ",\n", path);
    AppendJson(all, false, json_);
    return &all;
  }

  std::string Take() { return "{" + WithoutMarkup(json_) + "}"; }

 private:
  Service& service_;
  Arena arena_;
  std::string json_;
};

std::string AllThatIsKnown(Service& service) {
  Stored stored(service);
  stored.Add("topology", &Service::GetTopology);
  stored.Add("links", &Service::ListLinkLoads);
  stored.Add("findings", &Service::ListFindings);
  stored.Add("anomalies", &Service::ListAnomalies);
  stored.Add("service-levels", &Service::GetServiceLevels);
  stored.Add("hotspots", &Service::ListHotspots);
  const auto* const jobs = stored.Add("jobs", &Service::ListJobs);
  if (jobs == nullptr) return stored.Take();
  for (const v1::JobSummary& job : jobs->jobs()) {
    const std::string id = Encoded(job.id());
    v1::GetJobRequest get;
    get.set_id(job.id());
    stored.Add("jobs/" + id, &Service::GetJob, get);
    v1::ListHotspotsRequest hotspots;
    hotspots.set_job(job.id());
    stored.Add("hotspots?job=" + id, &Service::ListHotspots, hotspots);
    v1::FindPathsRequest paths;
    paths.set_job(job.id());
    stored.Add("paths?job=" + id, &Service::FindPaths, paths);
  }
  return stored.Take();
}

}  // namespace

Result<std::string> StoredPage(Service& service, const std::string& title) {
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
  page += AllThatIsKnown(service);
  page += "</script>\n<script type=\"module\">";
  page += script;
  page += "</script>\n</body>\n</html>\n";
  return page;
}

}  // namespace rocescope
