// SPDX-License-Identifier: BSD-3-Clause
// Many names in few words, as Slurm's host lists have them: "node[001-128],login[1,3]".
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace rocescope::topology {

// The names that `text` stands for, in its order: parts between commas; in brackets, numbers and
// ranges of them, which count up with the zeros of their lower end and, as in ClusterShell, by
// steps ("[0-12/4]"). Of several brackets the last counts fastest. At most `most` names. The error
// quotes what is wrong, without a place.
Result<std::vector<std::string>> ExpandNames(std::string_view text, size_t most);

// Words that ExpandNames turns into these names. They must be without brackets and commas.
std::string CompressNames(std::span<const std::string> names);

// Names that count up by one number in them.
class NameRun {
 public:
  explicit NameRun(std::string first) : first_(std::move(first)) {}

  // Whether `next` goes on where the run ends; takes it if so.
  bool Extend(std::string_view next);
  // "host[0-7]"
  std::string Text() const;
  size_t count() const { return count_; }
  // Two names may be a run by chance: "a1" and "a7" count by six.
  bool by_ones() const { return step_ == 1; }

 private:
  std::string NameAt(uint64_t value) const;

  std::string first_;
  size_t count_ = 1;
  size_t begin_ = 0;  // of the number in first_
  size_t end_ = 0;
  uint64_t start_ = 0;
  uint64_t step_ = 0;
  size_t width_ = 0;  // of a number with zeros in front; else 0
};

}  // namespace rocescope::topology
