// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <fmt/format.h>

#include <string>

namespace rocescope {

// Formats ascending ranges of ranks as "rank 1" or "ranks 1, 3-5".
class RankText {
 public:
  void Add(int first, int last) {
    if (first > last) return;
    if (count_ != 0 && first == last_ + 1) {
      last_ = last;  // extends the current range
    } else {
      Flush();
      first_ = first;
      last_ = last;
    }
    count_ += last - first + 1;
  }
  int count() const { return count_; }
  std::string Text() {
    Flush();
    return (count_ == 1 ? "rank " : "ranks ") + text_;
  }

 private:
  void Flush() {
    if (last_ < first_) return;
    if (!text_.empty()) text_ += ", ";
    text_ += first_ == last_ ? fmt::format("{}", first_) : fmt::format("{}-{}", first_, last_);
    last_ = first_ - 1;
  }

  std::string text_;
  int first_ = 0;
  int last_ = -1;
  int count_ = 0;
};

}  // namespace rocescope
