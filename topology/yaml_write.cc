// SPDX-License-Identifier: BSD-3-Clause
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "base/text/name_range.h"
#include "base/text/quantity.h"
#include "topology/yaml.h"

namespace rocescope::topology {
namespace {

// Returns the text as a YAML scalar that is valid in lists too.
std::string Scalar(std::string_view text) {
  const auto is_plain = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  };
  const bool plain = !text.empty() && is_plain(text.front()) &&
                     std::all_of(text.begin(), text.end(),
                                 [&](char c) { return is_plain(c) || c == '-' || c == '.'; });
  if (plain && text != "null" && text != "Null" && text != "NULL") return std::string(text);
  if (text.find('\\') == std::string_view::npos) return fmt::format("\"{}\"", text);
  std::string quoted = "'";
  for (const char c : text) quoted.append(c == '\'' ? 2 : 1, c);
  return quoted + "'";
}

std::string Range(const std::vector<std::string>& names) { return Scalar(CompressNames(names)); }

class Writer {
 public:
  explicit Writer(const Fabric& fabric) : fabric_(fabric) {}

  std::string Write() {
    if (!fabric_.name().empty()) Line("name: {}", Scalar(fabric_.name()));
    WriteDefaults();
    WriteSwitches();
    WriteHosts();
    WriteLinks();
    WriteMirrors();
    return std::move(out_);
  }

 private:
  template <typename... Arguments>
  void Line(fmt::format_string<Arguments...> format, Arguments&&... arguments) {
    out_ += fmt::format(format, std::forward<Arguments>(arguments)...);
    out_ += '\n';
  }

  // Writes the most common speed and delay as defaults.
  void WriteDefaults() {
    std::map<std::pair<uint64_t, Duration>, size_t> counts;
    for (const Link& link : fabric_.links()) ++counts[{link.bits_per_second, link.delay}];
    size_t most = 0;
    for (const auto& [value, count] : counts) {
      if (count <= most) continue;
      most = count;
      std::tie(speed_, delay_) = value;
    }
    if (most == 0) return;
    Line("defaults:\n  speed: {}\n  delay: {}", FormatSpeed(speed_), FormatDelay(delay_));
  }

  // The common properties of consecutive parts: the text that is written, and other values that
  // must be equal for the parts to share an entry.
  using Common = std::pair<std::string, std::string>;

  // Calls `write` for each run of parts with the same common properties.
  template <typename Parts, typename CommonOf, typename Write>
  static void ForEachRow(const Parts& parts, CommonOf common_of, Write write) {
    for (size_t begin = 0; begin < parts.size();) {
      const Common common = common_of(parts[begin]);
      size_t end = begin + 1;
      while (end < parts.size() && common_of(parts[end]) == common) ++end;
      write(std::span(parts).subspan(begin, end - begin), common.first);
      begin = end;
    }
  }

  std::vector<NodeIndex> NodesThat(bool are_switches) const {
    std::vector<NodeIndex> nodes;
    for (NodeIndex i = 0; i < fabric_.nodes().size(); ++i) {
      if (fabric_.node(i).IsSwitch() == are_switches) nodes.push_back(i);
    }
    return nodes;
  }

  template <typename ValueOf>
  static std::vector<std::string> Each(std::span<const NodeIndex> nodes, ValueOf value_of) {
    std::vector<std::string> values;
    for (const NodeIndex node : nodes) values.push_back(value_of(node));
    return values;
  }
  std::string NamesOf(std::span<const NodeIndex> nodes) const {
    return Range(Each(nodes, [this](NodeIndex i) { return fabric_.node(i).name; }));
  }

