// SPDX-License-Identifier: BSD-3-Clause
// Reads topology.conf of Slurm's topology/tree plugin (slurm.schedmd.com/topology.conf.html): lines
// of KEY=VALUE words. Keys are case-insensitive, values are host lists, # starts a comment, and a
// backslash at the end of a line continues it.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/nearest.h"
#include "base/text/name_range.h"
#include "topology/check.h"
#include "topology/convert/cabling.h"
#include "topology/convert/lower_case.h"

namespace rocescope::topology {
namespace {

constexpr std::array<std::string_view, 4> kKeys = {"switchname", "switches", "nodes", "linkspeed"};
constexpr std::array<std::string_view, 4> kShownKeys = {"SwitchName", "Switches", "Nodes",
                                                        "LinkSpeed"};

struct Word {
  std::string_view key;
  std::string_view value;
  Place place;
};

struct Switch {
  size_t node = 0;
  std::vector<size_t> below;  // child switches, by number
  std::vector<size_t> hosts;  // child nodes
  Place place;
  std::vector<std::pair<std::string, Place>> children;
};

class SlurmReader {
 public:
  SlurmReader(std::string_view text, std::string_view file, const ConvertOptions& options)
      : text_(text), errors_(std::string(file)), options_(options) {}

  Result<Conversion> Read() {
    std::vector<Word> line;
    while (!errors_.full() && NextLine(line)) {
      if (!line.empty()) ReadLine(line);
    }
    for (Switch& each : switches_) Resolve(each);
    if (switches_.empty() && errors_.empty()) {
      errors_.Add(Place{.line = 1, .column = 1}, "no line starts with SwitchName=");
    }
    if (errors_.empty()) SetTiers();
    if (errors_.empty()) AddCables();
    if (!errors_.empty()) return tl::unexpected(errors_.Take());
    auto conversion = cabling_.Build("slurm", options_, errors_);
    if (conversion) conversion->notes.insert(conversion->notes.begin(), Note());
    return conversion;
  }

 private:
  std::string Note() const {
    return fmt::format(
        "topology.conf does not name ports: each node has {} to its switch, each "
        "switch {} to the one above, numbered in the order of mention",
        options_.nics_per_host, options_.parallel_links);
  }

  // Reads the words up to the end of the line, including continuation lines.
  bool NextLine(std::vector<Word>& words) {
    words.clear();
    if (at_ >= text_.size()) return false;
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (c == '\n') {
        NewLine();
        return true;
      }
      if (c == '\\' && (text_.substr(at_ + 1, 1) == "\n" || text_.substr(at_ + 1, 2) == "\r\n")) {
        at_ = text_.find('\n', at_);
        NewLine();
      } else if (c == '#') {
        at_ = std::min(text_.find('\n', at_), text_.size());
      } else if (c == ' ' || c == '\t' || c == '\r') {
        ++at_;
      } else {
        const size_t end = std::min(text_.find_first_of(" \t\r\n#", at_), text_.size());
        const std::string_view word = text_.substr(at_, end - at_);
        const size_t equals = word.find('=');
        words.push_back({.key = word.substr(0, equals),
                         .value = equals == std::string_view::npos ? std::string_view()
                                                                   : word.substr(equals + 1),
                         .place = Here()});
        at_ = end;
      }
    }
    return true;
  }

  void NewLine() {
    ++at_;
    ++line_;
    line_begin_ = at_;
  }
  Place Here() const {
    return {.line = line_, .column = static_cast<uint32_t>(at_ - line_begin_) + 1};
  }

  void ReadLine(const std::vector<Word>& words) {
    const std::string first = LowerCase(words[0].key);
    if (first == "blockname" || first == "blocksizes") {
      if (!told_blocks_) {
        errors_.Add(words[0].place,
                    "block topologies are not supported: they do not say which switch "
                    "each node is connected to; expected SwitchName=");
      }
      told_blocks_ = true;
      return;
    }
    Switch read;
    bool named = false;
    for (const Word& word : words) {
      const std::string key = LowerCase(word.key);
      const auto known = std::find(kKeys.begin(), kKeys.end(), key);
      if (known == kKeys.end()) {
        errors_.Add(word.place, fmt::format("unknown key \"{}\"{}", word.key, Hint(key)));
        continue;
      }
      if (key == "linkspeed") continue;  // ignored: informational and without a unit
      if (key == "switchname") {
        named = true;
        Define(std::string(word.value), word.place, read);
        continue;
      }
      for (const std::string& name : Names(word)) {
        if (key == "switches") {
          read.children.emplace_back(name, word.place);
        } else {
          read.hosts.push_back(AddHost(name, word.place));
        }
      }
    }
    if (!named) {
      errors_.Add(words[0].place, "the line does not start with SwitchName=");
      return;
    }
    switches_.push_back(std::move(read));
  }

