// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/cli/command/input_arguments.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "appliance/cli/command/arguments.h"
#include "appliance/common/config/duration.h"

namespace rocescope {
namespace {

constexpr const char* kFilters = "Filters";

}  // namespace

void CaptureArguments::AddTo(CLI::App& app) {
  app.add_option("CAPTURE", files,
                 "pcap or pcapng files, plain, gzip or zstd; - reads standard input.\n"
                 "Several are merged by time; each is a tap named after its file")
      ->type_name("");
  Repeatable(AddParsed(app, "--tap", "NAME=FILE",
                       "one more capture and the name of its tap; may be repeated, with the same\n"
                       "name for the files of one port: --tap leaf1=a.pcap0 --tap leaf1=a.pcap1",
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
      "CAPTURE", fmt::format("{}: a run's folder is given alone, without captures", *folder));
}

CaptureTaps CaptureArguments::Take() const {
  Result<CaptureTaps> captures = MakeCaptureTaps(files, taps);
  if (!captures) throw CLI::ValidationError("CAPTURE", captures.error().message);
  return *std::move(captures);
}

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

void AddPacketFilter(CLI::App& app, FrameFilter& filter, const std::string& host_costs,
                     const std::string& qp_costs) {
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

void AddPairingFilter(CLI::App& app, FrameFilter& filter) {
  AddPacketFilter(app, filter,
                  ".\nApplied before pairing: what is left out is evidence for nothing",
                  ".\nApplied before pairing: a connection is found only if the numbers of both "
                  "its\nends are given, and NAKs and CNPs go to the sender's");
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
        "CAPTURE", fmt::format("no capture was given; {0} took all words behind it, up to \"{1}\": "
                               "name the captures before {0}, or put -- in front of them",
                               option, words->back()));
  }
}

void AddAnalysis(CLI::App& app, AnalysisOptions& options, std::string& format, bool has_html) {
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
  AddOutputFormat(app, format, "one object", has_html);
  app.add_option("--topology", options.topology,
                 "the fabric, in YAML (see `rocescope topology`): paths are worked out")
      ->type_name("FILE");
  AddParsed(app, "--interval", "TIME",
            "length of a flow record, 1ms to 4s (units: ns, us, ms, s), aligned\nto the epoch; "
            "100ms if not given",
            ParseDuration, [&options](Duration interval) { options.interval = interval; });
  AddParsed(
      app, "--window", "TIME",
      "length of a window of analysis, 1us to 1h, aligned to the epoch: faults are\nlooked for "
      "in the last 256. The run's own, or 1s, if not given",
      ParseDuration, [&options](Duration window) { options.window = window; });
  app.add_flag("--icrc", options.check_icrc,
               "compute the invariant CRC of uncut frames and count the wrong ones");
  AddIntPort(app, [&options](uint16_t port) { options.int_port = port; });
}

}  // namespace rocescope
