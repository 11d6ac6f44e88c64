// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/cli/command/counters.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <functional>
#include <memory>
#include <unordered_map>
#include <utility>

#include "appliance/cli/command/exit_code.h"
#include "appliance/cli/command/message.h"
#include "appliance/cli/command/stop_signal.h"
#include "dataplane/run/counter_columns.h"
#include "dataplane/run/counter_lines_writer.h"
#include "dataplane/source/byte_stream.h"
#include "dataplane/telemetry/counter_readings.h"

namespace rocescope {
namespace {

// Announces each entity with its metrics once.
class Numbers {
 public:
  explicit Numbers(CounterSink& sink) : sink_(sink) {}

  uint32_t Of(const CounterReading& reading) {
    const CounterEntity& entity = *reading.entity;
    key_.clear();
    key_ += static_cast<char>(entity.kind);
    key_ += static_cast<char>(entity.priority);
    for (int shift = 0; shift < 32; shift += 8) key_ += static_cast<char>(entity.index >> shift);
    // The lengths delimit the names, which may contain any character.
    key_ += static_cast<char>(entity.node.size());
    key_ += entity.node;
    key_ += static_cast<char>(entity.port.size());
    key_ += entity.port;
    for (const Metric metric : reading.metrics) key_ += static_cast<char>(metric);
    const auto [at, added] = numbers_.try_emplace(key_, 0);
    if (added) at->second = sink_.Announce(entity, reading.metrics);
    return at->second;
  }

 private:
  CounterSink& sink_;
  std::unordered_map<std::string, uint32_t> numbers_;
  std::string key_;
};

// Returns false if the input could not be read completely, after messages.
bool Copy(CounterReadings& input, const std::string& name, CounterSink& sink) {
  Numbers numbers(sink);
  bool complete = true;
  while (true) {
    const Result<const CounterReading*> next = input.Next();
    if (!next) {
      Message(next.error().message);
      complete = false;
    }
    if (!next || *next == nullptr) break;
    const CounterReading& reading = **next;
    sink.Append(numbers.Of(reading), reading.time, reading.arrival, reading.values);
  }
  for (const std::string& note : input.notes()) Message(note);
  if (input.refused() > input.notes().size()) {
    Message(
        fmt::format("{}: {} more lines are invalid", name, input.refused() - input.notes().size()));
  }
  return complete && input.refused() == 0;
}

int Finish(bool complete, const Status& closed) {
  if (!closed) {
    Message(closed.error().message);
    return kExitOutput;
  }
  if (InputEndedBySignal()) {
    Message("a signal ended the input; the output contains the readings before it");
    complete = false;
  }
  return complete ? kExitSuccess : kExitDamaged;
}

int ToLines(CounterReadings& input, const CountersConvertOptions& options) {
  auto writer = CounterLinesWriter::Open(options.output);
  if (!writer) {
    Message(writer.error().message);
    return kExitOutput;
  }
  const bool complete = Copy(input, options.input, **writer);
  const Status closed = (*writer)->Close();
  if ((*writer)->reader_gone()) return kExitSuccess;
  return Finish(complete, closed);
}

int ToColumns(CounterReadings& input, const CountersConvertOptions& options) {
  auto writer = CounterColumnsWriter::Open(options.output);
  if (!writer) {
    Message(writer.error().message);
    return kExitOutput;
  }
  const bool complete = Copy(input, options.input, **writer);
  return Finish(complete, (*writer)->Close());
}

// Returns whether input and output are the same file: writing would overwrite the input, or a FIFO
// would read its own output for ever. "-" stands for standard input or output.
bool IsSameFile(const std::string& input, const std::string& output) {
  const auto stat_of = [](const std::string& path, int stream, struct stat& found) {
    return (path == "-" ? fstat(stream, &found) : stat(path.c_str(), &found)) == 0;
  };
  struct stat in{};
  struct stat out{};
  if (!stat_of(input, STDIN_FILENO, in) || !stat_of(output, STDOUT_FILENO, out)) return false;
  // Not terminals, sockets and /dev/null: those may be both.
  return in.st_dev == out.st_dev && in.st_ino == out.st_ino &&
         (S_ISREG(in.st_mode) || S_ISFIFO(in.st_mode));
}

}  // namespace

int RunCountersConvert(const CountersConvertOptions& options) {
  if (IsSameFile(options.input, options.output)) {
    Message(fmt::format("{}: input and output are the same file; use another output",
                        options.output == "-" ? "standard output" : options.output));
    return kExitUsage;
  }
  auto stream = OpenFileStream(options.input);
  if (!stream) {
    Message(stream.error().message);
    return kExitUnreadable;
  }
  const std::string name = options.input == "-" ? "standard input" : options.input;
  auto readings = MakeCounterReadings(*std::move(stream), name);
  if (!readings) {
    Message(readings.error().message);
    return kExitUnreadable;
  }
  return options.to == CounterForm::kLines ? ToLines(**readings, options)
                                           : ToColumns(**readings, options);
}

}  // namespace rocescope