  static std::string Hint(std::string_view key) {
    const std::string_view nearest = NearestName(key, kKeys);
    if (nearest.empty()) return "; expected SwitchName, Switches, Nodes or LinkSpeed";
    const size_t i = std::find(kKeys.begin(), kKeys.end(), nearest) - kKeys.begin();
    return fmt::format("; did you mean \"{}\"?", kShownKeys[i]);
  }

  std::vector<std::string> Names(const Word& word) {
    auto names = ExpandNames(word.value, names_left_);
    if (!names) {
      errors_.Add(word.place, fmt::format("{}: {}", word.key, names.error().message));
      return {};
    }
    names_left_ -= names->size();
    return *std::move(names);
  }

  void Define(const std::string& name, Place place, Switch& read) {
    if (const auto known = cabling_.FindNode(name)) {
      errors_.Add(place, fmt::format("{} is already defined in line {}", name,
                                     cabling_.node(*known).place.line));
    }
    read.node = cabling_.AddNode(name, place);
    read.place = place;
    number_of_[name] = switches_.size();
  }

  size_t AddHost(const std::string& name, Place place) {
    if (number_of_.contains(name)) {
      errors_.Add(place, fmt::format("{} is a switch and cannot be a node too", name));
    }
    const size_t node = cabling_.AddNode(name, place);
    cabling_.node(node).tier = Tier::kHost;
    return node;
  }

  void Resolve(Switch& above) {
    for (const auto& [name, place] : above.children) {
      const auto at = number_of_.find(name);
      if (at == number_of_.end()) {
        errors_.Add(place, fmt::format("no line defines SwitchName={}", name));
      } else {
        above.below.push_back(at->second);
      }
    }
  }

  // A switch is one tier above its highest child. Computed from the bottom up, so that a cycle is
  // never reached.
  void SetTiers() {
    std::vector<size_t> tier(switches_.size(), 0);
    for (size_t round = 1; round < kTierCount; ++round) {
      for (size_t i = 0; i < switches_.size(); ++i) {
        if (tier[i] != 0) continue;
        const auto& below = switches_[i].below;
        if (std::all_of(below.begin(), below.end(),
                        [&](size_t b) { return tier[b] != 0 && tier[b] < round; })) {
          tier[i] = round;
        }
      }
    }
    for (size_t i = 0; i < switches_.size(); ++i) {
      if (tier[i] == 0) {
        errors_.Add(switches_[i].place,
                    fmt::format("{} is above more than two tiers of switches or above itself; "
                                "expected at most leaf, spine and core",
                                cabling_.node(switches_[i].node).name));
        return;
      }
      cabling_.node(switches_[i].node).tier = static_cast<Tier>(tier[i]);
    }
  }

  void AddCables() {
    std::vector<uint32_t> ports(cabling_.nodes().size());
    size_t cables = 0;
    const auto add = [&](size_t below, size_t above, uint32_t count, std::string_view name) {
      for (uint32_t i = 0; i < count && ++cables <= kMaxPorts; ++i) {
        const uint32_t first = name == "mlx5_" ? 0 : 1;
        cabling_.AddCable({.a = below,
                           .b = above,
                           .a_port = fmt::format("{}{}", name, ports[below]++ + first),
                           .b_port = fmt::format("Ethernet{}", ++ports[above]),
                           .place = switches_[number_of_[cabling_.node(above).name]].place});
      }
    };
    for (const Switch& each : switches_) {
      for (const size_t host : each.hosts) add(host, each.node, options_.nics_per_host, "mlx5_");
    }
    for (const Switch& each : switches_) {
      for (const size_t below : each.below) {
        add(switches_[below].node, each.node, options_.parallel_links, "Ethernet");
      }
    }
  }

  std::string_view text_;
  YamlErrors errors_;
  const ConvertOptions& options_;
  Cabling cabling_;
  std::vector<Switch> switches_;
  std::unordered_map<std::string, size_t> number_of_;  // switches by name
  size_t names_left_ = kMaxPorts;
  size_t at_ = 0;
  size_t line_begin_ = 0;
  uint32_t line_ = 1;
  bool told_blocks_ = false;
};

}  // namespace

Result<Conversion> ConvertSlurm(std::string_view text, std::string_view file,
                                const ConvertOptions& options) {
  return SlurmReader(text, file, options).Read();
}

}  // namespace rocescope::topology
