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
  const bool all = formats.size() > 2;  // not of `validate`
  app.add_option("-o,--output", format,
                 std::string("text: to be read; json: one object") +
                     (all ? "; dot: for Graphviz;\nyaml: the fabric's file" : ""))
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
  CLI::App* app = parent.add_subcommand("generate", "Make a fabric from a few numbers");
  app->footer(
      "Examples:\n"
      "  rocescope topology generate leaf-spine --hosts 128 --leaves 8 --spines 16\n"
      "  rocescope topology generate fat-tree --k 16 --nics 8 --rail-optimised\n"
      "  rocescope topology generate star --hosts 16 -o dot | dot -Tsvg > star.svg");
  app->add_option("SHAPE", state->shape,
                  "star: one switch; leaf-spine: each leaf linked to each spine;\n"
                  "fat-tree: k pods of k/2 leaves and k/2 spines, (k/2)^2 cores")
      ->type_name("")
      ->required()
      ->check(CLI::IsMember({"star", "leaf-spine", "fat-tree"}));
  const auto number = [app](const std::string& name, uint32_t& value, const std::string& help) {
    return app->add_option(name, value, help)->type_name("N");
  };
  number("--hosts", plan.hosts, "hosts; of a fat tree, as many as fit if not given");
  number("--nics", plan.nics_per_host, "NICs of each host")->capture_default_str();
  CLI::Option* gpus =
      number("--gpus", state->gpus, "GPUs of each host; as many as NICs if not given");
  app->add_flag("--rail-optimised", plan.rail_optimised,
                "NIC n of a group of hosts goes to leaf n of the group; else all\nNICs of a host "
                "go to one leaf");
  number("--leaves", plan.leaves, "leaf switches of leaf-spine");
  number("--spines", plan.spines, "spine switches of leaf-spine");
  number("--parallel-links", plan.parallel_links, "links between a leaf and a spine of leaf-spine")
      ->capture_default_str();
  number("--k", plan.k, "ports of a fat tree's switches, even");
  AddSpeed(*app, "--host-speed", "of links to hosts; 100G if not given", plan.host_bits_per_second);
  AddSpeed(*app, "--fabric-speed", "of links between switches; 100G if not given",
           plan.fabric_bits_per_second);
  AddDelay(*app, "--host-delay", "of propagation to hosts, one way; 1us if not given",
           plan.host_delay);
  AddDelay(*app, "--fabric-delay", "between switches; 1us if not given", plan.fabric_delay);
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

constexpr const char* kFabricFile = "a fabric's file (topology/README.md); - reads standard input";

Command AddTopologyValidate(CLI::App& parent) {
  struct State {
    std::string file;
    std::string format = "text";
  };
  auto state = std::make_shared<State>();
  CLI::App* app =
      parent.add_subcommand("validate", "Check a fabric's file, and say what may be overlooked");
  app->footer(
      "Each mistake is a line FILE:LINE:COLUMN on standard error, and the exit code 3. A fabric\n"
      "that hangs together is counted by tier, with notes on what is odd: NICs that are not\n"
      "plugged in, switches that telemetry does not name, leaves without a way between them.");
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
      "convert", "Make a fabric from Slurm's topology.conf, containerlab or PTM");
  app->footer(
      "What was assumed is said on standard error; none of the formats has speeds, addresses or\n"
      "GPUs. Complete the YAML by hand, then check it with `rocescope topology validate`.\n\n"
      "Examples:\n"
      "  rocescope topology convert /etc/slurm/topology.conf --nics 8 --speed 400G > fabric.yaml\n"
      "  rocescope topology convert lab.clab.yml\n"
      "  rocescope topology convert topology.dot --leaf 'tor*' --spine 'agg*' --core 'br*'");
  app->add_option("FILE", state->options.file, "what is to be converted; - reads standard input")
      ->type_name("")
      ->required();
  app->add_option("--from", state->from,
                  "slurm, containerlab or ptm (DOT of Cumulus and SONiC); by the name's\n"
                  "end if not given: .conf, .clab.yml, .dot")
      ->type_name("FORMAT")
      ->check(CLI::IsMember({"slurm", "containerlab", "ptm"}));
  AddSpeed(*app, "--speed", "of all links; 100G if not given", assume.bits_per_second);
  AddDelay(*app, "--delay", "of propagation on all links; 1us if not given", assume.delay);
  app->add_option("--gpus", assume.gpus_per_host, "GPUs of each host")
      ->type_name("N")
      ->check(CLI::Range(0, 64))
      ->capture_default_str();
  app->add_option("--nics", assume.nics_per_host, "of Slurm: NICs of each node")
      ->type_name("N")
      ->check(CLI::Range(1, 64))
      ->capture_default_str();
  app->add_option("--parallel-links", assume.parallel_links,
                  "of Slurm: links from a switch to the one above")
      ->type_name("N")
      ->check(CLI::Range(1, 64))
      ->capture_default_str();
  for (const topology::Tier tier : {topology::Tier::kHost, topology::Tier::kLeaf,
                                    topology::Tier::kSpine, topology::Tier::kCore}) {
    Repeatable(
        app->add_option(
               "--" + std::string(NameOf(tier)), assume.names_of_tier[static_cast<size_t>(tier)],
               fmt::format("nodes of tier {}, by name with * and ?; may be repeated", NameOf(tier)))
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
  CLI::App* app = parent.add_subcommand("export", "Print a fabric as Slurm's topology.conf");
  app->footer(
      "For TopologyPlugin=topology/tree, in which a node is below one switch alone: a line stands "
      "for\nall leaves that the rails of the same hosts go to, one above for the spines of a "
      "pod.\n\n"
      "Example:\n"
      "  rocescope topology export fabric.yaml --format slurm > /etc/slurm/topology.conf");
  app->add_option("FABRIC", state->file, kFabricFile)->type_name("")->required();
  app->add_option("--format", state->format, "slurm: topology.conf")
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
  CLI::App* app = parent.add_subcommand("show", "Print a fabric, and the paths between two NICs");
  app->footer(
      "Examples:\n"
      "  rocescope topology show fabric.yaml\n"
      "  rocescope topology show fabric.yaml --from host0:mlx5_0 --to host9:mlx5_0\n"
      "  rocescope topology show fabric.yaml -o dot | dot -Tsvg > fabric.svg");
  app->add_option("FABRIC", state->options.file, kFabricFile)->type_name("")->required();
  CLI::Option* from = app->add_option("--from", state->options.from,
                                      "a NIC, HOST:DEVICE; with --to, counts the paths that ECMP "
                                      "may\ntake and lists the first of them (text and json)")
                          ->type_name("NIC");
  CLI::Option* to =
      app->add_option("--to", state->options.to, "the NIC at the other end")->type_name("NIC");
  from->needs(to);
  to->needs(from);
  AddTopologyFormat(*app, state->format, {"text", "json", "dot", "yaml"});
  return {.app = app, .run = [state] {
            return RunTopologyShow(state->options, TopologyFormatOf(state->format));
          }};
}

}  // namespace

Command AddTopology(CLI::App& parent) {
  CLI::App* app = parent.add_subcommand(
      "topology", "Make, check, convert and show the description of a fabric");
  app->require_subcommand(1);
  app->footer("rocescope topology COMMAND --help describes one command.");
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
