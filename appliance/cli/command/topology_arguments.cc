// SPDX-License-Identifier: BSD-3-Clause
#include <fmt/format.h>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "appliance/cli/command/arguments.h"
#include "appliance/cli/command/exit_code.h"
#include "appliance/cli/command/topology.h"
#include "base/text/quantity.h"

namespace rocescope {
namespace {

TopologyFormat TopologyFormatOf(std::string_view name) {
  if (name == "yaml") return TopologyFormat::kYaml;
  if (name == "json") return TopologyFormat::kJson;
  return name == "dot" ? TopologyFormat::kDot : TopologyFormat::kText;
}

void AddTopologyFormat(CLI::App& app, std::string& format, std::vector<std::string> formats) {
  const bool all = formats.size() > 2;  // not for `validate`
  app.add_option("-o,--output", format,
                 std::string("Output format. text: human-readable; json: one object") +
                     (all ? "; dot: for Graphviz;\nyaml: the topology file" : ""))
      ->type_name("FORMAT")
      ->check(CLI::IsMember(formats))
      ->capture_default_str();
}

void AddSpeed(CLI::App& app, const std::string& name, const std::string& help, uint64_t& speed) {
  AddParsed(app, name, "SPEED", help, topology::ParseSpeed, [&speed](uint64_t v) { speed = v; });
}

void AddDelay(CLI::App& app, const std::string& name, const std::string& help, Duration& delay) {
  AddParsed(app, name, "TIME", help, topology::ParseDelay, [&delay](Duration v) { delay = v; });
}

Command AddTopologyGenerate(CLI::App& parent) {
  struct State {
    topology::Blueprint plan;
    std::string shape;
    uint32_t gpus = 0;
    std::string format = "yaml";
  };
  auto state = std::make_shared<State>();
  topology::Blueprint& plan = state->plan;
  CLI::App* app = parent.add_subcommand("generate", "Generate a fabric from a few parameters");
  app->footer(
      "Examples:\n"
      "  rocescope topology generate leaf-spine --hosts 128 --leaves 8 --spines 16\n"
      "  rocescope topology generate fat-tree --k 16 --nics 8 --rail-optimised\n"
      "  rocescope topology generate star --hosts 16 -o dot | dot -Tsvg > star.svg");
  app->add_option("SHAPE", state->shape,
                  "star: one switch; leaf-spine: every leaf is linked to every spine;\n"
                  "fat-tree: k pods of k/2 leaves and k/2 spines, (k/2)^2 cores")
      ->type_name("")
      ->required()
      ->check(CLI::IsMember({"star", "leaf-spine", "fat-tree"}));
  const auto number = [app](const std::string& name, uint32_t& value, const std::string& help) {
    return app->add_option(name, value, help)->type_name("N");
  };
  number("--hosts", plan.hosts, "Number of hosts. Default for a fat tree: as many as fit");
  number("--nics", plan.nics_per_host, "NICs of each host")->capture_default_str();
  CLI::Option* gpus = number("--gpus", state->gpus, "GPUs of each host. Default: as many as NICs");
  app->add_flag("--rail-optimised", plan.rail_optimised,
                "Connect NIC n of each host in a group to leaf n of the group. Default: connect\n"
                "all NICs of a host to one leaf");
  number("--leaves", plan.leaves, "Leaf switches (leaf-spine)");
  number("--spines", plan.spines, "Spine switches (leaf-spine)");
  number("--parallel-links", plan.parallel_links, "Links between each leaf and spine (leaf-spine)")
      ->capture_default_str();
  number("--k", plan.k, "Ports of each switch of a fat tree; even");
  AddSpeed(*app, "--host-speed", "Speed of host links. Default: 100G", plan.host_bits_per_second);
  AddSpeed(*app, "--fabric-speed", "Speed of links between switches. Default: 100G",
           plan.fabric_bits_per_second);
  AddDelay(*app, "--host-delay", "Propagation delay of host links, one way. Default: 1us",
           plan.host_delay);
  AddDelay(*app, "--fabric-delay", "Propagation delay of links between switches. Default: 1us",
           plan.fabric_delay);
  AddTopologyFormat(*app, state->format, {"yaml", "text", "json", "dot"});
  return {.app = app, .run = [state, gpus] {
            using topology::Shape;
            state->plan.shape = state->shape == "star"         ? Shape::kStar
                                : state->shape == "leaf-spine" ? Shape::kLeafSpine
                                                               : Shape::kFatTree;
            if (gpus->count() > 0) state->plan.gpus_per_host = state->gpus;
            return RunTopologyGenerate(state->plan, TopologyFormatOf(state->format));
          }};
}

constexpr const char* kFabricFile = "Topology file (topology/README.md); - reads standard input";

Command AddTopologyValidate(CLI::App& parent) {
  struct State {
    std::string file;
    std::string format = "text";
  };
  auto state = std::make_shared<State>();
  CLI::App* app =
      parent.add_subcommand("validate", "Check a topology file for errors and likely mistakes");
  app->footer(
      "Each error is printed as FILE:LINE:COLUMN to standard error, with exit code 3. For a valid "
      "fabric,\n"
      "prints the number of nodes in each tier, and notes: unconnected NICs, switches that "
      "telemetry\n"
      "cannot identify, and leaves without a path between them.");
  app->add_option("FABRIC", state->file, kFabricFile)->type_name("")->required();
  AddTopologyFormat(*app, state->format, {"text", "json"});
  return {.app = app, .run = [state] {
            return RunTopologyValidate(state->file, TopologyFormatOf(state->format));
          }};
}

Command AddTopologyConvert(CLI::App& parent) {
  struct State {
    TopologyConvertOptions options;
    std::string from;
    std::string format = "yaml";
  };
  auto state = std::make_shared<State>();
  topology::ConvertOptions& assume = state->options.assume;
  CLI::App* app = parent.add_subcommand(
      "convert", "Convert Slurm's topology.conf, containerlab or PTM to a topology file");
  app->footer(
      "Assumptions are printed to standard error. None of these formats contains speeds, addresses "
      "or\n"
      "GPUs: complete the YAML file, and check it with `rocescope topology validate`.\n"
      "\n"
      "Examples:\n"
      "  rocescope topology convert /etc/slurm/topology.conf --nics 8 --speed 400G > fabric.yaml\n"
      "  rocescope topology convert lab.clab.yml\n"
      "  rocescope topology convert topology.dot --leaf 'tor*' --spine 'agg*' --core 'br*'");
  app->add_option("FILE", state->options.file, "Input file; - reads standard input")
      ->type_name("")
      ->required();
  app->add_option("--from", state->from,
                  "Input format: slurm, containerlab or ptm (topology files of Cumulus Linux\n"
                  "and SONiC in DOT). Default: by the file name (.conf, .clab.yml, .dot)")
      ->type_name("FORMAT")
      ->check(CLI::IsMember({"slurm", "containerlab", "ptm"}));
  AddSpeed(*app, "--speed", "Speed of all links. Default: 100G", assume.bits_per_second);
  AddDelay(*app, "--delay", "Propagation delay of all links. Default: 1us", assume.delay);
  app->add_option("--gpus", assume.gpus_per_host, "GPUs of each host")
      ->type_name("N")
      ->check(CLI::Range(0, 64))
      ->capture_default_str();
  app->add_option("--nics", assume.nics_per_host, "NICs of each node (slurm)")
      ->type_name("N")
      ->check(CLI::Range(1, 64))
      ->capture_default_str();
  app->add_option("--parallel-links", assume.parallel_links,
                  "Links from a switch to the one above (slurm)")
      ->type_name("N")
      ->check(CLI::Range(1, 64))
      ->capture_default_str();
  for (const topology::Tier tier : {topology::Tier::kHost, topology::Tier::kLeaf,
                                    topology::Tier::kSpine, topology::Tier::kCore}) {
    Repeatable(
        app->add_option(
               "--" + std::string(NameOf(tier)), assume.names_of_tier[static_cast<size_t>(tier)],
               fmt::format("Names of the nodes of tier {}; * and ? are wildcards. Repeatable",
                           NameOf(tier)))
            ->type_name("NAME"));
  }
  AddTopologyFormat(*app, state->format, {"yaml", "text", "json", "dot"});
  return {.app = app, .run = [state] {
            using topology::Format;
            if (!state->from.empty()) {
              state->options.from = state->from == "slurm" ? Format::kSlurm
                                    : state->from == "ptm" ? Format::kPtm
                                                           : Format::kContainerlab;
            }
            return RunTopologyConvert(state->options, TopologyFormatOf(state->format));
          }};
}

Command AddTopologyExport(CLI::App& parent) {
  struct State {
    std::string file;
    std::string format;
  };
  auto state = std::make_shared<State>();
  CLI::App* app = parent.add_subcommand("export", "Export a fabric as Slurm's topology.conf");
  app->footer(
      "The output is for TopologyPlugin=topology/tree, in which each node belongs to exactly one "
      "switch.\n"
      "Therefore, all leaves that connect the same hosts become one SwitchName line, and the "
      "spines\n"
      "of a pod become one SwitchName line above them.\n"
      "\n"
      "Example:\n"
      "  rocescope topology export fabric.yaml --format slurm > /etc/slurm/topology.conf");
  app->add_option("FABRIC", state->file, kFabricFile)->type_name("")->required();
  app->add_option("--format", state->format, "Output format. slurm: topology.conf")
      ->type_name("FORMAT")
      ->required()
      ->check(CLI::IsMember({"slurm"}));
  return {.app = app, .run = [state] { return RunTopologyExport(state->file); }};
}

Command AddTopologyShow(CLI::App& parent) {
  struct State {
    TopologyShowOptions options;
    std::string format = "text";
  };
  auto state = std::make_shared<State>();
  CLI::App* app = parent.add_subcommand("show", "Print a fabric, or the paths between two NICs");
  app->footer(
      "Examples:\n"
      "  rocescope topology show fabric.yaml\n"
      "  rocescope topology show fabric.yaml --from host0:mlx5_0 --to host9:mlx5_0\n"
      "  rocescope topology show fabric.yaml -o dot | dot -Tsvg > fabric.svg");
  app->add_option("FABRIC", state->options.file, kFabricFile)->type_name("")->required();
  CLI::Option* from =
      app->add_option("--from", state->options.from,
                      "NIC as HOST:DEVICE. With --to, counts the possible ECMP paths and lists\n"
                      "the first ones (text and json)")
          ->type_name("NIC");
  CLI::Option* to =
      app->add_option("--to", state->options.to, "NIC at the other end")->type_name("NIC");
  from->needs(to);
  to->needs(from);
  AddTopologyFormat(*app, state->format, {"text", "json", "dot", "yaml"});
  return {.app = app, .run = [state] {
            return RunTopologyShow(state->options, TopologyFormatOf(state->format));
          }};
}

}  // namespace

Command AddTopology(CLI::App& parent) {
  CLI::App* app =
      parent.add_subcommand("topology", "Generate, validate, convert and show topology files");
  app->require_subcommand(1);
  app->footer("`rocescope topology COMMAND --help` describes one command.");
  const std::vector<Command> commands = {AddTopologyGenerate(*app), AddTopologyValidate(*app),
                                         AddTopologyConvert(*app), AddTopologyExport(*app),
                                         AddTopologyShow(*app)};
  for (const Command& command : commands) command.app->get_formatter()->column_width(26);
  return {.app = app, .run = [commands]() -> int {
            for (const Command& command : commands) {
              if (command.app->parsed()) return command.run();
            }
            return kExitUsage;
          }};
}

}  // namespace rocescope
