// SPDX-License-Identifier: BSD-3-Clause
#include "topology/convert/slurm_tree.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <span>

#include "base/text/name_range.h"
#include "topology/leaf_groups.h"

namespace rocescope::topology {
namespace {

// Slurm's host lists support neither steps nor text after a bracket.
std::string HostList(std::span<const std::string> names) {
  std::string text;
  for (size_t i = 0; i < names.size();) {
    NameRun run(names[i]);
    while (i + run.count() < names.size() && run.Extend(names[i + run.count()]) && run.by_ones()) {
    }
    if (!run.by_ones() || !run.Text().ends_with(']')) run = NameRun(names[i]);
    if (!text.empty()) text += ",";
    text += run.Text();
    i += run.count();
  }
  return text;
}

class Tree {
 public:
  explicit Tree(const Fabric& fabric) : fabric_(fabric), found_(LeafGroupsOf(fabric)) {
    for (const Node& node : fabric.nodes()) taken_.insert(node.name);
  }

  SlurmTree Write() {
    text_ = fmt::format(
        "# topology.conf for the Slurm plugin topology/tree: {}. Written by `rocescope topology "
        "export`.\n",
        fabric_.name().empty() ? "a fabric" : fabric_.name());
    const bool has_rails =
        std::ranges::any_of(found_.groups, [](const LeafGroup& g) { return g.leaves.size() > 1; });
    if (has_rails) {
      text_ +=
          "# Slurm allows one switch for each node, but each rail has its own leaf: a line "
          "represents\n"
          "# all leaves that the rails of its nodes are connected to.\n";
    }
    std::vector<std::string> groups;
    groups.reserve(found_.groups.size());
    for (const LeafGroup& group : found_.groups) groups.push_back(AddGroup(group));
    AddAbove(groups);
    return {.text = std::move(text_), .notes = Notes()};
  }

 private:
  // Slurm distinguishes switches and nodes by context; unique names are clearer for people.
  std::string Unique(std::string name) {
    while (!taken_.insert(name).second) name += "_";
    return name;
  }

  std::string AddGroup(const LeafGroup& group) {
    std::string name = fabric_.node(group.leaves.front()).name;
    if (group.leaves.size() > 1) {
      name = Unique("rails-" + name);
      text_ += fmt::format("# {}: {}\n", name, NameOf(fabric_, group));
    }
    std::vector<std::string> hosts;
    hosts.reserve(group.hosts.size());
    for (const NodeIndex host : group.hosts) hosts.push_back(fabric_.node(host).name);
    text_ += fmt::format("SwitchName={} Nodes={}\n", name, HostList(hosts));
    return name;
  }

  // Adds a parent line unless there is only one child.
  std::string Join(std::vector<std::string> below, const std::string& name) {
    if (below.size() == 1) return below.front();
    std::string above = Unique(name);
    text_ += fmt::format("SwitchName={} Switches={}\n", above, HostList(below));
    return above;
  }

  // Gives all parts the same height: a pod with a single group has a line if other pods do.
  void AddAbove(const std::vector<std::string>& groups) {
    std::vector<std::vector<std::string>> pods(found_.part_of_pod.size());
    std::vector<uint32_t> number(pods.size(), kNone);
    for (size_t i = 0; i < groups.size(); ++i) {
      const LeafGroup& group = found_.groups[i];
      pods[group.pod].push_back(groups[i]);
      number[group.pod] = std::min(number[group.pod], fabric_.node(group.leaves.front()).pod);
    }
    std::vector<std::vector<std::string>> parts(found_.parts);
    for (size_t i = 0; i < pods.size(); ++i) {
      const bool alone = pods.size() == 1;
      const std::string name =
          alone ? "spines" : fmt::format("pod{}", number[i] == kNone ? i : number[i]);
      parts[found_.part_of_pod[i]].push_back(Join(pods[i], name));
    }
    for (const std::vector<std::string>& part : parts) {
      Join(part, "cores");
    }
  }

  std::vector<std::string> Notes() const {
    std::vector<std::string> apart;
    for (NodeIndex node = 0; node < fabric_.nodes().size(); ++node) {
      if (!fabric_.node(node).IsSwitch() && found_.group_of[node] == kNone) {
        apart.push_back(fabric_.node(node).name);
      }
    }
    std::vector<std::string> notes;
    if (!apart.empty()) {
      notes.push_back(
          fmt::format("omitted, because they are not connected to a switch: {}", HostList(apart)));
    }
    if (found_.parts > 1) {
      notes.push_back(
          fmt::format("the fabric has {} parts without links between them: Slurm does not "
                      "place a job across them",
                      found_.parts));
    }
    return notes;
  }

  const Fabric& fabric_;
  const LeafGroups found_;
  std::set<std::string> taken_;
  std::string text_;
};

}  // namespace

SlurmTree WriteSlurmTree(const Fabric& fabric) { return Tree(fabric).Write(); }

}  // namespace rocescope::topology
