// SPDX-License-Identifier: BSD-3-Clause
// rocescope-sim: simulates a fabric and writes its telemetry. Links ns-3 (GPL-2.0-only).
#include <google/protobuf/stubs/logging.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <new>

#include "base/file_size_signal.h"
#include "sim/command/command.h"

namespace {

using namespace rocescope::sim;

constexpr const char* kFooter =
    "Exit codes: 0 success; 2 invalid command line; 3 the scenario, profile or run cannot be read\n"
    "or is invalid (nothing was simulated); 4 the output could not be written.\n"
    "rocescope-sim links ns-3 and is distributed under the GNU GPL, version 2.\n";

}  // namespace

int main(int argc, char** argv) {
  rocescope::IgnoreFileSizeSignal();
  google::protobuf::SetLogHandler(nullptr);  // our errors name the file
  CLI::App app("Simulate RoCEv2 fabrics: write their telemetry and the ground truth");
  app.require_subcommand(1);
  app.footer(kFooter);
  const Included included = {
      .scenarios = ROCESCOPE_SCENARIOS, .profiles = ROCESCOPE_PROFILES, .priors = ROCESCOPE_PRIORS};
  int code = 0;
  AddRun(app, included, code);
  AddList(app, included, code);
  AddProfile(app, included, code);
  AddDraw(app, included, code);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : kExitUsage;
  } catch (const std::bad_alloc&) {
    return Fail({.code = rocescope::ErrorCode::kResourceExhausted,
                 .message = "out of memory: simulate a smaller fabric or a shorter time"},
                kExitOutput);
  }
  if (code == 0 && (std::fflush(stdout) != 0 || std::ferror(stdout) != 0)) {
    return Fail(
        {.code = rocescope::ErrorCode::kUnavailable, .message = "cannot write to standard output"},
        kExitOutput);
  }
  return code;
}
