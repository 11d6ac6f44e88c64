// SPDX-License-Identifier: BSD-3-Clause
// What DPDK says while it starts, and after: it writes to its log, to standard error and, when it
// does not like an argument, a page of usage to standard output, where only results belong.
#pragma once

#include <cstdio>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>

namespace rocescope {

class EalLog {
 public:
  using Sink = std::function<void(std::string_view)>;

  // DPDK's log comes here from now on, to the process' end.
  static EalLog& Install();

  // Lines of errors and warnings are collected at first, and go to the sink once it is set, except
  // while Collect(true) holds.
  void SendTo(Sink sink);
  void Collect(bool on);

  // What was collected since the last call, each line ended by '\n'.
  std::string TakeProblems();

 private:
  static ssize_t Write(void* self, const char* text, size_t size);
  void Add(std::string_view text, bool complaint);

  static constexpr size_t kMaximumKept = 16'384;  // octets

  std::mutex mutex_;
  std::string problems_;
  Sink sink_;
  bool collect_ = false;
};

// Lines as one line of a message, "; " between them, each once.
std::string OneLine(std::string_view lines);

// Standard output and standard error lead into a file while it lives: for the time in which EAL
// reads its arguments.
class CapturedStreams {
 public:
  CapturedStreams();
  ~CapturedStreams() { Release(); }
  CapturedStreams(const CapturedStreams&) = delete;
  CapturedStreams& operator=(const CapturedStreams&) = delete;

  // Gives the streams back; what was written meanwhile is in text().
  void Release();
  const std::string& text() const { return text_; }

 private:
  int file_ = -1;
  int saved_[2] = {-1, -1};
  std::string text_;
};

}  // namespace rocescope
