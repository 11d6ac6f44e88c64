// SPDX-License-Identifier: BSD-3-Clause
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <iterator>
#include <type_traits>
#include <utility>

#include "base/text/name_range.h"
#include "sim/draw/outline.h"
#include "sim/draw/scale.h"

namespace rocescope::sim {
namespace {

class Writer {
 public:
  Writer(const Outline& outline, const topology::Fabric& fabric)
      : outline_(outline), scale_(ScaleOf(outline.model)), fabric_(fabric) {}

  std::string Write() {
    Add("# SPDX-License-Identifier: BSD-3-Clause\nname: {}\nabout: \"{}\"\nseed: {}\n",
        outline_.name, outline_.about, outline_.seed);
    Add("duration: {}\n{}", Text(outline_.duration), scale_.settings);
    WriteFabric();
    WriteNetwork();
    Add("jobs:\n");
    for (const Outline::Job& job : outline_.jobs) WriteJob(job);
    if (!outline_.streams.empty()) Add("streams:\n");
    for (const Outline::Stream& stream : outline_.streams) WriteStream(stream);
    if (!outline_.faults.empty()) Add("faults:\n");
    for (const FaultOptions& fault : outline_.faults) WriteFault(fault);
    WriteBenign();
    Add("telemetry: {{{}, nccl: \"{}\"{}}}\n", scale_.telemetry, outline_.nccl,
        outline_.nccl_queue_pairs ? "" : ", nccl_queue_pairs: false");
    return std::move(text_);
  }

 private:
  template <typename... Arguments>
  void Add(fmt::format_string<Arguments...> format, Arguments&&... arguments) {
    fmt::format_to(std::back_inserter(text_), format, std::forward<Arguments>(arguments)...);
  }
  static std::string Text(SimTime time) {
    if (time > 0 && time % kSecond == 0) return fmt::format("{}s", time / kSecond);
    return time % kMicrosecond == 0 ? fmt::format("{}us", time / kMicrosecond)
                                    : fmt::format("{}ns", time / kNanosecond);
  }

  void WriteNetwork() {
    std::vector<std::string> keys;
    if (outline_.alpha) keys.push_back(fmt::format("alpha: {}", *outline_.alpha));
    if (outline_.lossy_alpha) keys.push_back(fmt::format("lossy_alpha: {}", *outline_.lossy_alpha));
    if (outline_.spray) keys.emplace_back("spray: true");
    if (!keys.empty()) Add("network: {{{}}}\n", fmt::join(keys, ", "));
  }

  void WriteFabric() {
    const topology::Blueprint& plan = outline_.fabric;
    constexpr std::string_view kShapes[] = {"star", "leaf-spine", "fat-tree"};
    Add("fabric:\n  generate: {{shape: {}", kShapes[static_cast<size_t>(plan.shape)]);
    if (plan.shape == topology::Shape::kFatTree) {
      Add(", k: {}", plan.k);
    } else {
      Add(", hosts: {}, leaves: {}, spines: {}", plan.hosts, plan.leaves, plan.spines);
    }
    Add(", nics: {0}, gpus: {0}, rail_optimised: {1},\n", plan.nics_per_host, plan.rail_optimised);
    Add("             host_speed: {}G, fabric_speed: {}G, host_delay: {}ns, fabric_delay: {}ns}}\n",
        plan.host_bits_per_second / 1'000'000'000, plan.fabric_bits_per_second / 1'000'000'000,
        plan.host_delay.count(), plan.fabric_delay.count());
  }

  void WriteJob(const Outline::Job& job) {
    std::vector<std::string> hosts;
    hosts.reserve(job.hosts.size());
    for (const uint32_t host : job.hosts) hosts.push_back(fmt::format("host{}", host));
    Add("  - name: {}\n    hosts: \"{}\"\n    gpus: {}\n    queue_pairs: {}\n", job.name,
        topology::CompressNames(hosts), job.gpus, job.queue_pairs);
    if (job.split_data) Add("    split_data: true\n");
    if (job.start > 0) Add("    start: {}\n", Text(job.start));
    if (job.end != kNever) Add("    end: {}\n", Text(job.end));
    if (!scale_.chunk.empty()) Add("    chunk: {}\n", scale_.chunk);
    Add("    phases:\n");
    for (const Outline::Phase& phase : job.phases) {
      Add("      - {{name: {}, collective: {}, size: {}, compute: {}", phase.name,
          NameOf(phase.collective), phase.bytes, Text(phase.compute));
      if (phase.rails) Add(", groups: rails");
      if (!phase.groups.empty()) {
        Add(",\n         groups: [");
        for (size_t i = 0; i < phase.groups.size(); ++i) {
          Add("{}[{}]",
              i == 0       ? ""
              : i % 4 == 0 ? ",\n                  "
                           : ", ",
              fmt::join(phase.groups[i], ", "));
        }
        Add("]");
      }
      Add("}}\n");
    }
    WriteBreaks(job);
  }

