// SPDX-License-Identifier: BSD-3-Clause
// A fabric under construction while a file is read: finds parts by name, remembers their positions
// in the file, and lets described parts override generated ones.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/text/yaml_fields.h"
#include "topology/builder.h"
#include "topology/check.h"
#include "topology/fabric.h"

namespace rocescope::topology {

class Draft {
 public:
  explicit Draft(YamlErrors& errors) : errors_(errors) {}

  // Sets the generated parts. Call it at most once, before all other functions.
  void Begin(Fabric::Parts parts, Place place);
  void SetName(std::string name) { parts().name = std::move(name); }
  Duration default_delay() const { return default_delay_; }
  // Sets speed and delay of links that neither have their own nor replace a generated link.
  void SetDefaults(std::optional<uint64_t> bits_per_second, Duration delay) {
    default_speed_ = bits_per_second;
    default_delay_ = delay;
  }

  // Returns kNone if there is no such node.
  NodeIndex FindNode(std::string_view name) const;
  PortIndex FindPort(std::string_view node_and_port) const;
  NicIndex FindNic(NodeIndex host, std::string_view device);
  GpuIndex FindGpu(NodeIndex host, uint32_t number);
  // Returns kNone and reports an error with the most similar name if there is no such node.
  NodeIndex RequireNode(std::string_view name, Place place);
  // Finds "leaf0:Ethernet4"; creates the port if the switch has no port list.
  PortIndex RequirePort(std::string_view node_and_port, Place place);
  PortIndex RequirePortOf(NodeIndex node, std::string_view port, Place place);

  // Adds a node, or returns the generated one of this name and kind, which may be overridden
  // repeatedly. Returns kNone and reports an error if the node was described before.
  NodeIndex Describe(std::string_view name, bool is_switch, Place place);
  bool IsGenerated(NodeIndex node) const { return places_.nodes[node].generated; }
  // Records the position of a description that overrides a generated part.
  void Override(PartKind kind, uint32_t index, Place place);
  // From now on links may use only the listed ports of this node.
  void ListPorts(NodeIndex node) { lists_ports_[node] = true; }
  // If the number is 0, Build assigns one.
  PortIndex AddPort(NodeIndex node, uint32_t number, std::string_view name, Place place);
  NicIndex AddNic(Nic nic, std::string_view port, uint32_t number, Place place);
  // The next three functions return kNone or nothing and report an error for too many parts or
  // duplicate names.
  GpuIndex AddGpu(Gpu gpu, Place place);
  void AddTap(Tap tap, Place place);
  // Returns the ports in the order of adding.
  std::span<const PortIndex> PortsOf(NodeIndex node) const { return ports_of_[node]; }
  std::span<const NicIndex> NicsOf(NodeIndex host) const { return nics_of_[host]; }
  // Replaces generated links at these ports, and takes their speed and delay if none is given.
  // Reports an error if a port already has a described link.
  void AddLink(PortIndex a, PortIndex b, std::optional<uint64_t> bits_per_second,
               std::optional<Duration> delay, Place place);
  // Removes a generated link; reports an error if there is none.
  void Unplug(PortIndex port, Place place);

  Fabric::Parts& parts() { return builder_.parts(); }
  std::string NameOf(PortIndex port) { return NodeOf(port).name + ":" + parts().ports[port].name; }

  // Errors are added to the list passed to the constructor, and returned.
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
  ByName<PortIndex> ports_;                       // keys such as "leaf0:Ethernet4"
  std::vector<bool> lists_ports_;                 // indexed by node
  std::vector<std::vector<PortIndex>> ports_of_;  // indexed by node
  std::vector<std::vector<NicIndex>> nics_of_;
  std::vector<std::vector<GpuIndex>> gpus_of_;
  std::vector<LinkIndex> generated_links_;  // indexed by port: its generated link
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
