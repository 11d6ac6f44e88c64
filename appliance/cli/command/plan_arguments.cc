// SPDX-License-Identifier: BSD-3-Clause
#include <memory>
#include <string>
#include <vector>

#include "appliance/cli/command/arguments.h"
#include "appliance/cli/command/plan.h"
#include "appliance/cli/plan/collector.h"
#include "appliance/cli/plan/mirror_plan.h"

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
  Repeatable(AddParsed(app, "--collector", "NAME=SPEED@SWITCH:PORT,ADDRESS",
                       "a port of the appliance: its interface or, for DPDK, PCI\n"
                       "address; the cable's speed; where it is plugged in; the address\n"
                       "that copies are sent to. May be repeated",
                       plan::ParseCollector,
                       [&plan](plan::Collector v) { plan.collectors.push_back(std::move(v)); }))
      ->required();
  AddParsed(app, "--telemetry", "ADDRESS",
            "of the appliance, for sFlow and INT; the first collector's if\nnot given",
            ParseIpAddress, [&plan](IpAddress v) { plan.telemetry = v; });
}

void AddTraffic(CLI::App& app, plan::PlanOptions& plan) {
  app.add_option("--utilisation", plan.utilisation,
                 "of each link and direction that the plan must stand, 0 to 1")
      ->type_name("SHARE")
      ->capture_default_str();
  app.add_option("--mtu", plan.path_mtu, "RoCE's path MTU: octets of a full packet's payload")
      ->type_name("N")
      ->check(CLI::IsMember({256, 512, 1024, 2048, 4096}))
      ->capture_default_str();
  app.add_option("--packets-per-ack", plan.packets_per_ack, "full packets that one ACK answers")
      ->type_name("N")
      ->check(CLI::Range(1, 1'000'000))
      ->capture_default_str();
}

}  // namespace

Command AddPlan(CLI::App& parent) {
  auto state = std::make_shared<State>();
  plan::PlanOptions& plan = state->options.plan;
  CLI::App* app = parent.add_subcommand(
      "plan", "Say which mirrors, sFlow and INT to set, and write the switches' configuration");
  app->footer(
      "Weighs what could be mirrored against what the collectors take in, and picks what shows\n"
      "most. Nothing is sent to any switch.\n\n"
      "Examples:\n"
      "  rocescope topology generate leaf-spine --hosts 128 --leaves 8 --spines 16 > fabric.yaml\n"
      "  rocescope plan fabric.yaml --collector ens1f0=100G@leaf0:Ethernet33,172.31.0.1\n"
      "  rocescope plan fabric.yaml --collector ens1f0=400G@leaf0:Ethernet33,172.31.0.1 \\\n"
      "      --vendor nxos -d plan/");
  app->add_option("FABRIC", state->options.fabric,
                  "a fabric's file (topology/README.md); - reads standard input")
      ->type_name("")
      ->required();
  AddCollectors(*app, plan);
  app->add_option("--vendor", state->vendor,
                  "of the switches: what they can do, and configuration in\ntheir words")
      ->type_name("VENDOR")
      ->check(CLI::IsMember({"none", "sonic", "eos", "nxos"}))
      ->capture_default_str();
  app->add_option("--mirror", state->mirror,
                  "auto: what shows most and fits; nics-both: ports to NICs, both\n"
                  "ways; nics: what enters there; second-leaves: the same of every\n"
                  "second leaf; some-nics: of as many ports of each leaf as fit;\n"
                  "uplinks: what comes down to leaves")
      ->type_name("WHAT")
      ->check(CLI::IsMember(MirrorWords()))
      ->capture_default_str();
  AddTraffic(*app, plan);
  CLI::Option* truncation =
      app->add_option("--truncate", state->truncation,
                      "octets that a copy keeps of a packet, 0: all; if not given,\n128 where the "
                      "vendor's switches can")
          ->type_name("N")
          ->check(CLI::Range(0, 9216));
  app->add_option("--sample", plan.one_in, "packets of which one is mirrored")
      ->type_name("N")
      ->check(CLI::Range(1, 1'000'000))
      ->capture_default_str();
  app->add_option("--sessions", plan.sessions, "mirror sessions that a switch has")
      ->type_name("N")
      ->check(CLI::Range(1, 64))
      ->capture_default_str();
  CLI::Option* erspan =
      app->add_option("--erspan", state->erspan, "type of the copies' header: 1, 2 or 3")
          ->type_name("N")
          ->check(CLI::Range(1, 3));
  CLI::Option* names_port = app->add_flag("--port-index,!--no-port-index", state->names_port,
                                          "whether that header has the port's ifIndex");
  app->add_option("--samples", plan.samples_per_second,
                  "of sFlow that the box is to get in a second, 0: no sFlow")
      ->type_name("N")
      ->check(CLI::Range(0, 10'000'000))
      ->capture_default_str();
  app->add_option("--polling", plan.polling_seconds,
                  "seconds between readings of a port's counters")
      ->type_name("N")
      ->check(CLI::Range(1, 3600))
      ->capture_default_str();
  app->add_option(
         "-d,--directory", state->options.folder,
         "a new folder for the fabric's file with the mirrors,\nappliance.yaml, and a file "
         "for each switch")
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
