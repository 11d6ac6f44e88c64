// SPDX-License-Identifier: BSD-3-Clause
// The command line: what each subcommand takes, as help for people and as a struct for its code.
// CLI11 costs seconds to compile and is included here alone.
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <csignal>
#include <filesystem>
#include <functional>
#include <memory>
#include <new>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "appliance/command/capture.h"
#include "appliance/command/decode.h"
#include "appliance/command/duration.h"
#include "appliance/command/exit_code.h"
#include "appliance/command/heap.h"
#include "appliance/command/message.h"
#include "appliance/command/output.h"
#include "appliance/command/replay.h"
#include "appliance/command/score.h"
#include "appliance/command/stop_signal.h"
#include "appliance/command/topology.h"
#include "topology/text/quantity.h"

namespace rocescope {
namespace {

constexpr const char* kExitCodes =
    "Results go to standard output, messages to standard error. The first SIGINT (Ctrl-C) or\n"
    "SIGTERM ends the input, and what was read is printed; a second one ends rocescope.\n"
    "Exit codes:\n"
    "  0  success, also when the reader of the output left early (| head) or a signal ended\n"
    "     standard input\n"
    "  1  an input is damaged, a run lacks what its run.json tells of, or a signal ended the "
    "reading\n"
    "     of a file: what could be read is printed, the message says what is wrong\n"
    "  2  the command line is wrong; nothing was read\n"
    "  3  an input is missing or is nothing that rocescope reads; nothing is printed\n"
    "  4  the output could not be written, memory ran out, or rocescope itself failed\n";

// An option whose text `parse` turns into a value; `store` keeps it. A text that cannot be parsed
// is a usage error with the parser's message.
template <typename Parse, typename Store>
CLI::Option* AddParsed(CLI::App& app, const std::string& name, const std::string& value_name,
                       const std::string& help, Parse parse, Store store) {
  const auto take = [parse, store, name](const CLI::results_t& texts) {
    for (const std::string& text : texts) {
      auto value = parse(text);
      if (!value) throw CLI::ValidationError(name, value.error().message);
      store(*std::move(value));
    }
    return true;
  };
  return app.add_option(name, take, help)->type_name(value_name);
}

// Takes one value each time it is given, so that what follows is not swallowed.
CLI::Option* Repeatable(CLI::Option* option) {
  return option->expected(1, CLI::detail::expected_max_vector_size)->allow_extra_args(false);
}

// CAPTURE... and --tap NAME=FILE, in whatever mix.
struct CaptureArguments {
  std::vector<std::string> files;
  std::vector<TapSpec> taps;

  void AddTo(CLI::App& app) {
    app.add_option("CAPTURE", files,
                   "pcap or pcapng files, plain, gzip or zstd; - reads standard input.\n"
                   "Several are merged by time; each is a tap named after its file")
        ->type_name("");
    Repeatable(
        AddParsed(app, "--tap", "NAME=FILE",
                  "one more capture and the name of its tap; may be repeated, with the same\n"
                  "name for the files of one port: --tap leaf1=a.pcap0 --tap leaf1=a.pcap1",
                  ParseTapSpec, [this](TapSpec tap) { taps.push_back(std::move(tap)); }));
  }

  // The folder that was given in place of captures, or nothing.
  std::string RunDirectory() const {
    const auto is_folder = [](const std::string& path) {
      std::error_code ignored;
      return std::filesystem::is_directory(path, ignored);
    };
    const auto folder = std::find_if(files.begin(), files.end(), is_folder);
    if (folder == files.end()) return {};
    if (files.size() == 1 && taps.empty()) return *folder;
    throw CLI::ValidationError(
        "CAPTURE", fmt::format("{}: a run's folder is given alone, without captures", *folder));
  }

