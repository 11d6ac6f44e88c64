// SPDX-License-Identifier: BSD-3-Clause
// Captures DPDK's output during and after its start. DPDK logs to standard error and, if it rejects
// an argument, prints a usage page to standard output, which is reserved for results.
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

  // Redirects DPDK's log to this object until the process ends.
  static EalLog& Install();

  // Errors and warnings are collected at first. Once a sink is set they go to the sink, except
  // while Collect(true) is in effect.
  void SendTo(Sink sink);
  void Collect(bool on);

  // Returns what was collected since the last call, each line with '
  // '.
  std::string TakeProblems();

 private:
  static ssize_t Write(void* self, const char* text, size_t size);
  void Add(std::string_view text, bool complaint);

  static constexpr size_t kMaximumKept = 16'384;  // bytes

  std::mutex mutex_;
  std::string problems_;
  Sink sink_;
  bool collect_ = false;
};

// Joins lines into one line for a message, separated by "; ", without duplicates.
std::string OneLine(std::string_view lines);

// Redirects standard output and standard error into a file during its lifetime, while EAL parses
// its arguments.
class CapturedStreams {
 public:
  CapturedStreams();
  ~CapturedStreams() { Release(); }
  CapturedStreams(const CapturedStreams&) = delete;
  CapturedStreams& operator=(const CapturedStreams&) = delete;

  // Restores the streams. text() returns what was written.
  void Release();
  const std::string& text() const { return text_; }

 private:
  int file_ = -1;
  int saved_[2] = {-1, -1};
  std::string text_;
};

}  // namespace rocescope
