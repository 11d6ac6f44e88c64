// SPDX-License-Identifier: BSD-3-Clause
// Communicators are printed as `comm <pointer> <word> <value> ... - <ending>`. The words depend on
// the release, so they are read in any order and unknown ones are ignored.
#include <algorithm>
#include <limits>

#include "dataplane/host/nccl_message.h"

namespace rocescope {
namespace {

constexpr std::string_view kCommunicatorMark = "comm 0x";
// At most "[Rank 16777215] " and a function name precede it.
constexpr size_t kLatestMark = 64;
constexpr int kInt32Min = std::numeric_limits<int32_t>::min();
constexpr int kInt32Max = std::numeric_limits<int32_t>::max();

struct Words {
  NcclCommunicator communicator;
  NcclSplit split;
  bool is_split = false;
  bool has_rank_count = false;
};

void ReadWord(std::string_view word, LineScanner& scanner, Words& words) {
  NcclCommunicator& communicator = words.communicator;
  const auto integer = [&](int64_t lowest, int64_t highest) {
    return static_cast<int>(scanner.Integer(lowest, highest));
  };
  if (word == "rank") {
    communicator.rank = integer(0, kMaxRanks - 1);
  } else if (word == "nranks" || word == "nRanks") {
    communicator.rank_count = integer(1, kMaxRanks);
    words.has_rank_count = true;
  } else if (word == "cudaDev") {
    communicator.cuda_device = integer(-1, kMaxDevices);
  } else if (word == "nvmlDev") {
    communicator.nvml_device = integer(-1, kMaxDevices);
  } else if (word == "busId") {
    communicator.bus_id = scanner.Hex();
  } else if (word == "commId") {
    communicator.comm_id = scanner.Hex();
  } else if (word == "parent") {
    words.split.parent = scanner.Hex();
    words.is_split = true;
  } else if (word == "splitCount" || word == "childCount") {
    words.split.ordinal = integer(0, kInt32Max);
  } else if (word == "color") {
    words.split.color = integer(kInt32Min, kInt32Max);
  } else if (word == "key") {
    words.split.key = integer(kInt32Min, kInt32Max);
  } else if (word == "nNodes") {
    communicator.node_count = integer(1, kMaxRanks);
  } else if (word == "localRanks") {
    communicator.local_rank_count = integer(1, kMaxRanks);
  } else if (word == "localRank") {
    communicator.local_rank = integer(0, kMaxRanks - 1);
  } else {
    scanner.Until(" ");
  }
}

// Returns the live communicator to which a later line refers, or null.
NcclCommunicator* FindLive(const NcclCommunicator& read, NcclProcessReader& reader) {
  const auto found = reader.communicator_of_pointer.find(read.pointer);
  if (found == reader.communicator_of_pointer.end()) return nullptr;
  NcclCommunicator& communicator = reader.facts.communicators[found->second];
  return communicator.end_line == 0 && communicator.rank == read.rank &&
                 communicator.rank_count == read.rank_count
             ? &communicator
             : nullptr;
}

NcclCommunicator& Add(const NcclCommunicator& read, NcclProcessReader& reader) {
  reader.communicator_of_pointer[read.pointer] = reader.facts.communicators.size();
  return reader.facts.communicators.emplace_back(read);
}

void Complete(const NcclCommunicator& read, size_t line, NcclProcessReader& reader) {
  NcclCommunicator* communicator = FindLive(read, reader);
  if (communicator == nullptr || communicator->complete_line != 0) {
    communicator = &Add(read, reader);
  }
  if (!communicator->comm_id) communicator->comm_id = read.comm_id;
  communicator->complete_line = line;
}

constexpr std::string_view kStart = "Init START";
constexpr std::string_view kComplete = "Init COMPLETE";
constexpr std::string_view kDestroyed = "Destroy COMPLETE";
constexpr std::string_view kAborted = "Abort COMPLETE";

bool IsCutEnding(std::string_view ending) {
  return std::ranges::any_of(
      std::initializer_list<std::string_view>{kStart, kComplete, kDestroyed, kAborted},
      [&](std::string_view whole) { return whole != ending && whole.starts_with(ending); });
}

MessageOutcome Apply(const Words& words, std::string_view ending, size_t line,
                     NcclProcessReader& reader) {
  const NcclCommunicator& read = words.communicator;
  if (ending == kStart) {
    Add(read, reader).begin_line = line;
  } else if (ending == kComplete) {
    Complete(read, line, reader);
  } else if (ending == kDestroyed || ending == kAborted) {
    // A log that starts late contains only the end of a communicator, which says nothing about its
    // peers.
    if (NcclCommunicator* communicator = FindLive(read, reader)) {
      communicator->end_line = line;
      communicator->aborted = ending == kAborted;
    }
  } else if (IsCutEnding(ending)) {
    return Malformed("\"Init START\", or \"Init\", \"Destroy\" or \"Abort\" with \"COMPLETE\"");
  } else {
    return {};
  }
  return Read();
}

}  // namespace

MessageOutcome ReadCommunicatorMessage(const NcclLine& frame, size_t line,
                                       NcclProcessReader& reader) {
  const size_t mark =
      frame.message.substr(0, kLatestMark + kCommunicatorMark.size()).find(kCommunicatorMark);
  if (mark == std::string_view::npos) return {};
  if (mark > 0 && frame.message[mark - 1] != ' ') return {};

  LineScanner scanner(frame.message.substr(mark));
  scanner.Literal("comm ");
  Words words{.communicator = {.thread_id = frame.thread_id}};
  words.communicator.pointer = scanner.Hex();
  scanner.Literal(" rank ");
  if (!scanner.ok()) return {};
  ReadWord("rank", scanner, words);
  bool has_ending = false;
  while (scanner.ok() && !scanner.at_end()) {
    scanner.SkipSpaces();
    has_ending = scanner.Accept("- ");
    if (has_ending || scanner.at_end()) break;
    const std::string_view word = scanner.Until(" ");
    scanner.Literal(" ");
    ReadWord(word, scanner, words);
  }
  if (!scanner.ok()) return Malformed(scanner);
  if (!words.has_rank_count) return {};
  if (words.is_split) words.communicator.split = words.split;
  scanner.Require(words.communicator.rank < words.communicator.rank_count,
                  "a rank below the number of ranks");
  if (!scanner.ok()) return Malformed(scanner);
  if (has_ending) return Apply(words, scanner.rest(), line, reader);
  if (words.communicator.local_rank < 0) return Malformed("\" - Init START\" or another ending");

  // `comm .. rank .. nRanks .. nNodes .. localRanks .. localRank .. MNNVL ..`
  if (NcclCommunicator* communicator = FindLive(words.communicator, reader)) {
    communicator->node_count = words.communicator.node_count;
    communicator->local_rank_count = words.communicator.local_rank_count;
    communicator->local_rank = words.communicator.local_rank;
  }
  return Read();
}

}  // namespace rocescope
