// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/cli/command/input_arguments.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "appliance/cli/command/arguments.h"
#include "appliance/common/config/byte_size.h"
#include "appliance/common/config/duration.h"
#include "appliance/common/report/replay_report.h"

namespace rocescope {
namespace {

constexpr const char* kFilters = "Filters";

}  // namespace

void CaptureArguments::AddTo(CLI::App& app) {
  app.add_option("CAPTURE", files,
                 "pcap or pcapng files, plain, gzip or zstd; - reads standard input.\n"
                 "Several files are merged by time; each is a tap named after its file")
      ->type_name("");
  Repeatable(AddParsed(app, "--tap", "NAME=FILE",
                       "Additional capture with a tap name. Repeatable; use the same name for\n"
                       "all files of one port: --tap leaf1=a.pcap0 --tap leaf1=a.pcap1",
                       ParseTapSpec, [this](TapSpec tap) { taps.push_back(std::move(tap)); }));
}

std::string CaptureArguments::RunDirectory() const {
  const auto is_folder = [](const std::string& path) {
    std::error_code ignored;
    return std::filesystem::is_directory(path, ignored);
  };
  const auto folder = std::find_if(files.begin(), files.end(), is_folder);
  if (folder == files.end()) return {};
  if (files.size() == 1 && taps.empty()) return *folder;
  throw CLI::ValidationError(
      "CAPTURE",
      fmt::format("{}: a run directory cannot be combined with other captures", *folder));
}

CaptureTaps CaptureArguments::Take() const {
  Result<CaptureTaps> captures = MakeCaptureTaps(files, taps);
  if (!captures) throw CLI::ValidationError("CAPTURE", captures.error().message);
  return *std::move(captures);
}

void AddIntPort(CLI::App& app, const std::function<void(uint16_t)>& store, bool has_run_directory) {
  app.add_option_function<uint16_t>(
         "--int-port", store,
         fmt::format("UDP destination port of INT reports. Default: 32766{}.\n"
                     "The port of sFlow is 6343 and has no option",
                     has_run_directory ? ", or for a run directory the port in its run.json" : ""))
      ->type_name("PORT")
      ->check([](const std::string& text) {
        uint16_t port = 0;
        const bool read = CLI::detail::lexical_cast(text, port);
        const bool taken = port == 0 || port == 4789 || port == 4791 || port == 6081;
        return read && !taken
                   ? std::string()
                   : text + ": expected a port from 1 to 65535 that is not used by RoCE or tunnels";
      });
}

void AddTimeFilter(CLI::App& app, FrameFilter& filter) {
  AddParsed(app, "--since", "TIME",
            "Only frames captured at TIME or later: seconds since the epoch (1714564800.25),\n"
            "RFC 3339 (2024-05-01T12:00:00Z), or seconds after the first frame or\n"
            "counter reading (+2.5)",
            ParseTimeBound, [&filter](TimeBound bound) { filter.since = bound; })
      ->group(kFilters);
  AddParsed(app, "--until", "TIME", "Only frames captured before TIME (same formats)",
            ParseTimeBound, [&filter](TimeBound bound) { filter.until = bound; })
      ->group(kFilters);
}

void AddPacketFilter(CLI::App& app, FrameFilter& filter, const std::string& host_costs,
                     const std::string& qp_costs) {
  Repeatable(AddParsed(app, "--host", "ADDRESS",
                       "Only packets from or to this IPv4 or IPv6 address. Repeatable" + host_costs,
                       ParseIpAddress, [&filter](IpAddress host) { filter.hosts.push_back(host); }))
      ->group(kFilters);
  Repeatable(
      AddParsed(app, "--qp", "NUMBER",
                "Only packets to this queue pair, and UD packets and CM messages that name it.\n"
                "Decimal, or hexadecimal like 0x11. Repeatable" +
                    qp_costs,
                ParseQpn, [&filter](Qpn qpn) { filter.qpns.push_back(qpn); }))
      ->group(kFilters);
}

void AddPairingFilter(CLI::App& app, FrameFilter& filter) {
  AddPacketFilter(
      app, filter,
      ".\nApplied before queue pairs are paired: excluded packets do not help to pair them",
      ".\n"
      "Applied before connections are identified: give the numbers of both queue\n"
      "pairs of a connection. NAKs and CNPs are addressed to the sender's queue pair");
}

void CheckFilter(const FrameFilter& filter) {
  const Result<TimeWindow> window = filter.WindowFrom(Timestamp{});
  const bool mixed =
      filter.since && filter.until && filter.since->relative != filter.until->relative;
  if (!window && !mixed) throw CLI::ValidationError("--until", window.error().message);
}

void CheckSwallowed(
    const CaptureArguments& captures,
    std::initializer_list<std::pair<const char*, const std::vector<std::string>*>> taken) {
  if (!captures.files.empty() || !captures.taps.empty()) return;
  for (const auto& [option, words] : taken) {
    if (words->size() < 2) continue;
    throw CLI::ValidationError(
        "CAPTURE", fmt::format("no capture given: {0} consumed all arguments up to \"{1}\"; put "
                               "the captures before {0}, or insert -- before them",
                               option, words->back()));
  }
}

void AddAnalysis(CLI::App& app, AnalysisOptions& options, std::string& format, bool is_replay) {
  app.add_option("--nccl-logs", options.nccl_logs,
                 "NCCL_DEBUG=INFO logs: files or directories. Takes all arguments up to\n"
                 "the next option or --")
      ->type_name("FILE|DIR");
  app.add_option("--rdma", options.rdma,
                 "Output of `rdma -j resource show qp`: files or directories")
      ->type_name("FILE|DIR");
  app.add_option("--slurm", options.slurm,
                 "Output of `squeue --json`, for the nodes of jobs: files or directories")
      ->type_name("FILE|DIR");
  AddOutputFormat(app, format, "one object", is_replay);
  CLI::Option* details =
      app.add_flag("--details", options.details, "Print all sections of the text report in full");
  Repeatable(
      app.add_option("--section", options.sections,
                     "Print only this section of the text report. Repeatable. An unknown name\n"
                     "lists the sections")
          ->type_name("NAME")
          ->check(CLI::Validator(
              [](const std::string& name) {
                const std::vector<std::string_view> known = SectionNames();
                return std::ranges::find(known, name) != known.end()
                           ? std::string()
                           : fmt::format("unknown section \"{}\"; sections: {}", name,
                                         fmt::join(known, ", "));
              },
              "")))
      ->excludes(details);
  app.add_option(
         "--topology", options.topology,
         "Topology file (YAML, see `rocescope topology`). Required for paths and the diagnosis")
      ->type_name("FILE");
  AddParsed(app, "--interval", "TIME",
            "Interval of flow records, 1ms to 4s (units: ns, us, ms, s), aligned\n"
            "to the epoch. Default: 100ms",
            ParseDuration, [&options](Duration interval) { options.interval = interval; });
  AddParsed(
      app, "--window", "TIME",
      fmt::format("Length of an analysis window, 1us to 1h, aligned to the epoch. The diagnosis\n"
                  "compares up to 256 windows with each other; anomalies and hotspots cover the\n"
                  "last 256. A window must not be shorter than the polling interval of the\n"
                  "counters.\n"
                  "Default: {}1s",
                  is_replay ? "the window of a run directory, or " : ""),
      ParseDuration, [&options](Duration window) { options.window = window; });
  AddParsed(
      app, "--memory", "SIZE",
      fmt::format("Memory budget, 256M or more (suffixes: K, M, G). Flows that do not fit are\n"
                  "not analysed, which a note in the report says. Default: {}",
                  FormatBytes(kDefaultMemory)),
      ParseBytes, [&options](uint64_t bytes) { options.memory = bytes; });
  app.add_flag("--icrc", options.check_icrc,
               "Compute the ICRC of frames that are not truncated, and count invalid ones");
  AddIntPort(app, [&options](uint16_t port) { options.int_port = port; }, is_replay);
}

void CheckSections(const AnalysisOptions& options) {
  if (options.sections.empty() || options.format == ReportFormat::kText) return;
  throw CLI::ValidationError("--section", "requires -o text");
}

}  // namespace rocescope
