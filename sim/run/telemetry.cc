// SPDX-License-Identifier: BSD-3-Clause
#include "sim/run/telemetry.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>

#include "sim/emit/clocks.h"
#include "sim/recording/recording_identity.h"

namespace rocescope::sim {
namespace {

// Minimum number of readings by an sFlow agent: 20 s scaled by time_scale would still exceed most
// runs, and a single reading gives no difference.
constexpr SimTime kMinReadings = 2;

}  // namespace

Result<std::unique_ptr<Telemetry>> Telemetry::Make(const Scenario& scenario, Network& network,
                                                   const Simulation::Output& output) {
  std::unique_ptr<Telemetry> telemetry(new Telemetry(scenario, network, output));
  if (output.stream || !output.directory.empty()) {
    if (Status opened = telemetry->OpenFrames(); !opened) return tl::unexpected(opened.error());
  }
  if (!output.directory.empty() || !output.counters.empty()) {
    if (Status opened = telemetry->OpenCounters(); !opened) return tl::unexpected(opened.error());
  }
  if (!output.directory.empty()) {
    if (Status opened = telemetry->OpenRecording(); !opened) return tl::unexpected(opened.error());
  }
  if (telemetry->observers_.empty()) return telemetry;
  for (topology::NodeIndex node = 0; node < network.fabric().nodes().size(); ++node) {
    if (network.fabric().node(node).IsSwitch()) {
      network.switch_at(node).SetObserver(&telemetry->observers_);
    }
  }
  return telemetry;
}

void Telemetry::Begin(Capture& capture, std::unique_ptr<PcapFile> file) {
  capture.file = std::move(file);
  capture.port = std::make_unique<CollectorPort>(
      CollectorPortOptions{.clock = {scenario_.epoch, scenario_.dilation},
                           .bits_per_second = scenario_.telemetry.collector_rate},
      *capture.file);
}

Result<CollectorPort*> Telemetry::PortOf(Capture& capture, const char* name) {
  if (output_.stream) return stream_.port.get();
  auto file = PcapFile::Open(fmt::format("{}/{}", output_.directory, name));
  if (!file) return tl::unexpected(file.error());
  Begin(capture, *std::move(file));
  return capture.port.get();
}

Status Telemetry::OpenFrames() {
  const TelemetryOptions& on = scenario_.telemetry;
  const std::vector<Duration> clock_errors =
      ClockErrors(network_.fabric(), on.clock_error, scenario_.seed);
  if (output_.stream) Begin(stream_, PcapFile::ToStandardOutput());
  if (!network_.fabric().taps().empty()) {
    const auto port = PortOf(mirror_capture_, "mirror.pcap");
    if (!port) return tl::unexpected(port.error());
    auto mirror = Mirror::Make(network_, packets_, **port,
                               {.snap_length = on.snap_length, .clock_errors = clock_errors});
    if (!mirror) return tl::unexpected(mirror.error());
    mirror_ = *std::move(mirror);
    observers_.Add(*mirror_);
  }
  if (on.int_exponent) {
    const auto port = PortOf(int_capture_, "int.pcap");
    if (!port) return tl::unexpected(port.error());
    postcards_ = std::make_unique<IntPostcards>(
        network_, packets_, **port,
        IntOptions{.shift = *on.int_exponent, .clock_errors = clock_errors});
    observers_.Add(*postcards_);
  }
  if (on.sflow_rate > 0) {
    const auto port = PortOf(sflow_capture_, "sflow.pcap");
    if (!port) return tl::unexpected(port.error());
    // Polling periods are configured as in production and scaled like the timers.
    const auto scaled = [&](SimTime time) {
      return static_cast<SimTime>(static_cast<double>(time) * scenario_.time_scale);
    };
    const SflowOptions real;
    sflow_ = std::make_unique<SflowAgents>(
        network_, packets_, **port,
        SflowOptions{.rate = on.sflow_rate,
                     .counter_period =
                         std::min(scaled(on.sflow_counters), scenario_.duration / kMinReadings),
                     .longest_wait = scaled(real.longest_wait),
                     .seed = scenario_.seed});
    observers_.Add(*sflow_);
  }
  return {};
}

Status Telemetry::OpenCounters() {
  const TelemetryOptions& on = scenario_.telemetry;
  if (on.counter_period <= 0) return {};
  auto file = CounterLinesFile::Open(
      output_.counters.empty() ? output_.directory + "/counters.jsonl" : output_.counters);
  if (!file) return tl::unexpected(file.error());
  counter_file_ = *std::move(file);
  counters_ =
      std::make_unique<CounterLog>(network_,
                                   CounterLogOptions{.clock = {scenario_.epoch, scenario_.dilation},
                                                     .period = on.counter_period},
                                   *counter_file_, watermarks_);
  return {};
}

// Where both logs are due at the same time, the recording reads right after the counters, so that
// both have the same values.
Status Telemetry::OpenRecording() {
  const TelemetryOptions& on = scenario_.telemetry;
  if (on.recording_steps == 0) return {};
  const Status fits = CheckRecordingSteps(scenario_.analysis_window, on.recording_steps);
  if (!fits) return fits;
  const std::filesystem::path path = std::filesystem::path(output_.directory) / kRecordingFile;
  std::error_code error;
  std::filesystem::create_directories(path.parent_path(), error);
  if (error) {
    return MakeError(
        ErrorCode::kUnavailable,
        fmt::format("{}: cannot be created: {}", path.parent_path().string(), error.message()));
  }
  auto file = CounterColumnsWriter::Open(path.string());
  if (!file) return tl::unexpected(file.error());
  recording_file_ = *std::move(file);
  const SimTime step = scenario_.analysis_window.count() * kNanosecond / on.recording_steps;
  recording_ =
      std::make_unique<CounterLog>(network_,
                                   CounterLogOptions{.clock = {scenario_.epoch, scenario_.dilation},
                                                     .period = step,
                                                     .read_by_owner = on.counter_period},
                                   *recording_file_, watermarks_);
  return {};
}

void Telemetry::Start() {
  if (sflow_) sflow_->Start();
  if (counters_ && recording_) {
    counters_->AlsoRead([this] {
      if (network_.engine().Now() % recording_->options().period == 0) recording_->Read();
    });
  }
  if (counters_) counters_->Start();
  if (recording_) recording_->Start();
}

Status Telemetry::Finish() {
  if (sflow_) sflow_->Finish();
  for (Capture* capture : {&stream_, &mirror_capture_, &int_capture_, &sflow_capture_}) {
    if (!capture->file) continue;
    if (Status closed = capture->file->Close(); !closed) return closed;
  }
  if (counter_file_) {
    if (Status closed = counter_file_->Close(); !closed) return closed;
  }
  if (!recording_) return {};
  // The end of the run is the last step.
  if (recording_->last_read() != network_.engine().Now()) recording_->Read();
  return recording_file_->Close();
}

}  // namespace rocescope::sim
