// SPDX-License-Identifier: BSD-3-Clause
// rocescope-sim list: what is included.
#include <CLI/CLI.hpp>
#include <memory>

#include "dataplane/record/metric.h"
#include "sim/command/command.h"
#include "sim/fault/fault_parameter.h"
#include "sim/scenario/scenario.h"

namespace rocescope::sim {
namespace {

int List(const std::string& directory, const std::string& profiles) {
  const auto files = FilesOf(directory, "scenarios");
  if (!files) return Fail(files.error(), kExitInput);
  for (const std::filesystem::path& file : *files) {
    const auto text = ReadFile(file.string());
    if (!text) return Fail(text.error(), kExitInput);
    const auto scenario = LoadScenario(*text, file.string());
    if (!scenario) return Fail(scenario.error(), kExitInput);
    Print("{:<28} {}\n", file.filename().string(), scenario->about);
  }
  const auto profile_files = FilesOf(profiles, "profiles");
  if (!profile_files) return Fail(profile_files.error(), kExitInput);
  Print("\nTelemetry profiles:\n");
  for (const std::filesystem::path& file : *profile_files) {
    const auto profile = FindProfile(file.string(), profiles);
    if (!profile) return Fail(profile.error(), kExitInput);
    Print("{:<28} {}\n", profile->name, profile->about);
  }
  Print("\nFault kinds:\n");
  for (const FaultInfo& fault : kFaultInfos) {
    Print("{:<28} {}: {}\n", fault.name, NameOf(fault.place), fault.sentence);
    if (!fault.parameters.empty()) Print("{:<28}   parameters: {}\n", "", fault.parameters);
  }
  Print(
      "\nParameters of faults (in addition to onset, duration and every, which all but "
      "swapped_cables have):\n");
  for (const FaultParameter& parameter : FaultParameters()) {
    Print("{:<28} {} ({})\n", parameter.name, parameter.help,
          parameter.usual == nullptr ? std::string("required") : "default: " + parameter.usual({}));
  }
  Print("\nMetrics (for `missing` and `quirk` of profiles):\n");
  for (const MetricInfo& metric : kMetrics) {
    Print("{:<28} {}: {}\n", metric.name, metric.unit, metric.sentence);
  }
  return 0;
}

}  // namespace

void AddList(CLI::App& app, const Included& included, int& code) {
  auto directories = std::make_shared<Included>(included);
  CLI::App* list = app.add_subcommand(
      "list",
      "List the included scenarios, the telemetry profiles, the fault types with their parameters, "
      "and the metrics");
  list->add_option("--scenarios", directories->scenarios, "directory of the scenarios")
      ->type_name("DIR");
  list->add_option("--profiles", directories->profiles, "directory of the profiles")
      ->type_name("DIR");
  list->callback(
      [directories, &code] { code = List(directories->scenarios, directories->profiles); });
}

}  // namespace rocescope::sim
