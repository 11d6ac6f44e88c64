// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/cli/command/topology.h"

#include <fmt/format.h>

#include <string_view>
#include <vector>

#include "appliance/cli/command/exit_code.h"
#include "appliance/cli/command/message.h"
#include "appliance/cli/command/output.h"
#include "appliance/common/files/text_file.h"
#include "appliance/common/report/fabric_report.h"
#include "base/nearest.h"
#include "topology/convert/slurm_tree.h"
#include "topology/survey.h"
#include "topology/yaml.h"

namespace rocescope {
namespace {

using topology::Fabric;
using topology::kNone;

constexpr uintmax_t kLargestTopology = uintmax_t{64} << 20;  // as ParseYaml accepts

std::string NameOfFile(const std::string& file) { return file == "-" ? "standard input" : file; }

int Print(const std::string& text) {
  return WriteToStdout(text) == OutputState::kFailed ? kExitOutput : kExitSuccess;
}

int PrintFabric(const Fabric& fabric, TopologyFormat format,
                const std::optional<FabricPaths>& paths) {
  switch (format) {
    case TopologyFormat::kYaml:
      return Print(topology::WriteFabric(fabric));
    case TopologyFormat::kText:
      return Print(FabricText(fabric, SurveyOf(fabric), paths));
    case TopologyFormat::kJson:
      return Print(FabricJson(fabric, SurveyOf(fabric), paths));
    case TopologyFormat::kDot:
      return Print(FabricDot(fabric));
  }
  return kExitSuccess;
}

std::optional<Fabric> LoadFile(const std::string& file) {
  const Result<std::string> text = ReadTextFileOrStdin(file, kLargestTopology);
  if (!text) {
    Message(text.error().message);
    return std::nullopt;
  }
  Result<Fabric> fabric = topology::LoadFabric(*text, NameOfFile(file));
  if (fabric) return *std::move(fabric);
  MessageLines(fabric.error().message);
  return std::nullopt;
}

// Resolves "host0:mlx5_0" by the NIC's port or device. Returns kNone after a message.
topology::NicIndex FindNic(const Fabric& fabric, std::string_view name) {
  const size_t colon = name.find(':');
  const topology::NodeIndex host = fabric.FindNode(name.substr(0, colon));
  if (host == kNone) {
    std::vector<std::string_view> names;
    for (const topology::Node& node : fabric.nodes()) names.push_back(node.name);
    Message(fmt::format("unknown node \"{}\"{}", name.substr(0, colon),
                        DidYouMean(name.substr(0, colon), names)));
    return kNone;
  }
  const auto nics = fabric.NicsOf(host);
  if (colon == std::string_view::npos && nics.size() == 1) return nics[0];
  const std::string_view port = colon == std::string_view::npos ? "" : name.substr(colon + 1);
  std::string known;
  for (const topology::NicIndex nic : nics) {
    if (fabric.nic(nic).device == port || fabric.port(fabric.nic(nic).port).name == port) {
      return nic;
    }
    known += (known.empty() ? "" : ", ") + fabric.nic(nic).device;
  }
  Message(fmt::format("{} has no NIC \"{}\"; its NICs: {}", fabric.node(host).name, port,
                      known.empty() ? "none" : known));
  return kNone;
}

}  // namespace

int RunTopologyGenerate(const topology::Blueprint& plan, TopologyFormat format) {
  const Result<Fabric> fabric = topology::Generate(plan);
  if (fabric) return PrintFabric(*fabric, format, std::nullopt);
  Message(fabric.error().message);
  return kExitUsage;
}

int RunTopologyValidate(const std::string& file, TopologyFormat format) {
  const std::optional<Fabric> fabric = LoadFile(file);
  if (!fabric) return kExitUnreadable;
  const topology::Survey survey = SurveyOf(*fabric);
  return Print(format == TopologyFormat::kJson ? SurveyJson(*fabric, survey)
                                               : SurveyText(*fabric, survey));
}

int RunTopologyConvert(const TopologyConvertOptions& options, TopologyFormat format) {
  const auto from = options.from ? options.from : topology::FormatOfName(options.file);
  if (!from) {
    Message(fmt::format(
        "{}: cannot derive the format from the file name; use --from slurm, containerlab or ptm",
        NameOfFile(options.file)));
    return kExitUsage;
  }
  const Result<std::string> text = ReadTextFileOrStdin(options.file, kLargestTopology);
  if (!text) {
    Message(text.error().message);
    return kExitUnreadable;
  }
  const auto conversion = topology::Convert(*from, *text, NameOfFile(options.file), options.assume);
  if (!conversion) {
    MessageLines(conversion.error().message);
    return kExitUnreadable;
  }
  for (const std::string& note : conversion->notes) Message(note);
  return PrintFabric(conversion->fabric, format, std::nullopt);
}

int RunTopologyExport(const std::string& file) {
  const std::optional<Fabric> fabric = LoadFile(file);
  if (!fabric) return kExitUnreadable;
  const topology::SlurmTree tree = topology::WriteSlurmTree(*fabric);
  for (const std::string& note : tree.notes) Message(note);
  return Print(tree.text);
}

int RunTopologyShow(const TopologyShowOptions& options, TopologyFormat format) {
  const std::optional<Fabric> fabric = LoadFile(options.file);
  if (!fabric) return kExitUnreadable;
  if (options.from.empty()) return PrintFabric(*fabric, format, std::nullopt);
  const topology::NicIndex from = FindNic(*fabric, options.from);
  const topology::NicIndex to = from == kNone ? kNone : FindNic(*fabric, options.to);
  if (to == kNone) return kExitUsage;
  topology::Routes routes(*fabric);
  return PrintFabric(*fabric, format,
                     FabricPaths{.from = from, .to = to, .paths = {routes, from, to}});
}

}  // namespace rocescope
