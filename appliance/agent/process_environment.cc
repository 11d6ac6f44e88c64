// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/agent/process_environment.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>

#include "appliance/agent/small_file.h"

namespace rocescope {
namespace {

// In descending order of trust: torchrun starts one process per GPU, possibly below a launcher that
// starts one process per node.
struct Variables {
  std::array<std::string_view, 4> names;
  std::optional<uint32_t> ProcessEnvironment::* member;
};
constexpr std::array<Variables, 3> kNumbers = {{
    {{"RANK", "OMPI_COMM_WORLD_RANK", "PMI_RANK", "SLURM_PROCID"}, &ProcessEnvironment::rank},
    {{"LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID", "SLURM_LOCALID"},
     &ProcessEnvironment::local_rank},
    {{"WORLD_SIZE", "OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_NTASKS"},
     &ProcessEnvironment::world_size},
}};

std::optional<uint32_t> NumberOf(std::string_view text) {
  constexpr uint64_t kMost = 1u << 24;  // maximum rank
  const auto number = ParseDecimal(text);
  if (!number || *number > kMost) return std::nullopt;
  return static_cast<uint32_t>(*number);
}

bool IsListOfGpus(std::string_view text) {
  constexpr size_t kLongest = 1024;
  constexpr std::string_view kMay =
      "0123456789,-/:ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
  return !text.empty() && text.size() <= kLongest &&
         text.find_first_not_of(kMay) == std::string_view::npos;
}

}  // namespace

ProcessEnvironment ParseProcessEnvironment(std::string_view text) {
  ProcessEnvironment result;
  std::array<size_t, kNumbers.size()> trust;
  trust.fill(std::numeric_limits<size_t>::max());
  while (!text.empty()) {
    const std::string_view entry = text.substr(0, text.find('\0'));
    text.remove_prefix(std::min(text.size(), entry.size() + 1));
    const size_t equals = entry.find('=');
    if (equals == std::string_view::npos) continue;
    const std::string_view name = entry.substr(0, equals);
    const std::string_view value = entry.substr(equals + 1);
    if (name == "SLURM_JOB_ID") result.slurm_job_id = ParseDecimal(value);
    if (name == "CUDA_VISIBLE_DEVICES") {
      result.visible_gpus = IsListOfGpus(value) ? value : kNoKnownGpus;
    }
    for (size_t i = 0; i < kNumbers.size(); ++i) {
      for (size_t j = 0; j < kNumbers[i].names.size() && j < trust[i]; ++j) {
        if (kNumbers[i].names[j] != name) continue;
        if (const auto number = NumberOf(value)) {
          result.*kNumbers[i].member = number;
          trust[i] = j;
        }
        break;
      }
    }
  }
  return result;
}

std::optional<ProcessEnvironment> ReadProcessEnvironment(const std::string& root,
                                                         uint64_t process_id) {
  constexpr size_t kMost = size_t{256} << 10;
  const auto text = ReadRawFile(fmt::format("{}/proc/{}/environ", root, process_id), kMost);
  return text ? std::optional(ParseProcessEnvironment(*text)) : std::nullopt;
}

std::string ReadProcessCommand(const std::string& root, uint64_t process_id) {
  return ReadSmallFile(fmt::format("{}/proc/{}/comm", root, process_id), 64).value_or("");
}

}  // namespace rocescope
