// SPDX-License-Identifier: BSD-3-Clause
// Each key of the configuration once: its name, where its value goes, its bounds, what it means.
// A visitor has Key(name, value, meaning) for all kinds of values.
#pragma once

#include <cstdint>
#include <string_view>

#include "appliance/config/config.h"

namespace rocescope {

// A number or a length of time that has bounds.
template <typename T>
struct Within {
  T& value;
  T least;
  T most;
};
template <typename T>
Within(T&, T, T) -> Within<T>;

// A number of octets, such as 64M.
struct Octets {
  uint64_t& value;
  uint64_t least;
  uint64_t most;
};

template <typename Visitor>
void VisitKeys(InterfaceConfig& config, Visitor& visitor) {
  visitor.Key("name", config.name, "of the interface, as `ip link` has it");
  visitor.Key("tap", config.tap, "what copies from it are called; empty: as the interface");
  visitor.Key("filter", config.filter, "as tcpdump takes it; empty: everything");
  visitor.Key("snap", Within<uint32_t>{config.snap, 64, 65'535}, "octets taken of a frame");
  visitor.Key("promiscuous", config.promiscuous, "also frames to other addresses: mirrors need it");
  visitor.Key("buffer", Octets{config.buffer, uint64_t{1} << 20, uint64_t{1} << 30},
              "octets in the kernel for frames that wait");
}

template <typename Visitor>
void VisitKeys(UdpConfig& config, Visitor& visitor) {
  visitor.Key("int", config.int_reports,
              "where INT telemetry reports 2.0 arrive, such as 127.0.0.1:32766");
  visitor.Key("sflow", config.sflow, "where sFlow v5 arrives, such as 127.0.0.1:6343");
  visitor.Key("buffer", Octets{config.buffer, uint64_t{1} << 16, uint64_t{1} << 30},
              "octets in the kernel for datagrams that wait, for each of them");
}

template <typename Visitor>
void VisitKeys(HostFilesConfig& config, Visitor& visitor) {
  visitor.Key("nccl_logs", config.nccl_logs, "files or folders of what NCCL_DEBUG=INFO printed");
  visitor.Key("rdma", config.rdma, "likewise of `rdma -j resource show qp`");
  visitor.Key("slurm", config.slurm, "likewise of `squeue --json`");
}

template <typename Visitor>
void VisitKeys(ApplianceConfig& config, Visitor& visitor) {
  visitor.Key("topology", config.topology,
              "the fabric (`rocescope topology`); without it no paths and no diagnosis");
  visitor.Key("record_interval",
              Within<Duration>{config.record_interval, std::chrono::milliseconds(1),
                               std::chrono::seconds(4)},
              "of flow records");
  visitor.Key(
      "analysis_window",
      Within<Duration>{config.analysis_window, std::chrono::milliseconds(1), std::chrono::hours(1)},
      "that congestion and faults are told by; answers are worked out anew at its end");
  visitor.Key("interfaces", config.interfaces, "interfaces that the kernel receives from");
  visitor.Key("udp", config.udp, "telemetry that is sent to this machine");
  visitor.Key("host_files", config.host_files, "what hosts leave in files, read at the beginning");
}

}  // namespace rocescope
