// SPDX-License-Identifier: BSD-3-Clause
#include "sim/run/telemetry.h"

#include <utility>

namespace rocescope::sim {

Result<std::unique_ptr<Telemetry>> Telemetry::Make(const Scenario& scenario, Network& network,
                                                   const std::string& directory) {
  std::unique_ptr<Telemetry> telemetry(new Telemetry(scenario, network));
  if (Status opened = telemetry->OpenAll(directory); !opened) {
    return tl::unexpected(opened.error());
  }
  if (telemetry->observers_.empty()) return telemetry;
  for (topology::NodeIndex node = 0; node < network.fabric().nodes().size(); ++node) {
    if (network.fabric().node(node).IsSwitch()) {
      network.switch_at(node).SetObserver(&telemetry->observers_);
    }
  }
  return telemetry;
}

Status Telemetry::Open(Capture& capture, const std::string& path) {
  auto file = PcapFile::Open(path);
  if (!file) return tl::unexpected(file.error());
  capture.file = *std::move(file);
  capture.port = std::make_unique<CollectorPort>(
      CollectorPortOptions{.epoch = scenario_.epoch,
                           .bits_per_second = scenario_.telemetry.collector_rate},
      *capture.file);
  return {};
}

Status Telemetry::OpenAll(const std::string& directory) {
  const TelemetryOptions& on = scenario_.telemetry;
  if (!network_.fabric().taps().empty()) {
    if (Status opened = Open(mirror_capture_, directory + "/mirror.pcap"); !opened) return opened;
    auto mirror =
        Mirror::Make(network_, packets_, *mirror_capture_.port, {.snap_length = on.snap_length});
    if (!mirror) return tl::unexpected(mirror.error());
    mirror_ = *std::move(mirror);
    observers_.Add(*mirror_);
  }
  if (on.int_exponent) {
    if (Status opened = Open(int_capture_, directory + "/int.pcap"); !opened) return opened;
    postcards_ = std::make_unique<IntPostcards>(network_, packets_, *int_capture_.port,
                                                IntOptions{.shift = *on.int_exponent});
    observers_.Add(*postcards_);
  }
  if (on.sflow_rate > 0) {
    if (Status opened = Open(sflow_capture_, directory + "/sflow.pcap"); !opened) return opened;
    // Polling periods are given as in life, and shrink with the run's timers.
    const auto scaled = [&](SimTime time) {
      return static_cast<SimTime>(static_cast<double>(time) * scenario_.time_scale);
    };
    const SflowOptions life;
    sflow_ =
        std::make_unique<SflowAgents>(network_, packets_, *sflow_capture_.port,
                                      SflowOptions{.rate = on.sflow_rate,
                                                   .counter_period = scaled(life.counter_period),
                                                   .longest_wait = scaled(life.longest_wait),
                                                   .seed = scenario_.seed});
    observers_.Add(*sflow_);
  }
  if (on.counter_period > 0) {
    auto file = TextFile::Open(directory + "/counters.jsonl");
    if (!file) return tl::unexpected(file.error());
    counter_file_ = std::make_unique<TextFile>(*std::move(file));
    counters_ = std::make_unique<CounterLog>(
        network_, CounterLogOptions{.epoch = scenario_.epoch, .period = on.counter_period},
        *counter_file_);
  }
  return {};
}

void Telemetry::Start() {
  if (sflow_) sflow_->Start();
  if (counters_) counters_->Start();
}

Status Telemetry::Finish() {
  if (sflow_) sflow_->Finish();
  for (Capture* capture : {&mirror_capture_, &int_capture_, &sflow_capture_}) {
    if (!capture->file) continue;
    if (Status closed = capture->file->Close(); !closed) return closed;
  }
  return counter_file_ ? counter_file_->Close() : Status();
}

}  // namespace rocescope::sim
