// SPDX-License-Identifier: BSD-3-Clause
// The commands of rocescope-sim, and what they share: messages, exit codes and input files.
#pragma once

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "sim/engine/time.h"
#include "sim/profile/profile.h"

namespace rocescope::sim {

inline constexpr int kExitUsage = 2;
inline constexpr int kExitInput = 3;
inline constexpr int kExitOutput = 4;

// Where the included files are, unless options say otherwise.
struct Included {
  std::string scenarios;  // directory
  std::string profiles;   // directory
  std::string priors;     // file
};

// Each adds a command with its options. Parsing the command executes it and assigns its exit code
// to `code`, which must outlive `app`.
void AddRun(CLI::App& app, const Included& included, int& code);
void AddList(CLI::App& app, const Included& included, int& code);
void AddProfile(CLI::App& app, const Included& included, int& code);
void AddDraw(CLI::App& app, const Included& included, int& code);

// Ignores write errors; the program checks standard output at the end.
template <typename... Args>
void Print(std::FILE* out, fmt::format_string<Args...> format, Args&&... args) {
  const std::string text = fmt::format(format, std::forward<Args>(args)...);
  std::fwrite(text.data(), 1, text.size(), out);
}
template <typename... Args>
void Print(fmt::format_string<Args...> format, Args&&... args) {
  Print(stdout, format, std::forward<Args>(args)...);
}

// CLI11 alone accepts -1 and numbers above the maximum.
CLI::Validator WholeNumber(uint64_t most);

// Prints the message. Returns `code`.
int Fail(const Error& error, int code);
int ExitCodeOf(const Error& error);

// Reads a file of at most 64 MiB. `hint` ends the message if the file cannot be opened.
// kNotFound, kInvalidArgument.
Result<std::string> ReadFile(const std::string& path, std::string_view hint = "");

// Returns the YAML files of a directory of `what`, sorted by name. kNotFound if there are none.
Result<std::vector<std::filesystem::path>> FilesOf(const std::string& directory,
                                                   std::string_view what);

// Loads a profile by the name of an included one or by its file, whose name ends in .yaml.
Result<Profile> FindProfile(const std::string& name, const std::string& directory);

// "12.50 ms", "3.00 s", "24.00 h"
std::string TimeText(SimTime time);

}  // namespace rocescope::sim
