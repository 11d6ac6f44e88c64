// SPDX-License-Identifier: BSD-3-Clause
// An intermediate form of converters: named nodes and the cables between them, from which a fabric
// is built.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/text/yaml_fields.h"
#include "topology/convert/convert.h"
#include "topology/draft.h"

namespace rocescope::topology {

class Cabling {
 public:
  struct Node {
    std::string name;
    Place place;               // first mention in the file
    std::optional<Tier> tier;  // set if the file defines it
  };
  struct Cable {
    size_t a = 0;
    size_t b = 0;
    std::string a_port;
    std::string b_port;
    Place place;
  };

  // Returns the node with this name; creates it if necessary.
  size_t AddNode(std::string_view name, Place place);
  std::optional<size_t> FindNode(std::string_view name) const;
  void AddCable(Cable cable) { cables_.push_back(std::move(cable)); }
  Node& node(size_t number) { return nodes_[number]; }
  std::vector<Node>& nodes() { return nodes_; }

  // Derives the missing tiers and builds the fabric. The object is empty afterwards.
  Result<Conversion> Build(std::string name, const ConvertOptions& options, YamlErrors& errors);

 private:
  void ApplyOptions(const ConvertOptions& options);
  void DecideTiers(YamlErrors& errors, std::vector<std::string>& notes);
  std::vector<uint32_t> Pods() const;

  std::vector<Node> nodes_;
  std::vector<Cable> cables_;
  std::unordered_map<std::string, size_t> by_name_;
};

// Derives the tier from a node name: "leaf03" is a leaf.
std::optional<Tier> TierByName(std::string_view name);
// Derives the tier from a role word: the words of TierByName, and "host" and "server".
std::optional<Tier> TierByRole(std::string_view role);

}  // namespace rocescope::topology
