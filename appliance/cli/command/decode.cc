// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/cli/command/decode.h"

#include <fmt/format.h>

#include <array>
#include <iterator>
#include <string>
#include <vector>

#include "appliance/cli/command/exit_code.h"
#include "appliance/cli/command/message.h"
#include "appliance/cli/command/output.h"
#include "appliance/cli/command/sandboxed_run.h"
#include "appliance/cli/command/stop_signal.h"
#include "appliance/common/report/frame_json.h"
#include "dataplane/decode/decode.h"
#include "dataplane/record/ledger.h"
#include "dataplane/source/merge.h"

namespace rocescope {
namespace {

constexpr size_t kWriteSize = size_t{64} << 10;  // bytes to collect before a write

// "received 5 = decoded 3 + filtered 1 + dropped 1 (not_roce 1)"
std::string LedgerLine(const Ledger& ledger) {
  std::string line =
      fmt::format("ledger: received {} = decoded {} + filtered {} + dropped {}", ledger.received,
                  ledger.decoded, ledger.filtered, ledger.DroppedTotal());
  const char* separator = " (";
  for (size_t i = 0; i < kDropReasonCount; ++i) {
    if (ledger.dropped[i] == 0) continue;
    fmt::format_to(std::back_inserter(line), "{}{} {}", separator, kDropReasons[i].name,
                   ledger.dropped[i]);
    separator = ", ";
  }
  if (ledger.DroppedTotal() > 0) line += ')';
  return line;
}

// Converts frames to lines and keeps the ledger.
class FramePrinter {
 public:
  explicit FramePrinter(const DecodeOptions& options)
      : options_(options),
        chooses_(!options.filter.hosts.empty() || !options.filter.qpns.empty()),
        numbers_(options.captures.names.size()) {}

  // The window of --since and --until; a relative one starts at the first frame.
  Status OpenWindow(Timestamp first_frame) {
    const auto window = options_.filter.WindowFrom(first_frame);
    if (!window) return tl::unexpected(window.error());
    window_ = *window;
    return {};
  }

  void Print(const RawFrame& raw) {
    ++ledger_.received;
    const uint64_t number = ++numbers_[raw.tap];
    if (!window_.Keeps(raw.timestamp)) {
      ++ledger_.filtered;
      return;
    }
    const DropReason drop = DecodeFrame(raw, frame_, options_.ports);
    if (drop != DropReason::kNone) {
      ++ledger_.dropped[static_cast<size_t>(drop)];
      if (chooses_) return;  // addresses are unknown, so the filter cannot decide
    } else if (chooses_ && !options_.filter.Keeps(frame_)) {
      ++ledger_.filtered;
      return;
    } else {
      ++ledger_.decoded;
    }
    const bool check = options_.check_icrc && drop == DropReason::kNone;
    AppendFrameJson(lines_, {.number = number,
                             .tap = options_.captures.names[raw.tap],
                             .raw = raw,
                             .drop = drop,
                             .decoded = frame_,
                             .icrc = check ? CheckIcrc(frame_) : IcrcResult::kUnknown,
                             .ports = options_.ports});
  }

  bool WorthWriting() const { return lines_.size() >= kWriteSize; }
  OutputState Write() {
    const OutputState state = WriteToStdout({lines_.data(), lines_.size()});
    lines_.clear();
    return state;
  }
  const Ledger& ledger() const { return ledger_; }

 private:
  const DecodeOptions& options_;
  const bool chooses_;             // by host or queue pair
  std::vector<uint64_t> numbers_;  // frames so far, for each tap
  TimeWindow window_;
  Ledger ledger_;
  DecodedFrame frame_{};
  fmt::memory_buffer lines_;
};

}  // namespace

int RunDecode(const DecodeOptions& options) {
  auto source = OpenCaptures(options.captures.files);
  if (!source) {
    Message(source.error().message);
    return kExitUnreadable;
  }
  SandboxReader();
  FramePrinter printer(options);
  std::array<RawFrame, kBatchFrames> batch;
  bool damaged = false;
  bool first = true;
  while (true) {
    const Result<size_t> count = (*source)->ReadBatch(batch);
    if (!count) {
      Message(count.error().message);
      damaged = true;
    }
    if (!count || *count == 0) break;
    if (first) {
      if (const Status window = printer.OpenWindow(batch[0].timestamp); !window) {
        Message(window.error().message);
        return kExitUsage;
      }
      first = false;
    }
    for (const RawFrame& raw : std::span(batch).first(*count)) printer.Print(raw);
    // After a short batch, a live pipe pauses: write what there is instead of waiting for 64 KiB.
    if (printer.WorthWriting() || *count < batch.size()) {
      const OutputState state = printer.Write();
      if (state == OutputState::kReaderGone) return kExitSuccess;
      if (state == OutputState::kFailed) return kExitOutput;
    }
  }
  const OutputState state = printer.Write();
  if (state == OutputState::kReaderGone) return kExitSuccess;
  if (state == OutputState::kFailed) return kExitOutput;

  const CaptureStatistics statistics = (*source)->Statistics();
  for (const std::string& note : statistics.notes) Message(note);
  Message(LedgerLine(printer.ledger()));
  if (InputEndedBySignal()) Message("a signal ended the input");
  const bool cut = statistics.HasDamage() && !LiveInputEndedBySignal(options.captures);
  return damaged || cut ? kExitDamaged : kExitSuccess;
}

}  // namespace rocescope
