// SPDX-License-Identifier: BSD-3-Clause
// A fabric while a file is read: parts found by name and remembered with their places, generated
// ones overridden by described ones.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "topology/builder.h"
#include "topology/check.h"
#include "topology/fabric.h"
#include "base/text/yaml_fields.h"

namespace rocescope::topology {

class Draft {
 public:
  explicit Draft(YamlErrors& errors) : errors_(errors) {}

  // What is generated in place of being described; once, and first.
  void Begin(Fabric::Parts parts, Place place);
  void SetName(std::string name) { parts().name = std::move(name); }
  Duration default_delay() const { return default_delay_; }
  // Of links that do not say, and of which no generated one takes it over.
  void SetDefaults(std::optional<uint64_t> bits_per_second, Duration delay) {
    default_speed_ = bits_per_second;
    default_delay_ = delay;
  }

  // kNone if there is none.
  NodeIndex FindNode(std::string_view name) const;
  PortIndex FindPort(std::string_view node_and_port) const;
  NicIndex FindNic(NodeIndex host, std::string_view device);
  GpuIndex FindGpu(NodeIndex host, uint32_t number);
  // kNone, after an error that names the nearest known.
  NodeIndex RequireNode(std::string_view name, Place place);
  // "leaf0:Ethernet4"; makes the port where a switch's are not listed.
  PortIndex RequirePort(std::string_view node_and_port, Place place);
  PortIndex RequirePortOf(NodeIndex node, std::string_view port, Place place);

  // A new node, or the generated one of this name and kind, to be overridden, more than once if
  // need be; kNone, after an error, if it has been described already.
  NodeIndex Describe(std::string_view name, bool is_switch, Place place);
  bool IsGenerated(NodeIndex node) const { return places_.nodes[node].generated; }
  // That a generated part is described here too.
  void Override(PartKind kind, uint32_t index, Place place);
  // From now on a link's end must be a port that is listed.
  void ListPorts(NodeIndex node) { lists_ports_[node] = true; }
  // With number 0: to be numbered by Build.
  PortIndex AddPort(NodeIndex node, uint32_t number, std::string_view name, Place place);
  NicIndex AddNic(Nic nic, std::string_view port, uint32_t number, Place place);
  // These three are kNone, or nothing, after an error where there are too many or two of one name.
  GpuIndex AddGpu(Gpu gpu, Place place);
  void AddTap(Tap tap, Place place);
  // In the order of adding.
  std::span<const PortIndex> PortsOf(NodeIndex node) const { return ports_of_[node]; }
  std::span<const NicIndex> NicsOf(NodeIndex host) const { return nics_of_[host]; }
  // Takes the place of generated links at these ports, and their speed and delay where it has none;
  // an error where a described one is.
  void AddLink(PortIndex a, PortIndex b, std::optional<uint64_t> bits_per_second,
               std::optional<Duration> delay, Place place);
  // Takes a generated link away; an error if there is none.
  void Unplug(PortIndex port, Place place);

  Fabric::Parts& parts() { return builder_.parts(); }
  std::string NameOf(PortIndex port) { return NodeOf(port).name + ":" + parts().ports[port].name; }

  // The errors are in the list that was given, and returned.
  Result<Fabric> Build();

 private:
  struct Origin {
    Place place;
    bool generated = false;
  };
  struct TextHash {
    using is_transparent = void;  // NOLINT: the standard's name
    size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
  };
  template <typename Value>
  using ByName = std::unordered_map<std::string, Value, TextHash, std::equal_to<>>;

  Node& NodeOf(PortIndex port) { return parts().nodes[parts().ports[port].node]; }
  std::string HintNode(std::string_view name);
  std::string HintPort(NodeIndex node, std::string_view name);
  void NumberPorts();
  void DropUnplugged();
  Place PlaceOfFault(PartKind kind, uint32_t index, const std::vector<PortIndex>& moved_to) const;

  YamlErrors& errors_;
  Builder builder_{""};
  ByName<NodeIndex> nodes_;
  ByName<PortIndex> ports_;                       // "leaf0:Ethernet4"
  std::vector<bool> lists_ports_;                 // by node
  std::vector<std::vector<PortIndex>> ports_of_;  // by node
  std::vector<std::vector<NicIndex>> nics_of_;
  std::vector<std::vector<GpuIndex>> gpus_of_;
  std::vector<LinkIndex> generated_links_;  // by port, of those that were generated
  size_t mirrored_ports_ = 0;
  std::optional<uint64_t> default_speed_;
  Duration default_delay_{};
  struct {
    std::vector<Origin> nodes;
    std::vector<Origin> ports;
    std::vector<Origin> links;
    std::vector<Origin> nics;
    std::vector<Origin> gpus;
    std::vector<Origin> taps;
  } places_;
};

}  // namespace rocescope::topology
