// SPDX-License-Identifier: BSD-3-Clause
// What subcommands that read traffic have in common on the command line.
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

// CAPTURE... and --tap NAME=FILE, in whatever mix.
struct CaptureArguments {
  std::vector<std::string> files;
  std::vector<TapSpec> taps;

  void AddTo(CLI::App& app);
  // The folder that was given in place of captures, or nothing.
  std::string RunDirectory() const;
  CaptureTaps Take() const;
};

void AddIntPort(CLI::App& app, const std::function<void(uint16_t)>& store);

void AddTimeFilter(CLI::App& app, FrameFilter& filter);
// `host_costs` and `qp_costs` end the options' help.
void AddPacketFilter(CLI::App& app, FrameFilter& filter, const std::string& host_costs = {},
                     const std::string& qp_costs = {});
// Where what is left out is missing from the evidence.
void AddPairingFilter(CLI::App& app, FrameFilter& filter);
// What can be told before the first frame is known; a usage error if the filter cannot be.
void CheckFilter(const FrameFilter& filter);

// `--nccl-logs LOG CAPTURE` gives two logs and no capture; `taken` holds such options' words.
void CheckSwallowed(
    const CaptureArguments& captures,
    std::initializer_list<std::pair<const char*, const std::vector<std::string>*>> taken);

// What replay and capture both take; replay alone makes HTML.
void AddAnalysis(CLI::App& app, AnalysisOptions& options, std::string& format,
                 bool has_html = false);

}  // namespace rocescope
