// SPDX-License-Identifier: BSD-3-Clause
#include "base/nearest.h"

#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

namespace rocescope {
namespace {

constexpr size_t kLongestWord = 64;  // longer words are rarely typed, and the work is quadratic

size_t Distance(std::string_view a, std::string_view b) {
  // Rows of the edit distance table: the last but one, the last, and the current one.
  std::vector<size_t> before(b.size() + 1);
  std::vector<size_t> last(b.size() + 1);
  std::vector<size_t> row(b.size() + 1);
  std::iota(last.begin(), last.end(), size_t{0});
  for (size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + (a[i - 1] != b[j - 1])});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        row[j] = std::min(row[j], before[j - 2] + 1);
      }
    }
    std::swap(before, last);
    std::swap(last, row);
  }
  return last[b.size()];
}

// Empty if several names begin with the word, or none.
std::string_view OnlyNameBeginningWith(std::string_view word,
                                       std::span<const std::string_view> known) {
  constexpr size_t kEnough = 3;  // characters
  std::string_view only;
  if (word.size() < kEnough) return only;
  for (const std::string_view name : known) {
    if (!name.starts_with(word)) continue;
    if (!only.empty()) return {};
    only = name;
  }
  return only;
}

}  // namespace

std::string_view NearestName(std::string_view word, std::span<const std::string_view> known) {
  const size_t most = std::max<size_t>(1, word.size() / 3);
  std::string_view nearest;
  size_t least = most + 1;
  if (word.size() > kLongestWord) return nearest;
  for (const std::string_view name : known) {
    if (name.size() + most < word.size() || name.size() > word.size() + most) continue;
    const size_t distance = Distance(word, name);
    if (distance >= least) continue;
    least = distance;
    nearest = name;
  }
  return nearest.empty() ? OnlyNameBeginningWith(word, known) : nearest;
}

std::string DidYouMean(std::string_view word, std::span<const std::string_view> known) {
  const std::string_view name = NearestName(word, known);
  // If the nearest name is the word itself, the word is known but invalid here, so a suggestion
  // would be useless.
  return name.empty() || name == word ? std::string()
                                      : "; did you mean \"" + std::string(name) + "\"?";
}

}  // namespace rocescope