  void WriteSwitches() {
    const std::vector<NodeIndex> switches = NodesThat(true);
    if (switches.empty()) return;
    Line("switches:");
    ForEachRow(
        switches,
        [this](NodeIndex i) {
          const Node& node = fabric_.node(i);
          return Common(PortsText(i),
                        TierText(node) + std::string{node.erspan_source.IsUnspecified() ? '-' : '+',
                                                     node.sflow_agent.IsUnspecified() ? '-' : '+',
                                                     node.int_switch_id == kNone ? '-' : '+'});
        },
        [this](std::span<const NodeIndex> nodes, const std::string& text) {
          const Node& first = fabric_.node(nodes[0]);
          Line("  - name: {}", NamesOf(nodes));
          out_ += TierText(first);
          const auto address = [&](IpAddress Node::* member, std::string_view key) {
            if ((first.*member).IsUnspecified()) return;
            Line(
                "    {}: {}", key,
                Range(Each(nodes, [&](NodeIndex i) { return ToString(fabric_.node(i).*member); })));
          };
          address(&Node::erspan_source, "erspan_source");
          address(&Node::sflow_agent, "sflow_agent");
          if (first.int_switch_id != kNone) {
            Line("    int_switch_id: {}", Range(Each(nodes, [&](NodeIndex i) {
                   return fmt::format("{}", fabric_.node(i).int_switch_id);
                 })));
          }
          out_ += text;
        });
  }

  static std::string TierText(const Node& node) {
    std::string text = fmt::format("    tier: {}\n", NameOf(node.tier));
    if (node.pod != kNone) text += fmt::format("    pod: {}\n", node.pod);
    return text;
  }

  std::string PortsText(NodeIndex index) const {
    const Node& node = fabric_.node(index);
    std::string text = node.port_count == 0 ? "    ports: []\n" : "    ports:\n";
    const auto ports = fabric_.PortsOf(index);
    for (size_t i = 0; i < ports.size();) {
      NameRun run(ports[i].name);
      while (i + run.count() < ports.size() &&
             ports[i + run.count()].number == ports[i].number + run.count() &&
             run.Extend(ports[i + run.count()].name)) {
      }
      text +=
          fmt::format("      - {{name: {}, number: {}}}\n", Scalar(run.Text()), ports[i].number);
      i += run.count();
    }
    return text;
  }

  void WriteHosts() {
    const std::vector<NodeIndex> hosts = NodesThat(false);
    if (hosts.empty()) return;
    Line("hosts:");
    ForEachRow(
        hosts, [this](NodeIndex i) { return Common(GpuText(i), NicKey(i)); },
        [this](std::span<const NodeIndex> nodes, const std::string& gpus) {
          Line("  - name: {}", NamesOf(nodes));
          const auto nics = fabric_.NicsOf(nodes[0]);
          if (!nics.empty()) Line("    nics:");
          for (size_t n = 0; n < nics.size(); ++n) WriteNic(nodes, n);
          out_ += gpus;
        });
  }

  const Nic& NicOf(NodeIndex host, size_t n) const { return fabric_.nic(fabric_.NicsOf(host)[n]); }

  // Describes all NICs of a host without their addresses.
  std::string NicKey(NodeIndex host) const {
    std::string key;
    for (const NicIndex i : fabric_.NicsOf(host)) {
      const Nic& nic = fabric_.nic(i);
      const Port& port = fabric_.port(nic.port);
      key += fmt::format("{},{},{},{},{}", nic.device, port.name, port.number, nic.pci, nic.rail);
      for (const NicAddress& address : nic.addresses) key += fmt::format(",{}", address.segment);
      key += '\n';
    }
    return key;
  }

  void WriteNic(std::span<const NodeIndex> hosts, size_t n) {
    const Nic& nic = NicOf(hosts[0], n);
    const Port& port = fabric_.port(nic.port);
    std::string text = fmt::format("      - {{device: {}", Scalar(nic.device));
    if (port.name != nic.device) text += fmt::format(", port: {}", Scalar(port.name));
    if (port.number != n + 1) text += fmt::format(", number: {}", port.number);
    if (!nic.pci.empty()) text += fmt::format(", pci: {}", Scalar(nic.pci));
    text += fmt::format(", rail: {}", nic.rail);
    for (size_t a = 0; a < nic.addresses.size(); ++a) {
      const std::string addresses = Range(
          Each(hosts, [&](NodeIndex i) { return ToString(NicOf(i, n).addresses[a].address); }));
      const Segment segment = nic.addresses[a].segment;
      text += a == 0 ? ", addresses: [" : ", ";
      text += segment == 0 ? addresses
                           : fmt::format("{{address: {}, segment: {}}}", addresses, segment - 1);
    }
    Line("{}{}}}", text, nic.addresses.empty() ? "" : "]");
  }

