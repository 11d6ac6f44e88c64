// SPDX-License-Identifier: BSD-3-Clause
#include <memory>
#include <string>
#include <vector>

#include "appliance/cli/command/arguments.h"
#include "appliance/cli/command/plan.h"
#include "appliance/cli/plan/collector.h"
#include "appliance/cli/plan/mirror_plan.h"
#include "appliance/common/config/byte_size.h"

namespace rocescope {
namespace {

struct State {
  PlanRunOptions options;
  std::string vendor = "none";
  std::string mirror = "auto";
  uint32_t truncation = 0;
  uint32_t erspan = 0;
  bool names_port = false;
  std::string format = "text";
};

std::vector<std::string> MirrorWords() {
  std::vector<std::string> words = {"auto"};
  for (size_t i = 0; i < plan::kChoiceCount; ++i) {
    words.emplace_back(WordOf(static_cast<plan::MirrorChoice>(i)));
  }
  return words;
}

void AddCollectors(CLI::App& app, plan::PlanOptions& plan) {
  Repeatable(
      AddParsed(app, "--collector", "NAME=SPEED@SWITCH:PORT,ADDRESS",
                "Receiving port of the appliance. NAME: interface or, with DPDK, PCI address;\n"
                "SPEED: speed of the link; SWITCH:PORT: switch port that it is connected to;\n"
                "ADDRESS: IP address to which switches send mirrored packets. Repeatable",
                plan::ParseCollector,
                [&plan](plan::Collector v) { plan.collectors.push_back(std::move(v)); }))
      ->required();
  AddParsed(app, "--telemetry", "ADDRESS",
            "IP address to which switches send sFlow and INT. Default: the address of the\n"
            "first collector",
            ParseIpAddress, [&plan](IpAddress v) { plan.telemetry = v; });
}

void AddTraffic(CLI::App& app, plan::PlanOptions& plan) {
  app.add_option("--utilisation", plan.utilisation,
                 "Planned utilisation of each link direction, 0 to 1")
      ->type_name("SHARE")
      ->capture_default_str();
  app.add_option("--mtu", plan.path_mtu, "RoCE path MTU: payload of a full packet, in bytes")
      ->type_name("N")
      ->check(CLI::IsMember({256, 512, 1024, 2048, 4096}))
      ->capture_default_str();
  app.add_option("--packets-per-ack", plan.packets_per_ack, "Full packets acknowledged by one ACK")
      ->type_name("N")
      ->check(CLI::Range(1, 1'000'000))
      ->capture_default_str();
}

void AddMachine(CLI::App& app, plan::PlanOptions& plan) {
  AddWhole(app, "--queue-pairs", "N",
           "Number of queue pairs that each NIC uses at the same time. The memory depends\n"
           "on it. Default: 64",
           1, 1'000'000, [&plan](uint64_t v) { plan.queue_pairs = static_cast<uint32_t>(v); });
  AddWhole(app, "--cores", "N",
           "Number of CPU cores of the appliance. --mirror auto skips choices that need\n"
           "more; any other choice that needs more is refused. Default: not checked",
           1, 100'000, [&plan](uint64_t v) { plan.cores = static_cast<uint32_t>(v); });
  AddParsed(app, "--memory", "SIZE",
            "Physical memory of the appliance, for example 64G; checked like --cores.\n"
            "Default: not checked",
            ParseBytes, [&plan](uint64_t v) { plan.memory = v; });
}

}  // namespace

Command AddPlan(CLI::App& parent) {
  auto state = std::make_shared<State>();
  plan::PlanOptions& plan = state->options.plan;
  CLI::App* app = parent.add_subcommand("plan",
                                        "Plan mirror sessions and sFlow, generate the switch "
                                        "configuration, and print where to send INT "
                                        "reports");
  app->footer(
      "Compares the load of possible mirror sessions with the capacity of the collectors, and "
      "selects the\n"
      "first choice that fits (see --mirror). Computes the cores, memory and disk of the appliance "
      "(docs/sizing.md).\n"
      "Nothing is sent to any switch.\n"
      "\n"
      "Examples:\n"
      "  rocescope topology generate leaf-spine --hosts 128 --leaves 8 --spines 16 > fabric.yaml\n"
      "  rocescope plan fabric.yaml --collector ens1f0=100G@leaf0:Ethernet33,172.31.0.1\n"
      "  rocescope plan fabric.yaml --collector ens1f0=400G@leaf0:Ethernet33,172.31.0.1 \\\n"
      "      --vendor nxos -d plan/\n"
      "  rocescope plan fabric.yaml --collector 0000:3b:00.0=400G@leaf0:Ethernet33,172.31.0.1 \\\n"
      "      --telemetry 172.31.0.2 --cores 32 --memory 128G");
  app->add_option("FABRIC", state->options.fabric,
                  "Topology file (topology/README.md); - reads standard input")
      ->type_name("")
      ->required();
  AddCollectors(*app, plan);
  app->add_option(
         "--vendor", state->vendor,
         "Switch vendor: selects the mirroring capabilities and the syntax of the\nconfiguration")
      ->type_name("VENDOR")
      ->check(CLI::IsMember({"none", "sonic", "eos", "nxos"}))
      ->capture_default_str();
  app->add_option(
         "--mirror", state->mirror,
         "Ports to mirror. nics-both: the switch ports that lead to NICs, in both\n"
         "directions; nics: the ingress of these ports; second-leaves: like nics, on every\n"
         "second leaf; some-nics: the ingress of as many of these ports on each leaf as\n"
         "fit; uplinks: the ingress of the leaves' uplinks; auto: the first of nics-both,\n"
         "nics, second-leaves and some-nics that fits")
      ->type_name("WHAT")
      ->check(CLI::IsMember(MirrorWords()))
      ->capture_default_str();
  AddTraffic(*app, plan);
  AddMachine(*app, plan);
  CLI::Option* truncation =
      app->add_option("--truncate", state->truncation,
                      "Truncate mirrored packets to N bytes; 0: do not truncate.\n"
                      "Default: 128 if the vendor's switches support it")
          ->type_name("N")
          ->check(CLI::Range(0, 9216));
  app->add_option("--sample", plan.one_in, "Mirror one in N packets")
      ->type_name("N")
      ->check(CLI::Range(1, 1'000'000))
      ->capture_default_str();
  app->add_option("--sessions", plan.sessions, "Number of mirror sessions that a switch supports")
      ->type_name("N")
      ->check(CLI::Range(1, 64))
      ->capture_default_str();
  CLI::Option* erspan =
      app->add_option("--erspan", state->erspan,
                      "ERSPAN type of mirrored packets: 1, 2 or 3. Default: depends on --vendor")
          ->type_name("N")
          ->check(CLI::Range(1, 3));
  CLI::Option* names_port = app->add_flag("--port-index,!--no-port-index", state->names_port,
                                          "Whether the ERSPAN header contains the port's ifIndex.\n"
                                          "Default: depends on --vendor");
  app->add_option("--samples", plan.samples_per_second,
                  "Maximum number of sFlow samples per second at the appliance; 0: no sFlow")
      ->type_name("N")
      ->check(CLI::Range(0, 10'000'000))
      ->capture_default_str();
  app->add_option("--polling", plan.polling_seconds, "sFlow counter polling interval in seconds")
      ->type_name("N")
      ->check(CLI::Range(1, 3600))
      ->capture_default_str();
  app->add_option("-d,--directory", state->options.folder,
                  "New directory for topology.yaml (with the mirror sessions),\n"
                  "appliance.yaml, and for each switch its configuration and a rollback file with\n"
                  "the commands that remove it")
      ->type_name("DIR");
  AddOutputFormat(*app, state->format, "one object");
  return {.app = app, .run = [state, truncation, erspan, names_port] {
            plan::PlanOptions& options = state->options.plan;
            options.vendor = plan::VendorOf(state->vendor).value_or(plan::Vendor::kNone);
            const std::vector<std::string> words = MirrorWords();
            for (size_t i = 1; i < words.size(); ++i) {
              if (words[i] == state->mirror)
                options.choice = static_cast<plan::MirrorChoice>(i - 1);
            }
            if (truncation->count() > 0) options.truncation = state->truncation;
            if (erspan->count() > 0) options.erspan = static_cast<uint8_t>(state->erspan);
            if (names_port->count() > 0) options.names_port = state->names_port;
            state->options.format = FormatOf(state->format);
            return RunPlan(state->options);
          }};
}

}  // namespace rocescope
