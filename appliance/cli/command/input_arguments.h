// SPDX-License-Identifier: BSD-3-Clause
// Options that several subcommands with captures as input have in common.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include "appliance/cli/command/analysis.h"
#include "dataplane/source/filter.h"
#include "dataplane/source/tap.h"

namespace rocescope {

// CAPTURE... and --tap NAME=FILE, in any combination.
struct CaptureArguments {
  std::vector<std::string> files;
  std::vector<TapSpec> taps;

  void AddTo(CLI::App& app);
  // Returns the run directory if one was given instead of captures, or "".
  std::string RunDirectory() const;
  CaptureTaps Take() const;
};

// A run directory names the port in its run.json; `has_run_directory` mentions it in the help.
void AddIntPort(CLI::App& app, const std::function<void(uint16_t)>& store,
                bool has_run_directory = false);

void AddTimeFilter(CLI::App& app, FrameFilter& filter);
// `host_costs` and `qp_costs` are appended to the options' help.
void AddPacketFilter(CLI::App& app, FrameFilter& filter, const std::string& host_costs = {},
                     const std::string& qp_costs = {});
// AddPacketFilter for commands that pair queue pairs: its help warns that excluded packets do not
// contribute to the pairing.
void AddPairingFilter(CLI::App& app, FrameFilter& filter);
// Checks the filter as far as possible before the first frame; throws a usage error.
void CheckFilter(const FrameFilter& filter);

// Throws a usage error if there is no capture but an option with several values, because that
// option probably consumed the captures: `--nccl-logs LOG CAPTURE` gives two logs and no capture.
// `taken` contains the name and the values of each such option.
void CheckSwallowed(
    const CaptureArguments& captures,
    std::initializer_list<std::pair<const char*, const std::vector<std::string>*>> taken);

// Adds the common options of replay and capture; only replay supports HTML and run directories.
void AddAnalysis(CLI::App& app, AnalysisOptions& options, std::string& format,
                 bool is_replay = false);
// Throws a usage error if --section is combined with another format than text.
void CheckSections(const AnalysisOptions& options);

}  // namespace rocescope
