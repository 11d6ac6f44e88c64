// SPDX-License-Identifier: BSD-3-Clause
#include "dataplane/host/rdma_resource.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>

#include "base/utf8.h"

namespace rocescope {
namespace {

constexpr std::string_view kSpaces = " \t\r";
constexpr std::string_view kEndOfWord = " \t\r,:[]{}\"";
constexpr size_t kLongestValue = 256;

constexpr std::array<std::string_view, 12> kTextKeys = {
    "link", "lqpn", "rqpn", "type",           "state",  "rq-psn",
    "pid",  "comm", "pdn",  "path-mig-state", "sq-psn", "ifindex"};

bool IsTextKey(std::string_view word) {
  return word.starts_with("drv_") || std::ranges::find(kTextKeys, word) != kTextKeys.end();
}

bool ReadNumber(std::string_view text, uint64_t highest, uint64_t& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc{} && end == text.data() + text.size() && value <= highest;
}

// "[user@host ~]$ rdma ...", "$ rdma ...", "# rdma ...", and headings.
bool IsPromptOrComment(std::string_view line) {
  if (line.starts_with('$') || line.starts_with('#')) return true;
  const size_t end = line.find(']');
  return line.starts_with('[') && end != std::string_view::npos && end + 1 < line.size() &&
         (line[end + 1] == '$' || line[end + 1] == '#');
}

// "0: ibp0s9: pd 4 cq 4 qp 4 ..."
bool IsSummary(std::string_view line) {
  const size_t digits = line.find_first_not_of("0123456789");
  return digits != 0 && digits != std::string_view::npos && line.substr(digits).starts_with(": ");
}

class RdmaParser {
 public:
  void ReadLine(std::string_view line, bool has_line_end) {
    ++line_;
    const size_t first = line.find_first_not_of(kSpaces);
    if (first == std::string_view::npos) return;
    line.remove_prefix(first);
    if (IsPromptOrComment(line)) {
      EndCut("a prompt or comment follows");
      return;
    }
    if (line.starts_with("link ")) {
      EndCut("a line of text follows");
      ReadText(line, has_line_end);
    } else if (is_open_ || !IsSummary(line)) {
      ReadJson(line);
    }
  }

  RdmaResource Finish() {
    EndCut("the text ends");
    return std::move(result_);
  }

 private:
  void Note(std::string_view text) {
    if (result_.notes.size() < kMaxRdmaResourceNotes) {
      result_.notes.push_back(fmt::format("line {}: {}", line_, text));
    }
  }
  void Malformed(std::string_view expected) {
    ++result_.malformed;
    Note(expected);
  }

  // --- Records ---

  void Begin() {
    record_ = {.line = line_};
    is_open_ = true;
    has_device_ = has_local_ = is_other_ = is_bad_ = false;
  }

  void End() {
    is_open_ = false;
    if (is_bad_) return;
    if (is_other_ || (!has_local_ && has_device_)) {
      ++result_.skipped;
      Note("skipped: not a queue pair");
    } else if (!has_device_ || !has_local_) {
      Malformed("expected ifname and lqpn in the object");
    } else {
      result_.queue_pairs.push_back(std::move(record_));
    }
  }

  // A record without a closing brace may have lost the end of its last value.
  void EndCut(std::string_view why) {
    if (is_open_)
      Malformed(
          fmt::format("expected \"}}\" to close the object of line {}, but {}", record_.line, why));
    if (is_list_open_ && !is_open_) {
      Malformed(
          fmt::format("expected \"]\" to close the list of line {}, but {}", list_line_, why));
    }
    is_open_ = is_list_open_ = false;
    depth_ = value_arrays_ = 0;
    key_.clear();
    has_colon_ = false;
  }

  void Bad(std::string_view key, std::string_view expected, std::string_view value) {
    if (!is_bad_)
      Malformed(fmt::format("expected {} for {}, not \"{}\"", expected, key, value.substr(0, 40)));
    is_bad_ = true;
  }

