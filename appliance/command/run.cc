// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/command/run.h"

#include <fmt/format.h>
#include <google/protobuf/arena.h>

#include <algorithm>
#include <memory>

#include "appliance/box/box.h"
#include "appliance/command/exit_code.h"
#include "appliance/command/message.h"
#include "appliance/command/output.h"
#include "appliance/command/stop_signal.h"
#include "appliance/config/config.h"
#include "appliance/report/finding_sentence.h"
#include "appliance/report/finding_watch.h"
#include "appliance/report/job_report.h"
#include "appliance/report/message_json.h"
#include "appliance/report/table.h"
#include "appliance/report/utc_text.h"
#include "appliance/report/visible_text.h"
#include "base/count_text.h"
#include "rocescope/v1/report.pb.h"

namespace rocescope {
namespace {

std::string_view WordOf(FindingChange change) {
  switch (change) {
    case FindingChange::kBegun:
      return "FAULT";
    case FindingChange::kOver:
      return "OVER";
    case FindingChange::kTakenBack:
      break;
  }
  return "TAKEN BACK";
}

// The faults of each answer against those of the one before.
class Teller {
 public:
  explicit Teller(ReportFormat format) : format_(format) {}

  OutputState Tell(const Answer& answer) {
    google::protobuf::Arena arena;
    auto& report = *google::protobuf::Arena::CreateMessage<v1::ReplayReport>(&arena);
    FillFindings(*answer.snapshot, report);
    std::string lines;
    watch_.Look(report,
                [&](FindingChange change, const v1::Finding* finding, std::string_view sentence) {
                  const int64_t at = ToNanoseconds(answer.reached);
                  format_ == ReportFormat::kJson ? AddJson(at, change, finding, sentence, lines)
                                                 : AddText(at, change, finding, sentence, lines);
                });
    return lines.empty() ? OutputState::kOpen : WriteToStdout(lines);
  }

 private:
  static void AddText(int64_t at, FindingChange change, const v1::Finding* finding,
                      std::string_view sentence, std::string& lines) {
    lines += fmt::format("{} {} {}", UtcDayAndTime(at), WordOf(change), Visible(sentence));
    if (change == FindingChange::kBegun) {
      lines += fmt::format("; {} sure. {}", SureText(finding->confidence()), finding->remedy());
    }
    lines += ".\n";
  }

  static void AddJson(int64_t at, FindingChange change, const v1::Finding* finding,
                      std::string_view sentence, std::string& lines) {
    v1::Finding taken_back;
    if (finding == nullptr) taken_back.set_sentence(std::string(sentence));
    lines += fmt::format("{{\"at_ns\":\"{}\",\"change\":\"{}\",\"finding\":", at, NameOf(change));
    AppendJson(finding == nullptr ? taken_back : *finding, false, lines);
    lines += "}\n";
  }

  ReportFormat format_;
  FindingWatch watch_;
};

void TellBegin(const Box& box) {
  for (const SourceState& source : box.Sources()) {
    if (source.kind == SourceKind::kInterface) {
      Message(fmt::format("receiving from interface {}", source.name));
      continue;
    }
    const size_t int_sockets = box.config().udp.int_reports.size();
    for (size_t i = 0; i < source.listens.size(); ++i) {
      Message(fmt::format("listening for {} on UDP {}", i < int_sockets ? "INT reports" : "sFlow",
                          ToString(source.listens[i])));
    }
  }
  if (box.config().topology.empty()) {
    Message("the configuration names no topology: faults and paths are not looked for");
  }
}

// True if all sources lasted to the end.
bool TellEnd(const Box& box) {
  bool well = true;
  for (const SourceState& source : box.Sources()) {
    const Ledger& ledger = source.statistics.frames.ledger;
    Message(
        fmt::format("{}: received {} = decoded {} + filtered {} + dropped {}; {} missed before "
                    "that, {} given up",
                    source.name, WithThousands(ledger.received), WithThousands(ledger.decoded),
                    WithThousands(ledger.filtered), WithThousands(ledger.DroppedTotal()),
                    WithThousands(source.statistics.missed),
                    Counted(source.statistics.records_dropped, "record")));
    well = well && source.error.empty();
  }
  return well;
}

}  // namespace

int RunBox(const BoxRunOptions& options) {
  const Result<ApplianceConfig> config = LoadConfig(options.config);
  if (!config) {
    MessageLines(config.error().message);
    return kExitUnreadable;
  }
  const auto box = Box::Open(*config, [](const std::string& text) { Message(text); });
  if (!box) {
    MessageLines(box.error().message);
    return kExitUnreadable;
  }
  EndInputOnSignal();  // not before: nobody would look at it while files are read
  TellBegin(**box);
  (*box)->Start();
  Teller teller(options.format);
  uint64_t version = 0;
  OutputState output = OutputState::kOpen;
  const auto ended = [&] {
    return InputEndedBySignal() ||
           std::ranges::none_of((*box)->Sources(),
                                [](const SourceState& source) { return source.error.empty(); });
  };
  while (output == OutputState::kOpen && !ended()) {
    constexpr auto kLookForSignals = std::chrono::milliseconds(200);
    const auto answer = (*box)->answers().WaitForOther(version, kLookForSignals);
    if (!answer) continue;
    version = answer->version;
    output = teller.Tell(*answer);
  }
  (*box)->Stop();
  const auto last = (*box)->answers().Latest();
  if (output == OutputState::kOpen && last && last->version != version) {
    output = teller.Tell(*last);
  }
  const bool well = TellEnd(**box);
  if (output == OutputState::kFailed) return kExitOutput;
  return well ? kExitSuccess : kExitDamaged;
}

int RunConfigCheck(const std::string& path) {
  const Result<ApplianceConfig> config = LoadConfig(path);
  if (config) return kExitSuccess;
  MessageLines(config.error().message);
  return kExitUnreadable;
}

int RunConfigDump(const std::string& path) {
  ApplianceConfig config;
  if (!path.empty()) {
    Result<ApplianceConfig> loaded = LoadConfig(path);
    if (!loaded) {
      MessageLines(loaded.error().message);
      return kExitUnreadable;
    }
    config = *std::move(loaded);
  }
  return WriteToStdout(DumpConfig(config)) == OutputState::kFailed ? kExitOutput : kExitSuccess;
}

}  // namespace rocescope
