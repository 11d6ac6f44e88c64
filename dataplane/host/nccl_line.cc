// SPDX-License-Identifier: BSD-3-Clause
#include "dataplane/host/nccl_line.h"

#include <array>
#include <charconv>

namespace rocescope {
namespace {

constexpr std::string_view kMark = " NCCL ";
constexpr std::array<std::string_view, 5> kLevels = {"INFO", "WARN", "TRACE", "CALL", "ABORT"};
// A prefix is short: a host name (64 characters on Linux), three numbers, and for WARN a source
// location.
constexpr size_t kLongestFrame = 512;
constexpr int kMaxWordsBeforeMark = 6;

template <typename T>
bool ReadWhole(std::string_view text, T& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc{} && end == text.data() + text.size() && !text.empty();
}

// "[3]"
bool ReadCudaDevice(std::string_view word, int& device) {
  return word.size() > 2 && word.front() == '[' && word.back() == ']' &&
         ReadWhole(word.substr(1, word.size() - 2), device);
}

bool IsHostCharacter(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-' ||
         c == '.' || c == '_';
}

// Parses "label:host:pid:tid": sets the host, both numbers, and the offset of the host in the word.
bool ReadOwner(std::string_view word, NcclLine& line, size_t& host_begin) {
  const size_t thread_colon = word.rfind(':');
  if (thread_colon == std::string_view::npos || thread_colon == 0) return false;
  const size_t process_colon = word.rfind(':', thread_colon - 1);
  if (process_colon == std::string_view::npos || process_colon == 0) return false;
  if (!ReadWhole(word.substr(thread_colon + 1), line.thread_id)) return false;
  if (!ReadWhole(word.substr(process_colon + 1, thread_colon - process_colon - 1),
                 line.process_id)) {
    return false;
  }
  host_begin = process_colon;
  while (host_begin > 0 && IsHostCharacter(word[host_begin - 1])) --host_begin;
  line.host = word.substr(host_begin, process_colon - host_begin);
  return !line.host.empty();
}

// Searches backwards from "NCCL" for `host:pid:tid [cudaDev]`.
bool ReadFrame(std::string_view line, size_t from, size_t mark, NcclLine& result) {
  size_t lowest = from;
  if (mark - from > kLongestFrame) lowest = mark - kLongestFrame;
  size_t end = mark;
  bool device_read = false;
  for (int i = 0; i < kMaxWordsBeforeMark && end > lowest; ++i) {
    size_t begin = end;
    while (begin > lowest && line[begin - 1] != ' ') --begin;
    const std::string_view word = line.substr(begin, end - begin);
    size_t host_begin = 0;
    if (device_read && ReadOwner(word, result, host_begin)) {
      result.begin = begin + host_begin;
      return true;
    }
    device_read = ReadCudaDevice(word, result.cuda_device);
    end = begin > lowest ? begin - 1 : lowest;
  }
  return false;
}

}  // namespace

std::optional<NcclLine> FindNcclLine(std::string_view line, size_t from) {
  for (size_t mark = line.find(kMark, from); mark != std::string_view::npos;
       mark = line.find(kMark, mark + 1)) {
    const std::string_view after = line.substr(mark + kMark.size());
    for (const std::string_view level : kLevels) {
      if (!after.starts_with(level)) continue;
      const std::string_view text = after.substr(level.size());
      if (!text.empty() && text.front() != ' ') continue;
      NcclLine result;
      if (!ReadFrame(line, from, mark, result)) break;
      result.message = text.empty() ? text : text.substr(1);
      result.message_begin = line.size() - result.message.size();
      return result;
    }
  }
  return std::nullopt;
}

}  // namespace rocescope
