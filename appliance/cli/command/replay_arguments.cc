// SPDX-License-Identifier: BSD-3-Clause
#include <fmt/format.h>

#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "appliance/cli/command/arguments.h"
#include "appliance/cli/command/capture.h"
#include "appliance/cli/command/input_arguments.h"
#include "appliance/cli/command/replay.h"

namespace rocescope {
namespace {

SpreadBy SpreadOf(std::string_view name) {
  if (name == "rss") return SpreadBy::kRss;
  if (name == "software") return SpreadBy::kSoftware;
  return name == "none" ? SpreadBy::kNone : SpreadBy::kAuto;
}

void AddRequest(CLI::App& app, DependencyQuestion question, const std::string& help,
                std::vector<DependencyRequest>& requests) {
  const auto take = [question, &requests](const CLI::results_t& names) {
    for (const std::string& name : names) requests.push_back({question, name});
    return true;
  };
  Repeatable(app.add_option(std::string(OptionOf(question)), take, help)->type_name("ELEMENT"));
}

}  // namespace

Command AddReplay(CLI::App& parent) {
  struct State {
    CaptureArguments captures;
    ReplayOptions options;
    std::string format = "text";
    std::string via = "file";
  };
  auto state = std::make_shared<State>();
  CLI::App* app = parent.add_subcommand("replay",
                                        "Analyse captures or a run directory: report faults, jobs, "
                                        "paths, traffic, losses and ECN marks");
  app->footer(
      "The report begins with FAULTS: each fault with its place, time, affected jobs, recommended "
      "action\n"
      "and confidence (0 to 1), followed by the missing telemetry. The diagnosis requires a "
      "topology; it\n"
      "uses counters, mirrored packets, INT, sFlow and logs. By default, the report fits on one "
      "screen;\n"
      "--details prints all sections. HOTSPOTS (congested queues) and ANOMALIES (counters outside "
      "the\n"
      "range of their history and peers) also occur in healthy fabrics. SERVICE LEVELS shows "
      "how\n"
      "many jobs, GPUs, NICs and switch ports meet, are at risk of missing, or miss each level.\n"
      "Lines are as wide as the terminal. If standard output is not a terminal, they have at most\n"
      "100 characters.\n"
      "\n"
      "NCCL logs and rdma output map queue pairs to ranks, GPUs and hosts; without them, jobs are\n"
      "inferred from synchronised traffic. A topology adds paths, the cabling check and the "
      "diagnosis,\n"
      "and assigns the nodes of --slurm to hosts.\n"
      "\n"
      "Examples:\n"
      "  rocescope replay capture.pcap\n"
      "  rocescope replay node*.pcap --nccl-logs logs/ -o json > report.json\n"
      "  rocescope replay node*.pcap --nccl-logs logs/ --section flows\n"
      "  rocescope replay --tap leaf1=a.pcap --tap leaf2=b.pcap --since 2024-05-01T12:00:00Z\n"
      "  rocescope replay run/        (a directory with run.json: dataplane/run/README.md)\n"
      "  rocescope replay run/ --faults\n"
      "  rocescope replay run/ --blast-radius leaf0 --needs host3\n"
      "  tcpdump -i eth1 -w - udp port 4791 | rocescope replay -");
  state->captures.AddTo(*app);
  AddAnalysis(*app, state->options.analysis, state->format, /*is_replay=*/true);
  app->add_option("--via", state->via,
                  "How to read captures. file: directly; dpdk: through net_pcap ports (plain\n"
                  "microsecond pcap files only)")
      ->type_name("METHOD")
      ->check(CLI::IsMember({"file", "dpdk"}))
      ->capture_default_str();
  CLI::Option* only =
      AddParsed(*app, "--only", "PARTS",
                "Use only these parts of the run's telemetry, separated by commas. Mirrored\n"
                "frames: at most one of mirror (all sessions), port-mirror (sessions whose frames\n"
                "identify the port), leaf-mirror (the same, leaves only) and port-sets (sessions\n"
                "that mirror several ports without identifying the port). Counters: counters\n"
                "(all) or switch-counters (only of switches). Others: int, sflow, nccl, rdma,\n"
                "slurm",
                ParseRunParts, [state](const RunParts& parts) { state->options.parts = parts; });
  CLI::Option* loss =
      app->add_option("--mirror-loss", state->options.mirror_loss,
                      "Drop this share of a run's mirrored frames, 0 to 1, like an\n"
                      "overloaded mirror port. The selection is deterministic")
          ->type_name("SHARE")
          ->check(CLI::Range(0.0, 1.0).description(""));
  app->add_flag("--faults", state->options.faults_alone,
                "Print only the section FAULTS, with all evidence, and the notes");
  app->get_option("--faults")->excludes(app->get_option("--section"));
  AddRequest(*app, DependencyQuestion::kBlastRadius,
             "Print what depends on this element and is affected if it fails, instead of the\n"
             "report. ELEMENT: a switch, host, NODE:PORT, HOST:DEVICE, HOST:gpu:NUMBER, a link\n"
             "NODE:PORT-NODE:PORT, a job (ID, or scheduler's number or name), a\n"
             "communicator or JOB:rank:NUMBER. Requires a topology. Repeatable",
             state->options.requests);
  AddRequest(*app, DependencyQuestion::kNeeds,
             "Print what this element depends on, instead of the report", state->options.requests);
  AddTimeFilter(*app, state->options.analysis.filter);
  AddPairingFilter(*app, state->options.analysis.filter);
  return {.app = app, .run = [state, only, loss] {
            ReplayOptions& options = state->options;
            CheckSwallowed(state->captures, {{"--nccl-logs", &options.analysis.nccl_logs},
                                             {"--rdma", &options.analysis.rdma},
                                             {"--slurm", &options.analysis.slurm}});
            options.run_directory = state->captures.RunDirectory();
            if (options.run_directory.empty()) {
              options.captures = state->captures.Take();
              for (const CLI::Option* option : {only, loss}) {
                if (option->empty()) continue;
                throw CLI::ValidationError(option->get_name(),
                                           "requires a run directory instead of captures");
              }
            }
            if (!(options.mirror_loss >= 0)) {
              throw CLI::ValidationError("--mirror-loss", "is not a number");
            }
            CheckFilter(options.analysis.filter);
            if (state->format == "html" && (options.faults_alone || !options.requests.empty())) {
              throw CLI::ValidationError(
                  "--output", "html cannot be combined with --faults, --blast-radius or --needs");
            }
            options.sandbox = true;
            options.via_dpdk = state->via == "dpdk";
            options.analysis.format = FormatOf(state->format);
            CheckSections(options.analysis);
            return RunReplay(options);
          }};
}

Command AddCapture(CLI::App& parent) {
  struct State {
    CaptureRunOptions options;
    double seconds = 0;
    std::string spread = "auto";
    std::string format = "text";
  };
  auto state = std::make_shared<State>();
  CLI::App* app = parent.add_subcommand("capture",
                                        "Receive from DPDK ports, print live counts and, at the "
                                        "end, the report of `rocescope replay`");
  app->footer(
      "Runs until --seconds have elapsed, SIGINT or SIGTERM arrives, or, if all ports read capture "
      "files,\n"
      "these files have ended; then prints the report. Live counts are printed to standard error "
      "once a "
      "second.\n"
      "The ledger accounts for the frames that the NICs delivered; frames that a NIC lost are "
      "listed\n"
      "after it.\n"
      "\n"
      "Examples:\n"
      "  rocescope capture --eal '-l 2-5 -a 0000:3b:00.0' --seconds 60\n"
      "  rocescope capture --eal '--no-huge -m 512 --no-pci -l 0 --vdev net_pcap0,rx_pcap=a.pcap'");
  CaptureRunOptions& options = state->options;
  app->add_option("--eal", options.eal, "DPDK EAL options in one argument, quoted as for a shell")
      ->type_name("'OPTIONS'")
      ->required();
  Repeatable(
      app->add_option("--port", options.ports,
                      "Port to receive from, by device name or number. Repeatable. Default: all\n"
                      "ports that EAL finds")
          ->type_name("NAME|N"));
  app->add_option("--seconds", state->seconds, "Duration of the capture in seconds")
      ->type_name("N")
      ->check(CLI::Range(0.001, 1e9));
  app->add_option("--lcores", options.lcores, "Number of EAL lcores that receive. Default: all")
      ->type_name("N")
      ->check(CLI::Range(1, 128));
  app->add_option(
         "--spread", state->spread,
         "How both directions of a host pair reach the same lcore. software: lcores forward\n"
         "frames by their inner addresses; rss: by the NIC's hash of the outer addresses,\n"
         "with the same hash on all ports; none: not ensured; auto: software if more\n"
         "than one lcore receives")
      ->type_name("METHOD")
      ->check(CLI::IsMember({"auto", "rss", "software", "none"}))
      ->capture_default_str();
  app->add_option("--mbufs", options.mbufs,
                  "Memory pool of each port, in mbufs. Default: as many as its queues need")
      ->type_name("N")
      ->check(CLI::Range(64u, 1u << 26));
  AddAnalysis(*app, options.analysis, state->format);
  AddPairingFilter(*app, options.analysis.filter);
  return {.app = app,
          .run =
              [state] {
                if (std::isnan(state->seconds))
                  throw CLI::ValidationError("--seconds", "is not a number");
                if (state->seconds > 0) {
                  state->options.seconds = std::chrono::duration_cast<Duration>(
                      std::chrono::duration<double>(state->seconds));
                }
                state->options.analysis.format = FormatOf(state->format);
                CheckSections(state->options.analysis);
                state->options.spread = SpreadOf(state->spread);
                return RunCapture(state->options);
              },
          .ends_input_itself = true};
}

}  // namespace rocescope
