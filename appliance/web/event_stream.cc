// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/web/event_stream.h"

#include <fmt/format.h>

#include <string>

#include "appliance/report/message_json.h"
#include "rocescope/v1/service.pb.h"

namespace rocescope {
namespace {

constexpr size_t kMostAtATime = 64;

void Append(const v1::Event& event, std::string& text) {
  if (event.cursor() != 0) text += fmt::format("id: {}\n", event.cursor());
  text += fmt::format("event: {}\ndata: ", event.kind());
  AppendJson(event, false, text);  // in one line
  text += "\n\n";
}

// What one reader has got so far.
class Reader {
 public:
  Reader(Service& service, uint64_t cursor) : service_(service), cursor_(cursor) {}

  std::string Next() {
    std::string text;
    for (const auto& event : service_.events().After(cursor_, kMostAtATime)) {
      Append(*event, text);
      cursor_ = event->cursor();
    }
    if (const auto answer = service_.views().Latest();
        answer && answer->answer().version != version_) {
      version_ = answer->answer().version;
      v1::Event event;
      event.set_kind("answer");
      event.set_at_ns(ToNanoseconds(answer->answer().reached));
      answer->FillAge(*event.mutable_age());
      Append(event, text);
    }
    return text;
  }

 private:
  Service& service_;
  uint64_t cursor_;
  uint64_t version_ = 0;
};

}  // namespace

HttpResponse StreamEvents(Service& service, uint64_t cursor) {
  return {.content_type = "text/event-stream",
          .body = "retry: 2000\n\n",
          .headers = {{"Cache-Control", "no-store"}},
          .stream = [reader = Reader(service, cursor)]() mutable { return reader.Next(); }};
}

}  // namespace rocescope
