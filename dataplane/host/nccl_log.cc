// SPDX-License-Identifier: BSD-3-Clause
#include "dataplane/host/nccl_log.h"

#include <fmt/format.h>

#include <array>
#include <map>
#include <utility>

#include "base/utf8.h"
#include "dataplane/host/nccl_line.h"
#include "dataplane/host/nccl_message.h"
#include "dataplane/host/plain_text.h"

namespace rocescope {
namespace {

MessageOutcome ReadMessage(const NcclLine& frame, size_t line, NcclProcessReader& reader) {
  // Errors are second to last, because a queue pair line never contains their words.
  constexpr std::array kFamilies = {ReadQueuePairMessage, ReadChannelMessage, ReadDeviceMessage,
                                    ReadErrorMessage, ReadCommunicatorMessage};
  for (const auto& read : kFamilies) {
    MessageOutcome outcome = read(frame, line, reader);
    if (outcome.kind != MessageOutcome::kOther) return outcome;
  }
  return {};
}

// A message that ends with the text, or runs into the next message, may be truncated, and a
// truncated number is still a number. Messages with these endings cannot be truncated.
bool ShowsItsEnd(std::string_view message) {
  return message.ends_with("COMPLETE") || message.ends_with("START") || message.ends_with('}');
}

// Orders by number, then host, for strings and string views.
struct ProcessLess {
  using is_transparent = void;
  template <typename A, typename B>
  bool operator()(const A& a, const B& b) const {
    if (a.second != b.second) return a.second < b.second;
    return std::string_view(a.first) < std::string_view(b.first);
  }
};

class Parser {
 public:
  explicit Parser(std::string_view source_name) { log_.source_name = source_name; }

  void ReadLine(std::string_view line, bool has_line_end) {
    ++log_.lines;
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (line.size() > kLongestNcclLine) {
      line = line.substr(0, kLongestNcclLine);
      has_line_end = false;
      ++log_.over_long;
    }
    std::string valid;
    if (!IsUtf8(line)) line = valid = ReplaceInvalidUtf8(line);
    auto frame = FindNcclLine(line, 0);
    if (!frame) return ReadUnframed(line, has_line_end);
    while (frame) {
      const auto next = FindNcclLine(line, frame->message_begin);
      if (next) {
        frame->message = line.substr(frame->message_begin, next->begin - frame->message_begin);
      }
      ReadFramed(*frame, has_line_end && !next);
      frame = next;
    }
  }

  // The result for the text read so far.
  NcclLog Log() const {
    NcclLog log = log_;
    for (const NcclProcessReader& reader : readers_) {
      NcclProcess& process = log.processes.emplace_back(reader.facts);
      if (process.version.empty()) process.version = unframed_version_;
    }
    return log;
  }

  NcclLog Finish() && {
    for (NcclProcessReader& reader : readers_) {
      if (reader.facts.version.empty()) reader.facts.version = unframed_version_;
      log_.processes.push_back(std::move(reader.facts));
    }
    return std::move(log_);
  }

  size_t process_count() const { return readers_.size(); }

 private:
  void ReadFramed(const NcclLine& frame, bool is_whole) {
    ++log_.messages;
    NcclProcessReader* reader = FindReader(frame);
    if (reader == nullptr) {
      ++log_.processes_refused;
      return;
    }
    if (is_whole || ShowsItsEnd(frame.message)) {
      const MessageOutcome outcome = ReadMessage(frame, log_.lines, *reader);
      if (outcome.kind == MessageOutcome::kMalformed) Note(outcome.expected);
      return;
    }
    NcclProcessReader scratch;
    const MessageOutcome outcome = ReadMessage(frame, log_.lines, scratch);
    if (outcome.kind != MessageOutcome::kOther) Note("a line end: the line may be truncated");
  }

  // The first rank prints `NCCL version 2.20.5+cuda12.4` without a prefix.
  void ReadUnframed(std::string_view line, bool is_whole) {
    constexpr std::string_view kVersion = "NCCL version ";
    constexpr size_t kLongestLabel = 64;  // text added by a launcher
    const size_t at = line.substr(0, kLongestLabel + kVersion.size()).find(kVersion);
    if (at == std::string_view::npos || !unframed_version_.empty()) return;
    if (!is_whole) return Note("a line end: the line may be truncated");
    const std::string_view rest = line.substr(at + kVersion.size());
    if (rest.empty() || rest[0] < '0' || rest[0] > '9') return;
    unframed_version_ = Utf8Front(rest.substr(0, rest.find(' ')), 64);
  }

  NcclProcessReader* FindReader(const NcclLine& frame) {
    const auto key = std::make_pair(frame.host, frame.process_id);
    if (const auto found = index_.find(key); found != index_.end()) return &readers_[found->second];
    if (readers_.size() >= kMaxNcclProcesses) return nullptr;
    NcclProcessReader& reader = readers_.emplace_back();
    reader.facts.host = frame.host;
    reader.facts.process_id = frame.process_id;
    index_.emplace(std::make_pair(std::string(frame.host), frame.process_id), readers_.size() - 1);
    return &reader;
  }

  void Note(std::string expected) {
    ++log_.malformed;
    if (log_.notes.size() < kMaxNcclLogNotes) {
      log_.notes.push_back({.line = log_.lines, .expected = std::move(expected)});
    }
  }

  NcclLog log_;
  std::vector<NcclProcessReader> readers_;
  std::map<std::pair<std::string, uint64_t>, size_t, ProcessLess> index_;
  std::string unframed_version_;
};

}  // namespace

struct NcclLogReader::Parts {
  explicit Parts(std::string_view source_name) : parser(source_name) {}
  Parser parser;
};

NcclLogReader::NcclLogReader(std::string_view source_name)
    : parts_(std::make_unique<Parts>(source_name)) {}
NcclLogReader::NcclLogReader(NcclLogReader&&) noexcept = default;
NcclLogReader& NcclLogReader::operator=(NcclLogReader&&) noexcept = default;
NcclLogReader::~NcclLogReader() = default;

void NcclLogReader::Read(std::string_view text) {
  std::string plain;
  if (HasControlSequences(text)) text = plain = PlainText(text);
  while (!text.empty()) {
    const size_t end = text.find('\n');
    parts_->parser.ReadLine(text.substr(0, end), end != std::string_view::npos);
    if (end == std::string_view::npos) break;
    text.remove_prefix(end + 1);
  }
}

NcclLog NcclLogReader::Log() const { return parts_->parser.Log(); }

size_t NcclLogReader::process_count() const { return parts_->parser.process_count(); }

NcclLog ParseNcclLog(std::string_view text, std::string_view source_name) {
  NcclLogReader reader(source_name);
  reader.Read(text);
  return std::move(reader.parts_->parser).Finish();
}

std::string FormatPciAddress(uint64_t bus_id) {
  return fmt::format("{:04x}:{:02x}:{:02x}.{:x}", bus_id >> 20, (bus_id >> 12) & 0xff,
                     (bus_id >> 4) & 0xff, bus_id & 0xf);
}

}  // namespace rocescope
