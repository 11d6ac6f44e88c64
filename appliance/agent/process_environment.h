// SPDX-License-Identifier: BSD-3-Clause
// Determines the job and rank of a process from the variables that launchers set. Nothing else of
// its environment is kept or reported.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace rocescope {

// Neither a GPU index nor a UUID.
inline constexpr std::string_view kNoKnownGpus = "none";

struct ProcessEnvironment {
  std::optional<uint64_t> slurm_job_id;
  std::optional<uint32_t> rank;  // from torchrun, else MPI, else Slurm: the innermost launcher
  std::optional<uint32_t> local_rank;
  std::optional<uint32_t> world_size;
  // CUDA_VISIBLE_DEVICES. kNoKnownGpus if it is empty (which hides all GPUs) or contains invalid
  // characters.
  std::string visible_gpus;

  bool IsEmpty() const {
    return !slurm_job_id && !rank && !local_rank && !world_size &&
           (visible_gpus.empty() || visible_gpus == kNoKnownGpus);
  }
  friend bool operator==(const ProcessEnvironment&, const ProcessEnvironment&) = default;
};

// Parses the content of /proc/PID/environ: NAME=VALUE entries that end with NUL. Never fails.
ProcessEnvironment ParseProcessEnvironment(std::string_view text);

// None if the process is gone, or belongs to another user (which requires CAP_SYS_PTRACE).
std::optional<ProcessEnvironment> ReadProcessEnvironment(const std::string& root,
                                                         uint64_t process_id);
// Reads /proc/PID/comm, which requires no privileges. Empty if the process is gone.
std::string ReadProcessCommand(const std::string& root, uint64_t process_id);

}  // namespace rocescope
