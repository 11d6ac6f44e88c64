// SPDX-License-Identifier: BSD-3-Clause
#include <fmt/format.h>

#include <algorithm>

#include "appliance/api/message_value.h"
#include "appliance/common/report/table.h"
#include "appliance/common/report/text_section.h"
#include "appliance/common/report/utc_text.h"
#include "rocescope/v1/report.pb.h"

namespace rocescope {
namespace {

// Returns "2024-05-01 12:00:00.000 to 12:00:04.000 UTC".
std::string RangeText(const v1::TimeRange& range, TimeDigits digits) {
  return fmt::format("{} to {} UTC", UtcDayAndTime(Nanoseconds(range.start_time()), digits),
                     IsSameUtcDay(Nanoseconds(range.start_time()), Nanoseconds(range.end_time()))
                         ? UtcTime(Nanoseconds(range.end_time()), digits)
                         : UtcDayAndTime(Nanoseconds(range.end_time()), digits));
}

// Returns "124 packets, captured as 248 copies in 3 captures".
std::string PacketsText(const v1::ReplayReport& report) {
  const v1::Totals& totals = report.totals();
  const uint64_t pauses = totals.pause_frames();
  const uint64_t others = pauses + totals.int_frames() + totals.sflow_frames();
  const uint64_t copies = report.ledger().decoded() - std::min(report.ledger().decoded(), others);
  std::string text = Counted(totals.packets(), "packet");
  if (copies != totals.packets()) {
    const auto places =
        static_cast<uint64_t>(std::count_if(report.taps().begin(), report.taps().end(),
                                            [](const v1::Tap& tap) { return tap.frames() > 0; }));
    // A mirror's header divides a capture into one tap for each mirror source.
    text += fmt::format(", captured as {} {}", Counted(copies, "copy"),
                        report.coverage().mirrors_size() > 0 ? "at " + Counted(places, "tap")
                                                             : "in " + Counted(places, "capture"));
  }
  if (pauses > 0) text += fmt::format(", and {}", Counted(pauses, "PAUSE or PFC frame"));
  if (totals.int_frames() > 0) {
    text += fmt::format(", and {} with INT reports", Counted(totals.int_frames(), "frame"));
  }
  if (totals.sflow_frames() > 0) {
    text += fmt::format(", and {} with sFlow", Counted(totals.sflow_frames(), "frame"));
  }
  return text;
}

}  // namespace

void AppendSummary(const v1::ReplayReport& report, std::string& text) {
  const v1::Ledger& ledger = report.ledger();
  const TimeDigits digits = DigitsOf(report);
  const bool counters_alone =
      ledger.received() == 0 && report.diagnosis_coverage().window_count() > 0;
  if (ledger.decoded() > 0) {
    const v1::TimeRange& captured = report.captured();
    text += fmt::format(
        "{}, from {} ({})\n\n", PacketsText(report), RangeText(captured, digits),
        HumanDuration(Nanoseconds(captured.end_time()) - Nanoseconds(captured.start_time())));
  } else if (ledger.filtered() > 0) {
    text += fmt::format("No frame passed the filters; the capture spans {}.\n\n",
                        RangeText(report.extent(), digits));
  } else if (ledger.received() > 0) {
    text += fmt::format(
        "None of the {} in this capture is RoCEv2; `--section ledger` lists why they were "
        "dropped.\n\n",
        Counted(ledger.received(), "frame"));
  } else if (counters_alone) {
    text += "No packets; the results are based on counters only.\n\n";
  } else {
    text += "No RoCE in this capture: it contains no frames.\n\n";
  }
  if (report.has_reference_time() && report.has_diagnosis_coverage()) {
    const bool is_frame =
        report.extent().has_start_time() &&
        Nanoseconds(report.extent().start_time()) == Nanoseconds(report.reference_time());
    text += fmt::format("Times with + or - are relative to {}, at {} UTC.\n\n",
                        is_frame ? "the first frame" : "the first counter reading",
                        UtcDayAndTime(Nanoseconds(report.reference_time()), digits));
  }
}

}  // namespace rocescope