  std::string GpuText(NodeIndex host) const {
    std::string text;
    for (const GpuIndex i : fabric_.GpusOf(host)) {
      const Gpu& gpu = fabric_.gpu(i);
      text += fmt::format("      - {{number: {}", gpu.number);
      if (!gpu.pci.empty()) text += fmt::format(", pci: {}", Scalar(gpu.pci));
      text += fmt::format(", rail: {}", gpu.rail);
      if (gpu.nic != kNone) text += fmt::format(", nic: {}", Scalar(fabric_.nic(gpu.nic).device));
      text += "}\n";
    }
    return text.empty() ? text : "    gpus:\n" + text;
  }

  void WriteLinks() {
    if (fabric_.links().empty()) return;
    Line("links:");
    ForEachRow(
        fabric_.links(), [this](const Link& link) { return Common(LinkText(link), ""); },
        [this](std::span<const Link> links, const std::string& text) {
          for (size_t i = 0; i < links.size();) i += WriteLinkRun(links.subspan(i), text);
        });
  }

  std::string LinkText(const Link& link) const {
    std::string text;
    if (link.bits_per_second != speed_) {
      text += fmt::format(", speed: {}", FormatSpeed(link.bits_per_second));
    }
    if (link.delay != delay_) text += fmt::format(", delay: {}", FormatDelay(link.delay));
    return text;
  }

  // Writes as many links as count up at both ends; returns their number.
  size_t WriteLinkRun(std::span<const Link> links, const std::string& text) {
    const auto end = [&](size_t i, size_t side) { return fabric_.NameOf(links[i].ends[side]); };
    NameRun a(end(0, 0));
    NameRun b(end(0, 1));
    while (a.count() < links.size()) {
      NameRun longer_a = a;
      NameRun longer_b = b;
      const size_t next = a.count();
      if (!longer_a.Extend(end(next, 0)) || !longer_b.Extend(end(next, 1))) break;
      a = std::move(longer_a);
      b = std::move(longer_b);
    }
    if (a.count() == 2 && !(a.by_ones() && b.by_ones())) {
      a = NameRun(end(0, 0));
      b = NameRun(end(0, 1));
    }
    const std::string ends = fmt::format("[{}, {}]", Scalar(a.Text()), Scalar(b.Text()));
    if (text.empty()) {
      Line("  - {}", ends);
    } else {
      Line("  - {{ends: {}{}}}", ends, text);
    }
    return a.count();
  }

  void WriteMirrors() {
    if (fabric_.taps().empty()) return;
    Line("mirrors:");
    ForEachRow(
        fabric_.taps(), [this](const Tap& tap) { return Common(TapText(tap), ""); },
        [this](std::span<const Tap> taps, const std::string& text) {
          std::vector<std::string> names;
          names.reserve(taps.size());
          for (const Tap& tap : taps) names.push_back(fabric_.node(tap.node).name);
          Line("  - {{switch: {}{}}}", Range(names), text);
        });
  }

  std::string TapText(const Tap& tap) const {
    std::string text =
        fmt::format(", session: {}, direction: {}", tap.session, NameOf(tap.direction));
    if (!tap.names_port) text += ", names_port: false";
    if (tap.before_queue) text += ", before_queue: true";
    std::vector<std::string> names;
    names.reserve(tap.ports.size());
    for (const PortIndex port : tap.ports) names.push_back(fabric_.port(port).name);
    std::vector<std::string> all;
    for (const Port& port : fabric_.PortsOf(tap.node)) all.push_back(port.name);
    // Written as a list, so that a port named "hosts" is unambiguous.
    if (names != all) text += fmt::format(", ports: [{}]", Range(names));
    return text;
  }

  const Fabric& fabric_;
  uint64_t speed_ = 0;
  Duration delay_{};
  std::string out_;
};

}  // namespace

std::string WriteFabric(const Fabric& fabric) { return Writer(fabric).Write(); }

}  // namespace rocescope::topology