  CaptureTaps Take() const {
    Result<CaptureTaps> captures = MakeCaptureTaps(files, taps);
    if (!captures) throw CLI::ValidationError("CAPTURE", captures.error().message);
    return *std::move(captures);
  }
};

void AddIntPort(CLI::App& app, const std::function<void(uint16_t)>& store) {
  app.add_option_function<uint16_t>(
         "--int-port", store,
         "UDP destination port of INT reports; 32766, or what a run says, if not given.\n"
         "sFlow's is 6343")
      ->type_name("PORT")
      ->check([](const std::string& text) {
        uint16_t port = 0;
        const bool read = CLI::detail::lexical_cast(text, port);
        const bool taken = port == 0 || port == 4789 || port == 4791 || port == 6081;
        return read && !taken ? std::string()
                              : text + ": expected 1 to 65535, and no port of RoCE or tunnels";
      });
}

constexpr const char* kFilters = "Filters";

void AddTimeFilter(CLI::App& app, FrameFilter& filter) {
  AddParsed(app, "--since", "TIME",
            "frames captured at TIME or later: seconds since the epoch (1714564800.25),\n"
            "RFC 3339 (2024-05-01T12:00:00Z), or seconds after the first frame (+2.5)",
            ParseTimeBound, [&filter](TimeBound bound) { filter.since = bound; })
      ->group(kFilters);
  AddParsed(app, "--until", "TIME", "frames captured before TIME, written likewise", ParseTimeBound,
            [&filter](TimeBound bound) { filter.until = bound; })
      ->group(kFilters);
}

void AddPacketFilter(CLI::App& app, FrameFilter& filter, const std::string& host_costs = {},
                     const std::string& qp_costs = {}) {
  Repeatable(AddParsed(app, "--host", "ADDRESS",
                       "packets from or to this IPv4 or IPv6 address; may be repeated" + host_costs,
                       ParseIpAddress, [&filter](IpAddress host) { filter.hosts.push_back(host); }))
      ->group(kFilters);
  Repeatable(AddParsed(app, "--qp", "NUMBER",
                       "packets to this queue pair, and datagrams from or about it: decimal, or\n"
                       "hexadecimal as 0x11; may be repeated" +
                           qp_costs,
                       ParseQpn, [&filter](Qpn qpn) { filter.qpns.push_back(qpn); }))
      ->group(kFilters);
}

// Where what is left out is missing from the evidence.
void AddPairingFilter(CLI::App& app, FrameFilter& filter) {
  AddPacketFilter(app, filter,
                  ".\nApplied before pairing: what is left out is evidence for nothing",
                  ".\nApplied before pairing: a connection is found only if the numbers of both "
                  "its\nends are given, and NAKs and CNPs go to the sender's");
}

// What can be told before the first frame is known.
void CheckFilter(const FrameFilter& filter) {
  const Result<TimeWindow> window = filter.WindowFrom(Timestamp{});
  const bool mixed =
      filter.since && filter.until && filter.since->relative != filter.until->relative;
  if (!window && !mixed) throw CLI::ValidationError("--until", window.error().message);
}

// A subcommand's options and what runs it.
struct Command {
  CLI::App* app = nullptr;
  std::function<int()> run;
  bool ends_input_itself = false;  // calls EndInputOnSignal when it can look at it
};

Command AddDecode(CLI::App& parent) {
  struct State {
    CaptureArguments captures;
    DecodeOptions options;
    std::string format = "jsonl";
  };
  auto state = std::make_shared<State>();
  CLI::App* app = parent.add_subcommand("decode", "Print every frame as one JSON object a line");
  app->footer(
      "The keys and their units are listed in appliance/README.md; 64-bit integers are strings.\n"
      "The last line on standard error is the ledger: where every frame went.\n\n"
      "Examples:\n"
      "  rocescope decode capture.pcap -o jsonl\n"
      "  rocescope decode --icrc --qp 46 leaf1.pcapng leaf2.pcapng.zst | jq .psn\n"
      "  tcpdump -i eth1 -w - udp port 4791 | rocescope decode -");
  state->captures.AddTo(*app);
  app->add_option("-o,--output", state->format, "jsonl: one JSON object a frame")
      ->type_name("FORMAT")
      ->check(CLI::IsMember({"jsonl"}))
      ->capture_default_str();
  app->add_flag("--icrc", state->options.check_icrc,
                "compute the invariant CRC of uncut frames (key icrc_ok)");
  AddIntPort(*app, [state](uint16_t port) { state->options.ports.int_reports = port; });
  AddTimeFilter(*app, state->options.filter);
  AddPacketFilter(*app, state->options.filter);
  return {.app = app, .run = [state] {
            state->options.captures = state->captures.Take();
            CheckFilter(state->options.filter);
            return RunDecode(state->options);
          }};
}

// `--nccl-logs LOG CAPTURE` gives two logs and no capture; `taken` holds such options' words.
void CheckSwallowed(
    const CaptureArguments& captures,
    std::initializer_list<std::pair<const char*, const std::vector<std::string>*>> taken) {
  if (!captures.files.empty() || !captures.taps.empty()) return;
  for (const auto& [option, words] : taken) {
    if (words->size() < 2) continue;
    throw CLI::ValidationError(
        "CAPTURE", fmt::format("no capture was given; {0} took all words behind it, up to \"{1}\": "
                               "name the captures before {0}, or put -- in front of them",
                               option, words->back()));
  }
}

// What replay and capture both take.
void AddAnalysis(CLI::App& app, AnalysisOptions& options, std::string& format) {
  app.add_option("--nccl-logs", options.nccl_logs,
                 "NCCL_DEBUG=INFO logs: files, or folders of them; takes all words up to\nthe "
                 "next option or --")
      ->type_name("FILE|DIR");
  app.add_option("--rdma", options.rdma,
                 "output of `rdma -j resource show qp`: files, or folders of them")
      ->type_name("FILE|DIR");
  app.add_option("--slurm", options.slurm,
                 "output of `squeue --json`: whose nodes are whose; files, or folders of\nthem")
      ->type_name("FILE|DIR");
  app.add_option("-o,--output", format, "text: to be read; json: one object")
      ->type_name("FORMAT")
      ->check(CLI::IsMember({"text", "json"}))
      ->capture_default_str();
  app.add_option("--topology", options.topology,
                 "the fabric, in YAML (see `rocescope topology`): paths are worked out")
      ->type_name("FILE");
  AddParsed(app, "--interval", "TIME",
            "length of a flow record, 1ms to 4s (units: ns, us, ms, s), aligned\nto the epoch; "
            "100ms if not given",
            ParseDuration, [&options](Duration interval) { options.interval = interval; });
  app.add_flag("--icrc", options.check_icrc,
               "compute the invariant CRC of uncut frames and count the wrong ones");
  AddIntPort(app, [&options](uint16_t port) { options.int_port = port; });
}

ReportFormat FormatOf(std::string_view name) {
  return name == "json" ? ReportFormat::kJson : ReportFormat::kText;
}

Command AddReplay(CLI::App& parent) {
  struct State {
    CaptureArguments captures;
    ReplayOptions options;
    std::string format = "text";
    std::string via = "file";
  };
  auto state = std::make_shared<State>();
  CLI::App* app = parent.add_subcommand(
      "replay", "Read captures and report connections, jobs, paths, traffic, loss and marks");
  app->footer(
      "Without logs the report has connections, flows, operations, loss and marks, and NICs that\n"
      "send in step as a job, inferred. NCCL logs and rdma output add which rank, GPU and host "
      "each\n"
      "queue pair belongs to; a topology adds paths and cables, and the hosts that --slurm "
      "names.\n\n"
      "Examples:\n"
      "  rocescope replay capture.pcap\n"
      "  rocescope replay node*.pcap --nccl-logs logs/ -o json > report.json\n"
      "  rocescope replay --tap leaf1=a.pcap --tap leaf2=b.pcap --since 2024-05-01T12:00:00Z\n"
      "  rocescope replay run/        (a folder with run.json: dataplane/run/README.md)\n"
      "  tcpdump -i eth1 -w - udp port 4791 | rocescope replay -");
  state->captures.AddTo(*app);
  AddAnalysis(*app, state->options.analysis, state->format);
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
            options.via_dpdk = state->via == "dpdk";
            options.analysis.format = FormatOf(state->format);
            return RunReplay(options);
          }};
}

