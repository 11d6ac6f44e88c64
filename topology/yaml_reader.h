// SPDX-License-Identifier: BSD-3-Clause
// Reads the sections of a fabric's YAML into a draft. Only yaml*.cc includes this header.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/text/yaml_fields.h"
#include "topology/draft.h"
#include "topology/generate.h"

namespace rocescope::topology {

class FabricReader {
 public:
  explicit FabricReader(std::string_view file) : errors_(std::string(file)), draft_(errors_) {}
  FabricReader(const FabricReader&) = delete;  // draft_ refers to errors_
  FabricReader& operator=(const FabricReader&) = delete;

  Result<Fabric> Read(const YamlNode& root);

 private:
  // Defined in yaml.cc.
  void ReadDefaults(const YamlNode& node);
  void ReadGenerate(const YamlNode& node);
  // Reads a count, or a list of names.
  void ReadCount(const YamlNode* node, uint32_t& count, std::vector<std::string>& names);
  // Returns the expanded names; none after an error.
  std::vector<std::string> ReadNames(const YamlNode& node);
  // Returns `count` names: one each, or one for all.
  std::vector<std::string> ReadNamesFor(const YamlNode& node, size_t count);
  // Like ReadNamesFor, with each text parsed. Returns `count` values, or none after an error.
  template <typename Parse>
  auto ReadEach(const YamlNode& node, size_t count, Parse parse)
      -> std::vector<typename decltype(parse(std::string_view()))::value_type>;

  // Defined in yaml_nodes.cc.
  struct PortRow {
    std::string name;
    uint32_t number = 0;  // 0: not given
    Place place;
  };
  void ReadSwitches(const YamlNode& node);
  void ReadSwitch(const YamlNode& item);
  std::vector<PortRow> ReadPorts(const YamlNode& node);
  void DescribePorts(NodeIndex node, const std::vector<PortRow>& rows);
  void ReadHosts(const YamlNode& node);
  void ReadHost(const YamlNode& item);
  // NICs of the hosts of an entry; nullopt: not given.
  struct NicRow {
    std::string device;
    std::string port;
    std::optional<uint64_t> number;
    std::optional<std::string> pci;
    std::optional<uint64_t> rail;
    std::optional<std::vector<std::vector<NicAddress>>> addresses;  // indexed by host
    Place place;
  };
  struct GpuRow {
    uint32_t number = 0;
    std::optional<std::string> pci;
    std::optional<uint64_t> rail;
    std::optional<std::string> nic;
    Place place;
  };
  std::optional<NicRow> ReadNic(const YamlNode& item, size_t hosts);
  void ReadAddress(const YamlNode& item, std::vector<std::vector<NicAddress>>& of);
  std::optional<GpuRow> ReadGpu(const YamlNode& item);
  void DescribeNic(NodeIndex host, NicRow& row, size_t number_of_host);
  void DescribeGpu(NodeIndex host, const GpuRow& row);

  // Defined in yaml_links.cc.
  void ReadUnplugged(const YamlNode& node);
  void ReadLinks(const YamlNode& node);
  void ReadLink(const YamlNode& item);
  void ReadMirrors(const YamlNode& node);
  void ReadMirror(const YamlNode& item);
  std::vector<PortIndex> MirroredPorts(const YamlNode* node, NodeIndex at);

  YamlErrors errors_;
  Draft draft_;
  std::optional<uint64_t> speed_;        // from the section `defaults`
  size_t names_left_ = size_t{1} << 22;  // remaining names, for all ranges together
};

template <typename Parse>
auto FabricReader::ReadEach(const YamlNode& node, size_t count, Parse parse)
    -> std::vector<typename decltype(parse(std::string_view()))::value_type> {
  std::vector<typename decltype(parse(std::string_view()))::value_type> values;
  for (const std::string& text : ReadNamesFor(node, count)) {
    auto value = parse(text);
    if (!value) {
      errors_.Add(node, value.error().message);
      return {};
    }
    values.push_back(*std::move(value));
  }
  if (values.size() == 1) values.resize(count, values.front());
  return values;
}

}  // namespace rocescope::topology