  template <typename T>
  void SetNumber(std::string_view key, std::string_view value, uint64_t highest, T& field) {
    uint64_t number = 0;
    if (!ReadNumber(value, highest, number)) {
      Bad(key, fmt::format("a number up to {}", highest), value);
      return;
    }
    field = static_cast<typename T::value_type>(number);
  }

  void SetQpn(std::string_view key, std::string_view value, std::optional<Qpn>& field) {
    std::optional<uint32_t> number;
    SetNumber(key, value, k24BitMask, number);
    if (number) field = Qpn{*number};
  }

  void SetComm(std::string_view value) {
    const bool is_kernel = value.size() > 2 && value.front() == '[' && value.back() == ']';
    record_.command = is_kernel ? value.substr(1, value.size() - 2) : value;
  }

  void Set(std::string_view key, std::string_view value) {
    value = value.substr(0, kLongestValue);
    std::string valid;
    if (!IsUtf8(value)) value = valid = ReplaceInvalidUtf8(value);
    if (key == "ifname") {
      record_.device = value;
      has_device_ = !value.empty();
    } else if (key == "port") {
      SetNumber(key, value, 255, record_.port);
    } else if (key == "lqpn") {
      std::optional<Qpn> local;
      SetQpn(key, value, local);
      has_local_ = local.has_value();
      if (local) record_.local = *local;
    } else if (key == "rqpn") {
      SetQpn(key, value, record_.remote);
      if (record_.remote == Qpn{0}) record_.remote.reset();  // printed before a peer is set
    } else if (key == "type") {
      record_.type = value;
    } else if (key == "state") {
      record_.state = value;
    } else if (key == "rq-psn") {
      SetNumber(key, value, k24BitMask, record_.receive_psn);
    } else if (key == "sq-psn") {
      SetNumber(key, value, k24BitMask, record_.send_psn);
    } else if (key == "pid") {
      SetNumber(key, value, UINT32_MAX, record_.process_id);
    } else if (key == "comm") {
      SetComm(value);
    } else if (key == "srqn") {
      is_other_ = true;
    }
  }

  // --- `link mlx5_0/1 lqpn 41 rqpn 40 type RC ...` ---

  void ReadText(std::string_view line, bool has_line_end) {
    Begin();
    bool has_comm = false;
    while (!line.empty()) {
      const std::string_view key = TakeWord(line);
      if (key.empty()) break;
      std::string_view value = TakeWord(line);
      if (value.empty()) {
        Bad(key, "a value", value);
      } else if (key == "link") {
        const size_t slash = value.find('/');
        Set("ifname", value.substr(0, slash));
        const std::string_view port =
            slash == std::string_view::npos ? "-" : value.substr(slash + 1);
        if (port != "-") Set("port", port);
      } else if (key == "comm") {
        has_comm = true;
        // A program name may contain spaces.
        const char* const begin = value.data();
        for (std::string_view next = line; !next.empty();) {
          const std::string_view word = TakeWord(next);
          if (word.empty() || IsTextKey(word)) break;
          value = std::string_view(begin, static_cast<size_t>(word.data() + word.size() - begin));
          line = next;
        }
        Set(key, value);
      } else {
        Set(key, value);
      }
    }
    if (!has_line_end && !has_comm && !is_bad_) {
      Malformed("expected a line end, or comm: the line may be truncated");
      is_bad_ = true;
    }
    End();
  }

  static std::string_view TakeWord(std::string_view& line) {
    line.remove_prefix(std::min(line.find_first_not_of(kSpaces), line.size()));
    const std::string_view word = line.substr(0, line.find_first_of(kSpaces));
    line.remove_prefix(word.size());
    return word;
  }

  // --- JSON, valid or not ---

  void ReadJson(std::string_view line) {
    while (!line.empty()) {
      const char c = line.front();
      if (c == '"') {
        if (!ReadString(line)) return;
        continue;
      }
      if (kEndOfWord.find(c) == std::string_view::npos) {
        const std::string_view word = line.substr(0, line.find_first_of(kEndOfWord));
        if (!ReadWord(word)) return;
        line.remove_prefix(word.size());
        continue;
      }
      ReadPunctuation(c);
      line.remove_prefix(1);
    }
  }

