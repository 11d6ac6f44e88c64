// SPDX-License-Identifier: BSD-3-Clause
#include "sim/run/telemetry.h"

#include <utility>

namespace rocescope::sim {

Result<std::unique_ptr<Telemetry>> Telemetry::Make(const Scenario& scenario, Network& network,
                                                   const std::string& directory) {
  std::unique_ptr<Telemetry> telemetry(new Telemetry(network));
  if (!network.fabric().taps().empty()) {
    const Status opened = telemetry->OpenMirror(scenario, network, directory);
    if (!opened) return tl::unexpected(opened.error());
  }
  if (!telemetry->observers_.empty()) {
    for (topology::NodeIndex node = 0; node < network.fabric().nodes().size(); ++node) {
      if (network.fabric().node(node).IsSwitch()) {
        network.switch_at(node).SetObserver(&telemetry->observers_);
      }
    }
  }
  return telemetry;
}

Status Telemetry::OpenMirror(const Scenario& scenario, Network& network,
                             const std::string& directory) {
  auto file = PcapFile::Open(directory + "/mirror.pcap");
  if (!file) return tl::unexpected(file.error());
  mirror_file_ = *std::move(file);
  mirror_port_ = std::make_unique<CollectorPort>(
      CollectorPortOptions{.epoch = scenario.epoch,
                           .bits_per_second = scenario.telemetry.collector_rate},
      *mirror_file_);
  auto mirror = Mirror::Make(network, packets_, *mirror_port_,
                             {.snap_length = scenario.telemetry.snap_length});
  if (!mirror) return tl::unexpected(mirror.error());
  mirror_ = *std::move(mirror);
  observers_.Add(*mirror_);
  return {};
}

Status Telemetry::Finish() {
  if (mirror_file_) return mirror_file_->Close();
  return {};
}

}  // namespace rocescope::sim
