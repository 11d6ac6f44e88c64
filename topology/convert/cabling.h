// SPDX-License-Identifier: BSD-3-Clause
// Nodes and the cables between them, as a file of another program names them, on their way to
// become a fabric.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "topology/convert/convert.h"
#include "topology/draft.h"
#include "base/text/yaml_fields.h"

namespace rocescope::topology {

class Cabling {
 public:
  struct Node {
    std::string name;
    Place place;               // of its first mention
    std::optional<Tier> tier;  // where the file tells
  };
  struct Cable {
    size_t a = 0;
    size_t b = 0;
    std::string a_port;
    std::string b_port;
    Place place;
  };

  // The node of this name, made if need be.
  size_t AddNode(std::string_view name, Place place);
  std::optional<size_t> FindNode(std::string_view name) const;
  void AddCable(Cable cable) { cables_.push_back(std::move(cable)); }
  Node& node(size_t number) { return nodes_[number]; }
  std::vector<Node>& nodes() { return nodes_; }

  // Decides what tier has not been told, and makes the fabric. Takes all from here.
  Result<Conversion> Build(std::string name, const ConvertOptions& options, YamlErrors& errors);

 private:
  void ApplyOptions(const ConvertOptions& options);
  void DecideTiers(YamlErrors& errors, std::vector<std::string>& notes);
  std::vector<uint32_t> Pods() const;

  std::vector<Node> nodes_;
  std::vector<Cable> cables_;
  std::unordered_map<std::string, size_t> by_name_;
};

// What a name says of a node's tier: "leaf03" is a leaf's.
std::optional<Tier> TierByName(std::string_view name);
// What a word for a role says: as names, and "host" and "server".
std::optional<Tier> TierByRole(std::string_view role);

}  // namespace rocescope::topology