  void WriteBreaks(const Outline::Job& job) {
    if (!job.interludes.empty()) Add("    interludes:\n");
    for (const Outline::Interlude& each : job.interludes) {
      Add("      - {{name: {}", each.name);
      if (each.after > 0) Add(", after: {}", each.after);
      if (each.every > 0) Add(", every: {}", each.every);
      Add(", phases: [{{name: {}, collective: none, compute: {}}}]}}\n", each.name,
          Text(each.pause));
    }
    const Outline::Checkpoint& checkpoint = job.checkpoint;
    if (checkpoint.every > 0) {
      std::vector<std::string> to;
      for (const uint32_t host : checkpoint.hosts) {
        for (uint32_t nic = 0; nic < checkpoint.nics; ++nic) {
          to.push_back(fmt::format("host{}:mlx5_{}", host, nic));
        }
      }
      Add("    checkpoint: {{every: {}, size: {}, to: \"{}\", blocking: {}}}\n", checkpoint.every,
          checkpoint.bytes, fmt::join(to, ","), checkpoint.blocking);
    }
    if (!job.restarts.empty()) Add("    restarts:\n");
    for (const JobOptions::Restart& restart : job.restarts) {
      Add("      - {{at: {}, downtime: {}}}\n", Text(restart.at), Text(restart.downtime));
    }
  }

  void WriteBenign() {
    const BenignOptions& benign = outline_.benign;
    std::vector<std::string> keys;
    const auto range = [&](std::string_view key, const RatioRange& ratios) {
      if (ratios.on()) keys.push_back(fmt::format("{}: [{}, {}]", key, ratios.least, ratios.most));
    };
    range("bit_error_ratio", benign.bit_error_ratio);
    range("pre_fec_bit_error_ratio", benign.pre_fec_bit_error_ratio);
    if (benign.frame_errors.ports > 0) {
      keys.push_back(fmt::format("frame_errors: {{ports: {:.3g}, frames: {}}}",
                                 benign.frame_errors.ports, benign.frame_errors.frames));
    }
    if (benign.microbursts.period > 0) {
      keys.push_back(fmt::format("microbursts: {{period: {}, senders: {}, frames: {}}}",
                                 Text(benign.microbursts.period), benign.microbursts.senders,
                                 benign.microbursts.frames));
    }
    if (benign.harmless_discards.ports > 0) {
      keys.push_back(fmt::format("harmless_discards: {{ports: {:.3g}, period: {}}}",
                                 benign.harmless_discards.ports,
                                 Text(benign.harmless_discards.period)));
    }
    if (benign.gpu_clock_spread > 0) {
      keys.push_back(fmt::format("gpu_clock_spread: {:.3g}", benign.gpu_clock_spread));
    }
    if (!keys.empty()) Add("benign:\n  {}\n", fmt::join(keys, "\n  "));
    if (!outline_.maintenance.empty()) Add("maintenance:\n");
    for (const MaintenanceOptions& work : outline_.maintenance) {
      Add("  - {{{}, start: {}, drain: {}, duration: {}}}\n", PlaceOf(work), Text(work.start),
          Text(work.drain), Text(work.duration));
    }
    if (!outline_.foreign.empty()) Add("foreign:\n");
    for (const TcpFlow::Options& flow : outline_.foreign) {
      Add("  - {{from: \"{}\", to: \"{}\", load: {:.3g}, message: {}", NicName(flow.from),
          NicName(flow.to), flow.load, flow.message);
      if (flow.start > 0) Add(", start: {}", Text(flow.start));
      if (flow.end != kNever) Add(", end: {}", Text(flow.end));
      Add("}}\n");
    }
  }