SpreadBy SpreadOf(std::string_view name) {
  if (name == "rss") return SpreadBy::kRss;
  if (name == "software") return SpreadBy::kSoftware;
  return name == "none" ? SpreadBy::kNone : SpreadBy::kAuto;
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

Command AddScore(CLI::App& parent) {
  struct State {
    ScoreRunOptions options;
    std::string format = "text";
  };
  auto state = std::make_shared<State>();
  CLI::App* app =
      parent.add_subcommand("score", "Hold the answers about a simulated run against its truth");
  app->footer(
      "A run's folder is replayed once for each view, that is with some of its telemetry; a "
      "folder\n"
      "of scores, as testbeds/campaign leaves them, is summed up.\n\n"
      "Exit codes: 0 every bar holds, 1 one is missed, 2 an error.\n\n"
      "Columns are in per cent: P of what is stated is right (precision), R of what there is is\n"
      "stated and right (recall); JOBS ARI is the adjusted Rand index of who is in which job;\n"
      "PATH is of octets, IN REACH what of them samples can be expected to tell. ! is a bar\n"
      "missed, \"few\" a confidence of too few answers to judge. Views about faults (full,\n"
      "leaf-switch-counters, port-sets-counters) have tables of their own.\n\n"
      "Examples:\n"
      "  rocescope score run/\n"
      "  rocescope score run/ --view leaves -o json > 0001.score.json\n"
      "  rocescope score campaign/scores/ --priors sim/draw/priors.yaml");
  app->add_option("PATH", state->options.path, "a run's folder, or one of files *.score.json")
      ->type_name("")
      ->required();
  Repeatable(
      app->add_option("--view", state->options.views,
                      "one view alone, or paths, or diagnosis: all that are about those; may be\n"
                      "repeated; all whose telemetry the run has if not given")
          ->type_name("NAME"));
  app->add_option("--report", state->options.report,
                  "what `rocescope replay -o json` printed, in place of a replay")
      ->type_name("FILE");
  app->add_option("--priors", state->options.priors,
                  "how often each kind of fault occurs, as sim/draw/priors.yaml: figures\nby them "
                  "stand beside those of the runs")
      ->type_name("FILE");
  app->add_option("-o,--output", state->format, "text: to be read; json: one object a run")
      ->type_name("FORMAT")
      ->check(CLI::IsMember({"text", "json"}))
      ->capture_default_str();
  return {.app = app, .run = [state] {
            state->options.format = FormatOf(state->format);
            return RunScore(state->options);
          }};
}

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

Command AddTopology(CLI::App& parent) {
  CLI::App* app = parent.add_subcommand(
      "topology", "Make, check, convert and show the description of a fabric");
  app->require_subcommand(1);
  app->footer("rocescope topology COMMAND --help describes one command.");
  const std::vector<Command> commands = {AddTopologyGenerate(*app), AddTopologyValidate(*app),
                                         AddTopologyConvert(*app), AddTopologyShow(*app)};
  for (const Command& command : commands) command.app->get_formatter()->column_width(26);
  return {.app = app, .run = [commands]() -> int {
            for (const Command& command : commands) {
              if (command.app->parsed()) return command.run();
            }
            return kExitUsage;
          }};
}

// The usual slip, a mistyped command, deserves better than "a subcommand is required".
std::string DescribeError(const CLI::ParseError& error, const std::vector<Command>& commands,
                          const std::vector<std::string>& words) {
  const bool none_chosen = std::none_of(commands.begin(), commands.end(),
                                        [](const Command& c) { return c.app->parsed(); });
  if (!none_chosen || words.empty() || words[0].starts_with("-")) return error.what();
  std::string names;
  for (const Command& command : commands) names += " " + command.app->get_name();
  return fmt::format("there is no command \"{}\"; the commands are:{}", words[0], names);
}

int PrintAndExit(const std::string& text) {
  return WriteToStdout(text) == OutputState::kFailed ? kExitOutput : kExitSuccess;
}

int Main(int argc, char** argv) {
  CLI::App app(
      "rocescope reads captures of RoCEv2 traffic and says who talks to whom, and how well.",
      "rocescope");
  app.footer(std::string("rocescope COMMAND --help describes one command.\n\n") + kExitCodes);
  app.set_version_flag("--version", "rocescope " ROCESCOPE_VERSION, "Print the version and exit");
  app.set_help_flag("-h,--help", "Print this text and exit");
  app.get_formatter()->column_width(26);
  app.require_subcommand(1);
  const std::vector<Command> commands = {AddDecode(app), AddReplay(app), AddCapture(app),
                                         AddScore(app), AddTopology(app)};
  for (const Command& command : commands) command.app->get_formatter()->column_width(26);

  const auto usage_error = [&](const CLI::App& at, const std::string& message) {
    Message(message);
    std::string words;
    for (const CLI::App* part = &at; part != nullptr; part = part->get_parent()) {
      words = part->get_name() + (words.empty() ? "" : " ") + words;
    }
    (void)WriteAll(STDERR_FILENO, fmt::format("Run `{} --help` for what can be given.\n", words));
    return kExitUsage;
  };
  const auto chosen = [&]() -> const CLI::App& {
    const CLI::App* at = &app;
    while (!at->get_subcommands().empty()) at = at->get_subcommands().back();
    return *at;
  };
  try {
    app.parse(argc, argv);
    for (const Command& command : commands) {
      if (!command.app->parsed()) continue;
      if (!command.ends_input_itself) EndInputOnSignal();
      return command.run();
    }
  } catch (const CLI::CallForHelp&) {
    return PrintAndExit(app.help());
  } catch (const CLI::CallForVersion&) {
    return PrintAndExit(app.version() + "\n");
  } catch (const CLI::ParseError& error) {
    return usage_error(chosen(), DescribeError(error, commands, {argv + 1, argv + argc}));
  }
  return kExitUsage;
}

}  // namespace
}  // namespace rocescope

int main(int argc, char** argv) {
  rocescope::HoldStandardStreams();
  rocescope::PrepareHeap();
  std::signal(SIGPIPE, SIG_IGN);  // a closed pipe is then an error that write() returns
  try {
    return rocescope::Main(argc, argv);
  } catch (const std::bad_alloc&) {
    rocescope::Message(
        "out of memory: give fewer captures or logs at once, less of a capture (replay's --since "
        "and --until), or fewer mbufs");
    return rocescope::kExitOutput;
  } catch (const std::exception& error) {
    rocescope::Message(fmt::format("internal error: {}", error.what()));
    return rocescope::kExitOutput;
  }
}