  void ReadPunctuation(char c) {
    if (c == '{') {
      // A nested object without a key contains driver fields.
      if (is_open_) {
        ++depth_;
      } else {
        Begin();
      }
      EndPair();
    } else if (c == '}') {
      EndPair();
      if (depth_ > 0) {
        --depth_;
      } else if (is_open_) {
        End();
      } else {
        is_list_open_ = false;  // older iproute2 ends the list in this way
      }
    } else if (c == '[') {
      if (has_colon_ || value_arrays_ > 0) {
        ++value_arrays_;
      } else if (!is_open_) {
        is_list_open_ = true;
        list_line_ = line_;
      }
    } else if (c == ']') {
      if (value_arrays_ > 0) {
        --value_arrays_;
        if (value_arrays_ == 0) {
          if (key_ == "lqpn") is_other_ = true;  // the ranges of a shared receive queue
          EndPair();
        }
      } else if (!is_open_) {
        is_list_open_ = false;
      }
    } else if (c == ':') {
      has_colon_ = !key_.empty();
    } else if (c == ',' && value_arrays_ == 0) {
      EndPair();
    }
  }

  void EndPair() {
    key_.clear();
    has_colon_ = false;
    value_arrays_ = 0;
  }

  // Returns false if the rest of the line cannot be read.
  bool ReadString(std::string_view& line) {
    line.remove_prefix(1);
    std::string text;
    size_t i = 0;
    for (; i < line.size() && line[i] != '"'; ++i) {
      if (line[i] == '\\' && i + 1 < line.size()) ++i;
      if (text.size() < kLongestValue) text += line[i];
    }
    if (i == line.size()) {
      Malformed("expected a closing quote");
      is_bad_ = true;
      EndPair();
      return false;
    }
    line.remove_prefix(i + 1);
    if (value_arrays_ > 0) return true;
    if (has_colon_) {
      TakeValue(text);
    } else {
      key_ = std::move(text);
    }
    return true;
  }

  bool ReadWord(std::string_view word) {
    if (value_arrays_ > 0) return true;
    if (has_colon_) {
      TakeValue(word);
      return true;
    }
    Malformed(fmt::format("expected \"link\", or JSON, not \"{}\"", word.substr(0, 40)));
    if (is_open_) is_bad_ = true;
    return false;
  }

  void TakeValue(std::string_view value) {
    if (is_open_ && depth_ == 0) {
      // A repeated key that starts an object: a brace was lost.
      if (key_ == "ifname" && has_device_) {
        Malformed(fmt::format("expected \"}}\" to close the object of line {}", record_.line));
        Begin();
      }
      Set(key_, value);
    } else if (!is_open_ && !key_.starts_with("drv_")) {
      Malformed(fmt::format("expected \"{{\" before \"{}\"", key_.substr(0, 40)));
    }
    EndPair();
  }

  RdmaResource result_;
  size_t line_ = 0;
  RdmaQueuePair record_;
  bool is_list_open_ = false;  // within the brackets of the whole list
  size_t list_line_ = 0;
  bool is_open_ = false;  // within the braces of an object
  bool has_device_ = false;
  bool has_local_ = false;
  bool is_other_ = false;    // not a queue pair
  bool is_bad_ = false;      // already reported
  size_t depth_ = 0;         // depth of nested objects
  size_t value_arrays_ = 0;  // depth of arrays that are values
  std::string key_;
  bool has_colon_ = false;
};

}  // namespace

RdmaResource ParseRdmaResource(std::string_view text) {
  RdmaParser parser;
  while (!text.empty()) {
    const size_t end = text.find('\n');
    parser.ReadLine(text.substr(0, end), end != std::string_view::npos);
    if (end == std::string_view::npos) break;
    text.remove_prefix(end + 1);
  }
  return parser.Finish();
}

}  // namespace rocescope
