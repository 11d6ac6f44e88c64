// SPDX-License-Identifier: BSD-3-Clause
// rocescope-sim draw: generates random scenarios.
#include <CLI/CLI.hpp>
#include <filesystem>
#include <map>
#include <memory>

#include "sim/command/command.h"
#include "sim/draw/draw.h"
#include "sim/emit/output_file.h"

namespace rocescope::sim {
namespace {

// CLI::Range alone accepts NaN.
CLI::Validator Finite() {
  return {[](const std::string& text) {
            return text.find_first_of("nN") == std::string::npos ? "" : text + " is not a number";
          },
          ""};
}

struct DrawCommand {
  std::string priors;
  DrawOptions options;
  std::string model;
  uint32_t count = 0;
  std::string directory;
};

// Scenarios of another draw would be mistaken for those of this one. They are not removed, because
// they may have been edited.
Status CheckNoScenarios(const std::string& directory) {
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(directory, error)) {
    if (entry.path().extension() != ".yaml") continue;
    return MakeError(ErrorCode::kInvalidArgument,
                     fmt::format("{}: the directory already contains scenarios ({}): remove them, "
                                 "or choose another directory with -d",
                                 directory, entry.path().filename().string()));
  }
  return {};
}

int DrawAll(const DrawCommand& command) {
  const auto& [priors, given, model, count, directory] = command;
  DrawOptions options = given;
  if (model == "flow") {
    options.model = Model::kFlow;
    options.benign = true;
    if (options.most_faults == 0) options.most_faults = kMaxConcurrent;
  }
  const auto text = ReadFile(priors, "; set the file with --priors");
  if (!text) return Fail(text.error(), kExitInput);
  auto loaded = LoadPriors(*text, priors);
  if (!loaded) return Fail(loaded.error(), kExitInput);
  options.priors = *std::move(loaded);
  std::error_code error;
  std::filesystem::create_directories(directory, error);
  if (error) {
    return Fail({.code = ErrorCode::kUnavailable,
                 .message = fmt::format("{}: cannot be created: {}", directory, error.message())},
                kExitOutput);
  }
  if (const Status empty = CheckNoScenarios(directory); !empty) {
    return Fail(empty.error(), kExitOutput);
  }
  std::map<std::string_view, uint32_t> kinds;
  for (uint32_t number = 1; number <= count; ++number) {
    const auto drawn = DrawScenario(options, number);
    if (!drawn) return Fail(drawn.error(), kExitInput);
    const std::string path = fmt::format("{}/{}.yaml", directory, drawn->name);
    if (const Status written = WriteFile(path, drawn->yaml); !written) {
      return Fail(written.error(), kExitOutput);
    }
    for (const FaultKind kind : drawn->kinds) ++kinds[InfoOf(kind).name];
    if (drawn->kinds.empty()) ++kinds["healthy"];
  }
  Print("{} scenarios in {}, seed {}:\n", count, directory, options.seed);
  for (const auto& [kind, number] : kinds) Print("  {:<22} {}\n", kind, number);
  return 0;
}

}  // namespace

void AddDraw(CLI::App& app, const Included& included, int& code) {
  auto command = std::make_shared<DrawCommand>();
  command->priors = included.priors;
  CLI::App* draw =
      app.add_subcommand("draw", "Generate random scenarios, one file each, for `run`");
  draw->add_option(
          "--model", command->model,
          "packet: runs of milliseconds; flow: runs of one to six hours, with benign events "
          "and up to four concurrent faults as with --benign and --max-faults 4 (default: "
          "packet)")
      ->check(CLI::IsMember({"packet", "flow"}))
      ->type_name("MODEL");
  draw->add_option("--count", command->count, "number of scenarios")
      ->required()
      ->check(CLI::Range(1, 9999))
      ->type_name("N");
  draw->add_option("--seed", command->options.seed,
                   "random seed; the same seed gives the same files (default: 1)")
      ->check(WholeNumber(UINT64_MAX))
      ->type_name("N");
  draw->add_option("-d", command->directory,
                   "output directory without scenarios; created if it does not exist")
      ->required()
      ->type_name("DIR");
  draw->add_flag("--stratified", command->options.stratified,
                 "draw all fault types equally often instead of by weight");
  draw->add_option("--priors", command->priors,
                   "file with the weights of the fault types and the loss rates")
      ->type_name("FILE");
  draw->add_option("--healthy", command->options.healthy,
                   "fraction of healthy scenarios, which have no fault (default: 0.3)")
      ->check(CLI::Range(0.0, 1.0) & Finite())
      ->type_name("FRACTION");
  draw->add_option(
          "--max-faults", command->options.most_faults,
          "draw up to N concurrent faults in each scenario with faults, as in the field: "
          "severities over their whole range, faults that grow, several faults at one place "
          "(default: one fault that is visible within milliseconds)")
      ->check(CLI::Range(1u, kMaxConcurrent))
      ->type_name("N");
  draw->add_flag("--lift", command->options.lift,
                 "with --max-faults: raise loss rates until the losses are visible in the run");
  draw->add_flag(
      "--benign", command->options.benign,
      "add events that are not faults: rare errors, maintenance, restarts, other traffic");
  draw->add_flag(
      "--default-logs", command->options.default_logs,
      "write all NCCL logs as NCCL_DEBUG=INFO does by default, without queue pair numbers "
      "(default: in one of four scenarios)");
  draw->add_option("--windows", command->options.windows,
                   "length of each run in analysis windows of 1 ms, or of 30 s in the flow model "
                   "(default: about 22 iterations, or one to six hours)")
      ->check(CLI::Range(kMinWindows, kMaxWindows))
      ->type_name("N");

  draw->callback([command, &code] { code = DrawAll(*command); });
}

}  // namespace rocescope::sim
