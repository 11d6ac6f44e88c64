// SPDX-License-Identifier: BSD-3-Clause
// INT report datagrams, up to records. Each valid report is written again.
#include <algorithm>
#include <vector>

#include "dataplane/wire/int_report.h"
#include "tests/fuzz/telemetry_fuzz.h"

namespace rocescope {
namespace {

// A written report must parse to the same report, except for lengths that exceed the minimum.
void RequireTheSameAgain(const wire::IntReport& report) {
  std::vector<uint8_t> room(2048);
  wire::ByteWriter out(room);
  if (!WriteIntReport(out, report)) return;
  Require(out.ok(), "a report fits into 255 words");
  wire::ByteReader in(std::span<const uint8_t>(room).first(out.offset()));
  wire::IntReport again;
  Require(ReadIntReport(in, again) == wire::IntReportFault::kNone, "the written report is valid");
  Require(in.remaining() == 0, "the written report is read completely");
  Require(again.metadata.present == report.metadata.present,
          "the same metadata fields are present");
  Require(again.metadata.ingress_timestamp == report.metadata.ingress_timestamp &&
              again.metadata.queue_occupancy == report.metadata.queue_occupancy &&
              again.metadata.egress_port == report.metadata.egress_port,
          "the metadata is equal");
  Require(again.domain_metadata.size() == report.domain_metadata.size(),
          "the domain metadata is equal");
  Require(std::ranges::equal(again.inner, report.inner), "the inner packet is equal");
}

}  // namespace
}  // namespace rocescope

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace rocescope;
  ReadTelemetry(FrameKind::kIntReport, {data, size});
  if (size < 1 + wire::IntReportGroupHeader::kSize) return 0;
  wire::ByteReader in(
      {data + 1 + wire::IntReportGroupHeader::kSize, size - 1 - wire::IntReportGroupHeader::kSize});
  while (in.remaining() > 0) {
    wire::IntReport report;
    if (ReadIntReport(in, report) == wire::IntReportFault::kNone) RequireTheSameAgain(report);
  }
  return 0;
}
