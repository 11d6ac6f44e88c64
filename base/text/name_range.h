// SPDX-License-Identifier: BSD-3-Clause
// Compact lists of names, as in Slurm's host lists: "node[001-128],login[1,3]".
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace rocescope::topology {

// Expands `text` to its names, in order. Commas separate parts. Brackets contain numbers and
// ranges, which keep the leading zeros of the lower end and may have steps as in ClusterShell
// ("[0-12/4]"). With several brackets, the last one varies fastest. Returns at most `most` names of
// at most 255 characters. The error quotes the invalid text, without a file position.
Result<std::vector<std::string>> ExpandNames(std::string_view text, size_t most);

// Returns text that ExpandNames expands to these names, which must not contain brackets or commas.
std::string CompressNames(std::span<const std::string> names);

// A run of names that differ in one increasing number.
class NameRun {
 public:
  explicit NameRun(std::string first) : first_(std::move(first)) {}

  // Extends the run by `next` if it continues the run; returns whether it did.
  bool Extend(std::string_view next);
  // Returns for example "host[0-7]".
  std::string Text() const;
  size_t count() const { return count_; }
  // Returns whether the step is 1. Two names may form a run by chance: "a1" and "a7" have the step
  // 6.
  bool by_ones() const { return step_ == 1; }

 private:
  std::string NameAt(uint64_t value) const;

  std::string first_;
  size_t count_ = 1;
  size_t begin_ = 0;  // position of the number in first_
  size_t end_ = 0;
  uint64_t start_ = 0;
  uint64_t step_ = 0;
  size_t width_ = 0;  // width of a number with leading zeros, otherwise 0
};

}  // namespace rocescope::topology
