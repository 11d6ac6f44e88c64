// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/common/files/run_parts.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <vector>

#include "base/nearest.h"

namespace rocescope {
namespace {

using Flag = decltype(&RunParts::sflow);

struct Part {
  std::string_view word;
  MirrorSessions mirror;  // kNone: not a mirror part
  Flag flag;
};

constexpr std::array<Part, 11> kParts = {{
    {"mirror", MirrorSessions::kAll, nullptr},
    {"port-mirror", MirrorSessions::kPorts, nullptr},
    {"leaf-mirror", MirrorSessions::kLeafPorts, nullptr},
    {"port-sets", MirrorSessions::kPortSets, nullptr},
    {"int", MirrorSessions::kNone, &RunParts::int_reports},
    {"sflow", MirrorSessions::kNone, &RunParts::sflow},
    {"counters", MirrorSessions::kNone, &RunParts::counters},
    {"switch-counters", MirrorSessions::kNone, &RunParts::switch_counters},
    {"nccl", MirrorSessions::kNone, &RunParts::nccl_logs},
    {"rdma", MirrorSessions::kNone, &RunParts::rdma},
    {"slurm", MirrorSessions::kNone, &RunParts::slurm},
}};

Error Unknown(std::string_view word) {
  std::vector<std::string_view> words;
  for (const Part& part : kParts) words.push_back(part.word);
  return {.code = ErrorCode::kInvalidArgument,
          .message = fmt::format("unknown part of a run \"{}\"{}; expected one or more of {}", word,
                                 DidYouMean(word, words), fmt::join(words, ", "))};
}

}  // namespace

Result<RunParts> ParseRunParts(std::string_view text) {
  RunParts parts = {.mirror = MirrorSessions::kNone,
                    .int_reports = false,
                    .sflow = false,
                    .counters = false,
                    .nccl_logs = false,
                    .rdma = false,
                    .slurm = false};
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find(',', begin), text.size());
    const std::string_view word = text.substr(begin, end - begin);
    const auto* const part = std::find_if(kParts.begin(), kParts.end(),
                                          [&](const Part& known) { return known.word == word; });
    if (part == kParts.end()) return tl::unexpected(Unknown(word));
    if (part->flag != nullptr) {
      parts.*part->flag = true;
    } else if (parts.mirror == MirrorSessions::kNone) {
      parts.mirror = part->mirror;
    } else {
      return MakeError(
          ErrorCode::kInvalidArgument,
          fmt::format("\"{}\" conflicts with an earlier selection of mirrored frames", word));
    }
    begin = end + 1;
  }
  return parts;
}

}  // namespace rocescope
