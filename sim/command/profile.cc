// SPDX-License-Identifier: BSD-3-Clause
// rocescope-sim profile: applies a telemetry profile to a recorded run.
#include <CLI/CLI.hpp>
#include <filesystem>
#include <memory>

#include "base/text/name_range.h"
#include "sim/command/command.h"
#include "sim/flow/flow_run.h"
#include "sim/profile/apply.h"
#include "sim/recording/recording_identity.h"
#include "sim/run/simulation.h"

namespace rocescope::sim {
namespace {

// "leaf[0-1]=gnmi-1s"
Result<ProfileOverride> ParseOverride(const std::string& text, const std::string& directory) {
  const size_t equals = text.find('=');
  const auto fail = [&](std::string_view why) {
    return MakeError(ErrorCode::kInvalidArgument, fmt::format("--override {}: {}", text, why));
  };
  if (equals == std::string::npos) return fail("expected NODES=NAME, such as leaf[0-1]=gnmi-1s");
  constexpr size_t kMostNodes = 100'000;
  auto nodes = topology::ExpandNames(std::string_view(text).substr(0, equals), kMostNodes);
  if (!nodes) return fail(nodes.error().message);
  auto profile = FindProfile(text.substr(equals + 1), directory);
  if (!profile) return fail(profile.error().message);
  return ProfileOverride{.nodes = *std::move(nodes), .profile = *std::move(profile)};
}

struct ProfileOptions {
  ApplyOptions apply;
  std::string name;
  std::vector<std::string> overrides;
  std::string directory;  // the included profiles
};

int CollectWithProfile(const ProfileOptions& command) {
  ApplyOptions options = command.apply;
  const auto profile = FindProfile(command.name, command.directory);
  if (!profile) {
    return Fail({.code = profile.error().code,
                 .message = fmt::format("--profile {}: {}", command.name, profile.error().message)},
                kExitInput);
  }
  for (const std::string& text : command.overrides) {
    auto override = ParseOverride(text, command.directory);
    if (!override) return Fail(override.error(), kExitInput);
    options.overrides.push_back(*std::move(override));
  }
  std::error_code ignored;
  const bool is_flow =
      std::filesystem::exists(std::filesystem::path(options.run) / kHistoryFile, ignored);
  if (is_flow) options.scale = 1;  // its times are real
  const auto report =
      ApplyProfile(options, *profile, is_flow ? HistoryOpener() : RecordingOpener());
  if (!report) return Fail(report.error(), ExitCodeOf(report.error()));
  const TransformReport& counters = report->counters;
  Print("{}: {} readings with the profile {}, seed {}; written to {}\n", report->manifest.scenario,
        counters.readings, profile->name, options.seed, options.directory);
  Print("  lost: {} readings and {} polls; {} late, {} reordered, {} duplicates\n", counters.lost,
        counters.lost_polls, counters.late, counters.reordered, counters.duplicates);
  return 0;
}

}  // namespace

void AddProfile(CLI::App& app, const Included& included, int& code) {
  auto options = std::make_shared<ProfileOptions>();
  options->directory = included.profiles;
  CLI::App* profile = app.add_subcommand(
      "profile", "Write a recorded run as a collector with a telemetry profile would have seen it");
  profile->add_option("RUN", options->apply.run, "run directory written with `run --record`")
      ->required()
      ->type_name("");
  profile
      ->add_option("--profile", options->name,
                   "name of an included profile (see `list`), or a file that ends in .yaml")
      ->required()
      ->type_name("NAME");
  profile
      ->add_option("--override", options->overrides,
                   "read some nodes with another profile; for example 'leaf[0-1]=gnmi-1s'; may be "
                   "repeated")
      ->expected(1)
      ->take_all()
      ->type_name("NODES=NAME");
  profile
      ->add_option(
          "-d", options->apply.directory,
          "run directory to write; created if it does not exist, and a run in it is replaced")
      ->required()
      ->type_name("DIR");
  profile
      ->add_option("--seed", options->apply.seed,
                   "random seed of the phases, losses and delays (default: 1)")
      ->check(WholeNumber(UINT64_MAX >> 1))
      ->type_name("N");
  profile->add_option("--profiles", options->directory, "directory of the included profiles")
      ->type_name("DIR");
  profile->callback([options, &code] { code = CollectWithProfile(*options); });
}

}  // namespace rocescope::sim
