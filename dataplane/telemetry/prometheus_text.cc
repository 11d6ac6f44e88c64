// SPDX-License-Identifier: BSD-3-Clause
#include "dataplane/telemetry/prometheus_text.h"

#include <charconv>
#include <cmath>
#include <limits>

#include "base/utf8.h"

namespace rocescope {
namespace {

constexpr size_t kMaxLabels = 64;
constexpr double kFurthestMs = 9e12;  // the year 2255; in ns it fits into an int64_t

bool IsNameCharacter(char c, bool first) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == ':' ||
         (!first && c >= '0' && c <= '9');
}

// Parser of one line.
class Line {
 public:
  explicit Line(std::string_view text) : rest_(text) {}

  bool Read(PrometheusSample& sample) {
    sample.name = Name();
    if (sample.name.empty()) return false;
    SkipBlanks();
    if (Takes('{') && !Labels(sample)) return false;
    SkipBlanks();
    const auto value = NumberIn(Word());
    if (!value) return false;
    sample.value = *value;
    SkipBlanks();
    // OpenMetrics has exemplars after a '#'.
    if (rest_.empty() || rest_.front() == '#') return true;
    const std::string_view word = Word();
    const auto time = NumberIn(word);
    if (!time || !std::isfinite(*time)) return false;
    // Prometheus uses integer milliseconds, OpenMetrics uses seconds.
    const bool is_seconds = std::abs(*time) < 1e11;
    const double ms = is_seconds ? *time * 1000 : *time;
    if (std::abs(ms) > kFurthestMs) return false;
    sample.time_ms = static_cast<int64_t>(std::llround(ms));
    SkipBlanks();
    return rest_.empty() || rest_.front() == '#';
  }

 private:
  void SkipBlanks() {
    const size_t at = rest_.find_first_not_of(" \t\r");
    rest_.remove_prefix(at == std::string_view::npos ? rest_.size() : at);
  }
  bool Takes(char c) {
    if (rest_.empty() || rest_.front() != c) return false;
    rest_.remove_prefix(1);
    return true;
  }
  std::string_view Name() {
    size_t length = 0;
    while (length < rest_.size() && IsNameCharacter(rest_[length], length == 0)) ++length;
    const std::string_view name = rest_.substr(0, length);
    rest_.remove_prefix(length);
    return name;
  }
  std::string_view Word() {
    const size_t end = std::min(rest_.find_first_of(" \t\r"), rest_.size());
    const std::string_view word = rest_.substr(0, end);
    rest_.remove_prefix(end);
    return word;
  }

  bool Labels(PrometheusSample& sample) {
    while (true) {
      SkipBlanks();
      if (Takes('}')) return true;
      const std::string_view name = Name();
      SkipBlanks();
      if (name.empty() || !Takes('=')) return false;
      SkipBlanks();
      if (sample.labels.size() == kMaxLabels || !Takes('"')) return false;
      std::string value;
      // The format requires UTF-8. Replacement characters could make two names equal.
      if (!Quoted(value) || !IsUtf8(value)) return false;
      sample.labels.emplace_back(name, std::move(value));
      SkipBlanks();
      if (Takes(',')) continue;
      return Takes('}');
    }
  }

  // Parses up to the closing quote. A backslash escapes a backslash, a quote or an n (line feed);
  // other backslashes are literal.
  bool Quoted(std::string& value) {
    while (!rest_.empty()) {
      const char c = rest_.front();
      rest_.remove_prefix(1);
      if (c == '"') return true;
      if (c != '\\' || rest_.empty()) {
        value += c;
        continue;
      }
      const char escaped = rest_.front();
      rest_.remove_prefix(1);
      if (escaped != '\\' && escaped != '"' && escaped != 'n') value += '\\';
      value += escaped == 'n' ? '\n' : escaped;
    }
    return false;
  }

  static std::optional<double> NumberIn(std::string_view word) {
    constexpr double kInfinity = std::numeric_limits<double>::infinity();
    if (word == "NaN") return std::numeric_limits<double>::quiet_NaN();
    if (word == "+Inf" || word == "Inf") return kInfinity;
    if (word == "-Inf") return -kInfinity;
    if (!word.empty() && word.front() == '+') word.remove_prefix(1);
    double value = 0;
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
    if (word.empty() || error != std::errc() || end != word.data() + word.size()) {
      return std::nullopt;
    }
    return value;
  }

  std::string_view rest_;
};

}  // namespace

std::string_view PrometheusSample::Label(std::string_view wanted) const {
  for (const auto& [label, said] : labels) {
    if (label == wanted) return said;
  }
  return {};
}

PrometheusLines ParsePrometheusText(std::string_view text,
                                    const std::function<void(const PrometheusSample&)>& take) {
  PrometheusLines lines;
  PrometheusSample sample;
  while (!text.empty()) {
    const size_t end = text.find('\n');
    std::string_view line = text.substr(0, end);
    text = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
    const size_t begin = line.find_first_not_of(" \t\r");
    if (begin == std::string_view::npos || line[begin] == '#') continue;
    line.remove_prefix(begin);
    sample.labels.clear();
    sample.time_ms.reset();
    if (Line(line).Read(sample)) {
      ++lines.samples;
      take(sample);
    } else if (lines.broken++ == 0) {
      constexpr size_t kShown = 120;
      lines.first_broken = line.substr(0, kShown);
    }
  }
  return lines;
}

}  // namespace rocescope
