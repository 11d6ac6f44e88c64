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
  CLI::App* app = parent.add_subcommand(
      "replay", "Read captures or a run, and report faults, jobs, paths, traffic, loss and marks");
  app->footer(
      "Without logs the report has connections, flows, operations, loss and marks, and NICs that\n"
      "send in step as a job, inferred. NCCL logs and rdma output add which rank, GPU and host "
      "each\n"
      "queue pair belongs to; a topology adds paths, cables and the diagnosis, and the hosts that\n"
      "--slurm names.\n\n"
      "The report begins with FAULTS: what is broken, where, since when, which jobs it hurts, "
      "what\n"
      "to do, and how sure that is, from 0 to 1. They are looked for with a topology, in "
      "counters,\n"
      "mirrors, INT, sFlow and logs alike; what nothing given could have shown is listed. "
      "HOTSPOTS\n"
      "(queues that filled up), ANOMALIES (counters unlike their past and their peers) and "
      "SERVICE\n"
      "LEVELS (shares of time within bounds) are observations: healthy runs have them too.\n\n"
      "Examples:\n"
      "  rocescope replay capture.pcap\n"
      "  rocescope replay node*.pcap --nccl-logs logs/ -o json > report.json\n"
      "  rocescope replay --tap leaf1=a.pcap --tap leaf2=b.pcap --since 2024-05-01T12:00:00Z\n"
      "  rocescope replay run/        (a folder with run.json: dataplane/run/README.md)\n"
      "  rocescope replay run/ --faults\n"
      "  rocescope replay run/ --blast-radius leaf0 --needs host3\n"
      "  tcpdump -i eth1 -w - udp port 4791 | rocescope replay -");
  state->captures.AddTo(*app);
  AddAnalysis(*app, state->options.analysis, state->format, /*has_html=*/true);
  app->add_option(
         "--via", state->via,
         "how frames come in; dpdk: by net_pcap, as those of a port do (plain\nmicrosecond "
         "pcap files, no pcapng)")
      ->type_name("WAY")
      ->check(CLI::IsMember({"file", "dpdk"}))
      ->capture_default_str();
  CLI::Option* only =
      AddParsed(*app, "--only", "PARTS",
                "of a run's telemetry, with commas between: mirror, port-mirror,\nleaf-mirror or "
                "port-sets, int, sflow, counters or switch-counters,\nnccl, rdma, slurm",
                ParseRunParts, [state](const RunParts& parts) { state->options.parts = parts; });
  CLI::Option* loss =
      app->add_option("--mirror-loss", state->options.mirror_loss,
                      "lose this share of a run's mirrored frames, 0 to 1, as an\noverloaded "
                      "mirror port would; the same ones each time")
          ->type_name("SHARE")
          ->check(CLI::Range(0.0, 1.0).description(""));
  app->add_flag("--faults", state->options.faults_alone,
                "in place of the report, its FAULTS alone, with what each rests on");
  AddRequest(*app, DependencyQuestion::kBlastRadius,
             "in place of the report, who needs this element and is hit if it fails: a\n"
             "switch, host, NODE:PORT, HOST:NIC, HOST:gpu:NUMBER, a link\n"
             "NODE:PORT-NODE:PORT, a job by its id or the scheduler's number or name, a\n"
             "communicator or JOB:rank:NUMBER; with a topology; may be repeated",
             state->options.requests);
  AddRequest(*app, DependencyQuestion::kNeeds, "likewise, what this element needs",
             state->options.requests);
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
                                           "it is about a run's folder, not captures");
              }
            }
            if (!(options.mirror_loss >= 0)) {
              throw CLI::ValidationError("--mirror-loss", "is no number");
            }
            CheckFilter(options.analysis.filter);
            if (state->format == "html" && (options.faults_alone || !options.requests.empty())) {
              throw CLI::ValidationError("--output",
                                         "html is the whole: without --faults, "
                                         "--blast-radius and --needs");
            }
            options.via_dpdk = state->via == "dpdk";
            options.analysis.format = FormatOf(state->format);
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
  CLI::App* app = parent.add_subcommand(
      "capture", "Receive from DPDK ports, say what comes, and report as replay does");
  app->footer(
      "Runs until --seconds are over, SIGINT or SIGTERM comes, or all ports are files that ended;\n"
      "then prints the report. Live counts are a line a second on standard error. What a port's\n"
      "NIC lost stands beside the ledger, which is about the frames that it delivered.\n\n"
      "Examples:\n"
      "  rocescope capture --eal '-l 2-5 -a 0000:3b:00.0' --seconds 60\n"
      "  rocescope capture --eal '--no-huge -m 512 --no-pci -l 0 "
      "--vdev net_pcap0,rx_pcap=a.pcap'");
  CaptureRunOptions& options = state->options;
  app->add_option("--eal", options.eal,
                  "DPDK's own options in one argument, quoted as a shell takes them")
      ->type_name("'WORD...'")
      ->required();
  Repeatable(
      app->add_option("--port", options.ports,
                      "a port by its device's name or number; may be repeated; all that EAL\n"
                      "finds if not given")
          ->type_name("NAME|N"));
  app->add_option("--seconds", state->seconds, "how long to run")
      ->type_name("N")
      ->check(CLI::Range(0.001, 1e9));
  app->add_option("--lcores", options.lcores, "how many of EAL's lcores receive; all if not given")
      ->type_name("N")
      ->check(CLI::Range(1, 128));
  app->add_option(
         "--spread", state->spread,
         "how both directions of a host pair come to one lcore. software: an lcore passes\n"
         "frames on by their inner addresses; rss: the NIC's hash of the outer ones, the\n"
         "same on all ports; none: they do not; auto: software where more than one\n"
         "lcore receives")
      ->type_name("WAY")
      ->check(CLI::IsMember({"auto", "rss", "software", "none"}))
      ->capture_default_str();
  app->add_option("--mbufs", options.mbufs,
                  "size of each port's memory pool, in mbufs; enough for its queues if not\ngiven")
      ->type_name("N")
      ->check(CLI::Range(64u, 1u << 26));
  AddAnalysis(*app, options.analysis, state->format);
  AddPairingFilter(*app, options.analysis.filter);
  return {.app = app,
          .run =
              [state] {
                if (std::isnan(state->seconds))
                  throw CLI::ValidationError("--seconds", "is no number");
                if (state->seconds > 0) {
                  state->options.seconds = std::chrono::duration_cast<Duration>(
                      std::chrono::duration<double>(state->seconds));
                }
                state->options.analysis.format = FormatOf(state->format);
                state->options.spread = SpreadOf(state->spread);
                return RunCapture(state->options);
              },
          .ends_input_itself = true};
}

}  // namespace rocescope
