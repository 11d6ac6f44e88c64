// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/daemon/history/rows.h"

#include "appliance/api/message_value.h"
#include "rocescope/v1/report.pb.h"
#include "rocescope/v1/service.pb.h"

namespace rocescope {
namespace {

size_t TextOf(const PastEvent& event) {
  size_t bytes = event.kind.size() + event.place.size() + event.message.size();
  for (const std::string& job : event.jobs) bytes += sizeof(job) + job.size();
  return bytes;
}
size_t TextOf(const LinkMinute& link) { return link.port.size(); }
size_t TextOf(const JobMinute& job) { return job.job.size() + job.name.size(); }
size_t TextOf(const PastAnswer& answer) { return answer.name.size() + answer.message.size(); }

}  // namespace

PastEvent ToPastEvent(const v1::Event& event) {
  v1::Event stored = event;
  stored.clear_cursor();
  return {.at_ns = Nanoseconds(event.event_time()),
          .kind = WordOf(event.kind()),
          .place = event.finding().place(),
          .jobs = {event.finding().affected_job_ids().begin(),
                   event.finding().affected_job_ids().end()},
          .message = stored.SerializeAsString()};
}

size_t BytesOf(const HistoryRow& row) {
  return sizeof(row) + std::visit([](const auto& of_kind) { return TextOf(of_kind); }, row);
}

}  // namespace rocescope
