// SPDX-License-Identifier: BSD-3-Clause
// Which job and rank a process is of, by the variables that launchers set. Nothing else of its
// environment is kept or told.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace rocescope {

// Neither a GPU's number nor its UUID.
inline constexpr std::string_view kNoKnownGpus = "none";

struct ProcessEnvironment {
  std::optional<uint64_t> slurm_job_id;
  std::optional<uint32_t> rank;  // torchrun's before MPI's before Slurm's: the innermost launcher's
  std::optional<uint32_t> local_rank;
  std::optional<uint32_t> world_size;
  // CUDA_VISIBLE_DEVICES; kNoKnownGpus where it is empty, which hides all of them, or its
  // characters are not those of such lists.
  std::string visible_gpus;

  bool IsEmpty() const {
    return !slurm_job_id && !rank && !local_rank && !world_size &&
           (visible_gpus.empty() || visible_gpus == kNoKnownGpus);
  }
  friend bool operator==(const ProcessEnvironment&, const ProcessEnvironment&) = default;
};

// The content of /proc/PID/environ: NAME=VALUE, each ended by a NUL. Never fails.
ProcessEnvironment ParseProcessEnvironment(std::string_view text);

// Of this process. None: it is gone, or another user's, which takes CAP_SYS_PTRACE to read.
std::optional<ProcessEnvironment> ReadProcessEnvironment(const std::string& root,
                                                         uint64_t process_id);
// /proc/PID/comm, which anybody may read; empty: it is gone.
std::string ReadProcessCommand(const std::string& root, uint64_t process_id);

}  // namespace rocescope
