// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/daemon/web/event_stream.h"

#include <fmt/format.h>

#include <string>

#include "appliance/common/report/message_json.h"
#include "appliance/daemon/service/event_reader.h"
#include "rocescope/v1/service.pb.h"

namespace rocescope {
namespace {

void Append(const v1::Event& event, std::string& text) {
  if (event.cursor() != 0) text += fmt::format("id: {}\n", event.cursor());
  text += fmt::format("event: {}\ndata: ", v1::Event::Kind_Name(event.kind()));
  AppendJson(event, false, text);  // on one line
  text += "\n\n";
}

std::string NextPiece(EventReader& reader) {
  std::string text;
  for (const auto& event : reader.Next()) Append(*event, text);
  return text;
}

}  // namespace

HttpResponse StreamEvents(Service& service, const Caller& caller, uint64_t cursor) {
  return {.content_type = "text/event-stream",
          .body = "retry: 2000\n\n",
          .headers = {{"Cache-Control", "no-store"}},
          .stream = [reader = EventReader(service, caller, cursor)]() mutable {
            return NextPiece(reader);
          }};
}

}  // namespace rocescope