  std::string PlaceOf(const MaintenanceOptions& work) const {
    switch (work.kind) {
      case MaintenanceKind::kLinkDrain:
        return fmt::format("link: \"{}\"", fabric_.NameOf(fabric_.link(work.link).ends[0]));
      case MaintenanceKind::kSwitchUpgrade:
        return fmt::format("switch: {}", fabric_.node(work.node).name);
      case MaintenanceKind::kHostReboot:
        return fmt::format("host: {}", fabric_.node(work.node).name);
    }
    return {};
  }

  void WriteStream(const Outline::Stream& stream) {
    constexpr std::string_view kVerbs[] = {"write", "write_with_immediate", "send", "read"};
    Add("  - {{from: \"host{}:mlx5_{}\", to: \"host{}:mlx5_{}\", verb: {}, message: {}, load: "
        "{:.3f}}}\n",
        stream.from_host, stream.from_nic, stream.to_host, stream.to_nic,
        kVerbs[static_cast<size_t>(stream.verb)], stream.message, stream.load);
  }

  std::string NicName(topology::NicIndex nic) const {
    return fmt::format("{}:{}", fabric_.node(fabric_.nic(nic).host).name, fabric_.nic(nic).device);
  }

  // Omits defaults.
  void WriteFault(const FaultOptions& fault) {
    const FaultOptions defaults;
    Add("  - {{kind: {}", InfoOf(fault.kind).name);
    if (fault.onset > 0) Add(", onset: {}", Text(fault.onset));
    if (fault.duration != kNever) Add(", duration: {}", Text(fault.duration));
    if (fault.swapped[0] != topology::kNone) {
      Add(", link: \"{}\", other: \"{}\"", fabric_.NameOf(fault.swapped[0]),
          fabric_.NameOf(fault.swapped[1]));
    } else if (fault.sender != topology::kNone) {
      Add(", sender: \"{}\"", fabric_.NameOf(fault.sender));
    } else if (fault.link != topology::kNone) {
      Add(", link: \"{}\"", fabric_.NameOf(fabric_.link(fault.link).ends[0]));
    }
    if (fault.node != topology::kNone) Add(", switch: {}", fabric_.node(fault.node).name);
    if (fault.nic != topology::kNone) Add(", nic: \"{}\"", NicName(fault.nic));
    if (fault.gpu != topology::kNone) {
      const topology::Gpu& gpu = fabric_.gpu(fault.gpu);
      Add(", gpu: \"{}:{}\"", fabric_.node(gpu.host).name, gpu.number);
    }
    const auto number = [&](std::string_view key, auto value, auto usually) {
      if (value == usually) return;
      if constexpr (std::is_floating_point_v<decltype(value)>) {
        Add(", {}: {:.3g}", key, value);
      } else {
        Add(", {}: {}", key, value);
      }
    };
    number("probability", fault.probability, defaults.probability);
    number("burst", fault.burst, defaults.burst);
    number("least_length", fault.least_length, defaults.least_length);
    number("factor", fault.factor, defaults.factor);
    if (fault.delay != defaults.delay) Add(", delay: {}", Text(fault.delay));
    if (fault.period != defaults.period) Add(", period: {}", Text(fault.period));
    if (fault.rate != defaults.rate) Add(", rate: {:.0f}M", fault.rate / 1e6);
    number("mtu", fault.mtu, defaults.mtu);
    number("alpha", fault.alpha, defaults.alpha);
    number("ecn_minimum", fault.ecn_minimum, defaults.ecn_minimum);
    number("ecn_maximum", fault.ecn_maximum, defaults.ecn_maximum);
    if (!fault.senders.empty()) {
      std::vector<std::string> senders;
      senders.reserve(fault.senders.size());
      for (const topology::NicIndex nic : fault.senders) senders.push_back(NicName(nic));
      Add(",\n     senders: \"{}\"", fmt::join(senders, ","));
    }
    number("message", fault.message, defaults.message);
    number("growth", fault.growth, defaults.growth);
    Add("}}\n");
  }

  const Outline& outline_;
  const Scale& scale_;
  const topology::Fabric& fabric_;
  std::string text_;
};

}  // namespace

std::string WriteOutline(const Outline& outline, const topology::Fabric& fabric) {
  return Writer(outline, fabric).Write();
}

}  // namespace rocescope::sim
