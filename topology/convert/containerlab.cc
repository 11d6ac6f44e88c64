// SPDX-License-Identifier: BSD-3-Clause
// Reads containerlab topologies (containerlab.dev/manual/topo-def-file): named nodes with their
// kind, and links with two endpoints, each "node:interface" or, in the extended form, a map with
// both.
#include <fmt/format.h>

#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "base/text/yaml_tree.h"
#include "topology/convert/cabling.h"

namespace rocescope::topology {
namespace {

using Kind = YamlNode::Kind;

// Lenient: the file contains much that a fabric does not need.
const YamlNode* Find(const YamlNode* map, std::string_view key) {
  if (map == nullptr || map->kind != Kind::kMap) return nullptr;
  for (size_t i = 0; i < map->items.size(); i += 2) {
    if (map->items[i].text == key) return &map->items[i + 1];
  }
  return nullptr;
}

// The values of a map by their keys, for many look-ups. The map must outlive it.
class Index {
 public:
  explicit Index(const YamlNode* map) {
    if (map == nullptr || map->kind != Kind::kMap) return;
    for (size_t i = 0; i < map->items.size(); i += 2) {
      values_.emplace(map->items[i].text, &map->items[i + 1]);
    }
  }

  const YamlNode* Find(std::string_view key) const {
    const auto at = values_.find(key);
    return at == values_.end() ? nullptr : at->second;
  }

 private:
  std::unordered_map<std::string_view, const YamlNode*> values_;
};

std::string_view TextOf(const YamlNode* node) {
  return node != nullptr && node->kind == Kind::kScalar ? std::string_view(node->text) : "";
}

class ContainerlabReader {
 public:
  ContainerlabReader(std::string_view file, const ConvertOptions& options)
      : errors_(std::string(file)), options_(options) {}

  Result<Conversion> Read(const YamlNode& root) {
    const YamlNode* topology = Find(&root, "topology");
    const YamlNode* nodes = Find(topology, "nodes");
    if (nodes == nullptr || nodes->kind != Kind::kMap) {
      errors_.Add(topology == nullptr ? root : *topology,
                  "expected a containerlab topology: a map \"topology\" with a map \"nodes\"");
      return tl::unexpected(errors_.Take());
    }
    const Defaults defaults = {.kind = TextOf(Find(Find(topology, "defaults"), "kind")),
                               .groups = Index(Find(topology, "groups")),
                               .kinds = Index(Find(topology, "kinds"))};
    for (size_t i = 0; i < nodes->items.size(); i += 2) {
      ReadNode(nodes->items[i], &nodes->items[i + 1], defaults);
    }
    if (const YamlNode* links = Find(topology, "links")) {
      for (const YamlNode& link : ReadList(*links, errors_)) {
        if (!errors_.full()) ReadLink(link);
      }
    }
    auto conversion = cabling_.Build(std::string(TextOf(Find(&root, "name"))), options_, errors_);
    if (conversion && passed_over_ > 0) {
      conversion->notes.push_back(
          fmt::format("ignored {} links that do not connect two nodes (management, host, dummy)",
                      passed_over_));
    }
    return conversion;
  }

 private:
  // What a node that does not set its kind or its group has.
  struct Defaults {
    std::string_view kind;
    Index groups;
    Index kinds;
  };

  void ReadNode(const YamlNode& key, const YamlNode* node, const Defaults& defaults) {
    const size_t index = cabling_.AddNode(key.text, PlaceOf(key));
    std::string_view kind = TextOf(Find(node, "kind"));
    std::string_view group = TextOf(Find(node, "group"));
    if (kind.empty()) kind = TextOf(Find(defaults.groups.Find(group), "kind"));
    if (kind.empty()) kind = defaults.kind;
    if (group.empty()) group = TextOf(Find(defaults.kinds.Find(kind), "group"));
    if (kind == "linux") {
      cabling_.node(index).tier = Tier::kHost;
      return;
    }
    cabling_.node(index).tier = TierByRole(group);
    if (!cabling_.node(index).tier) cabling_.node(index).tier = TierByName(key.text);
  }

  void ReadLink(const YamlNode& link) {
    const YamlNode* endpoints = Find(&link, "endpoints");
    const std::string_view type = TextOf(Find(&link, "type"));
    if (endpoints == nullptr && !type.empty()) {
      ++passed_over_;
      return;
    }
    if (endpoints == nullptr || endpoints->kind != Kind::kSequence ||
        endpoints->items.size() != 2) {
      errors_.Add(link,
                  "expected a link with two endpoints such as [\"leaf1:e1-1\", "
                  "\"spine1:e1-1\"]");
      return;
    }
    std::optional<size_t> a;
    std::optional<size_t> b;
    Cabling::Cable cable;
    cable.place = PlaceOf(link);
    if (!ReadEnd(endpoints->items[0], a, cable.a_port)) return;
    if (!ReadEnd(endpoints->items[1], b, cable.b_port)) return;
    if (!a || !b) {
      ++passed_over_;
      return;
    }
    cable.a = *a;
    cable.b = *b;
    cabling_.AddCable(std::move(cable));
  }

  // Returns false after an error. Leaves `node` empty if the end is the lab's host or a bridge of
  // it.
  bool ReadEnd(const YamlNode& end, std::optional<size_t>& node, std::string& port) {
    std::string_view name = TextOf(Find(&end, "node"));
    std::string_view interface = TextOf(Find(&end, "interface"));
    if (end.kind == Kind::kScalar) {
      const size_t colon = end.text.find(':');
      name = std::string_view(end.text).substr(0, colon);
      if (colon != std::string::npos) interface = std::string_view(end.text).substr(colon + 1);
    }
    if (name.empty() || interface.empty()) {
      errors_.Add(end, "expected an endpoint NODE:INTERFACE such as leaf1:e1-1");
      return false;
    }
    port = interface;
    node = cabling_.FindNode(name);
    if (node || name == "host" || name == "mgmt-net" || name == "macvlan") return true;
    errors_.Add(end, fmt::format("there is no node \"{}\"", name));
    return false;
  }

  YamlErrors errors_;
  const ConvertOptions& options_;
  Cabling cabling_;
  size_t passed_over_ = 0;
};

}  // namespace

Result<Conversion> ConvertContainerlab(std::string_view text, std::string_view file,
                                       const ConvertOptions& options) {
  auto root = ParseYaml(text, file, {.long_texts = true});
  if (!root) return tl::unexpected(root.error());
  return ContainerlabReader(file, options).Read(*root);
}

}  // namespace rocescope::topology
