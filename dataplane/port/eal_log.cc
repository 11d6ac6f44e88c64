// SPDX-License-Identifier: BSD-3-Clause
#include "dataplane/port/eal_log.h"

#include <fcntl.h>
#include <rte_log.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <utility>

namespace rocescope {

EalLog& EalLog::Install() {
  // Never destroyed: DPDK's threads may say something until the process ends.
  static EalLog* const log = [] {
    auto* made = new EalLog;
    FILE* const stream = fopencookie(
        made, "w", {.read = nullptr, .write = &EalLog::Write, .seek = nullptr, .close = nullptr});
    if (stream != nullptr) {
      setvbuf(stream, nullptr, _IOLBF, 0);
      rte_openlog_stream(stream);
    }
    return made;
  }();
  return *log;
}

ssize_t EalLog::Write(void* self, const char* text, size_t size) {
  const int level = rte_log_cur_msg_loglevel();
  const bool complaint = level > 0 && level <= static_cast<int>(RTE_LOG_WARNING);
  static_cast<EalLog*>(self)->Add({text, size}, complaint);
  return static_cast<ssize_t>(size);
}

void EalLog::Add(std::string_view text, bool complaint) {
  if (!complaint) return;
  const std::lock_guard lock(mutex_);
  if (sink_ && !collect_) {
    while (text.ends_with('\n')) text.remove_suffix(1);
    if (!text.empty()) sink_(text);
  } else if (problems_.size() + text.size() <= kMaximumKept) {
    problems_ += text;
    if (!text.ends_with('\n')) problems_ += '\n';
  }
}

std::string EalLog::TakeProblems() {
  const std::lock_guard lock(mutex_);
  return std::exchange(problems_, {});
}

void EalLog::SendTo(Sink sink) {
  const std::lock_guard lock(mutex_);
  sink_ = std::move(sink);
}

void EalLog::Collect(bool on) {
  const std::lock_guard lock(mutex_);
  collect_ = on;
}

std::string OneLine(std::string_view lines) {
  std::string line;
  while (!lines.empty()) {
    const size_t end = std::min(lines.find('\n'), lines.size());
    std::string_view part = lines.substr(0, end);
    lines.remove_prefix(std::min(end + 1, lines.size()));
    if (part.starts_with("EAL: ")) part.remove_prefix(5);
    // Said at each start that has telemetry, and means nothing.
    if (part.starts_with("TELEMETRY: No legacy callbacks")) continue;
    if (part.empty() || line.find(part) != std::string::npos) continue;
    if (!line.empty()) line += "; ";
    line += part;
  }
  return line;
}

CapturedStreams::CapturedStreams() : file_(memfd_create("eal", MFD_CLOEXEC)) {
  if (file_ < 0) return;
  std::fflush(stdout);
  std::fflush(stderr);
  for (const int stream : {STDOUT_FILENO, STDERR_FILENO}) {
    saved_[stream - 1] = fcntl(stream, F_DUPFD_CLOEXEC, 3);
    if (saved_[stream - 1] >= 0) dup2(file_, stream);
  }
}

void CapturedStreams::Release() {
  if (file_ < 0) return;
  std::fflush(stdout);
  std::fflush(stderr);
  for (const int stream : {STDOUT_FILENO, STDERR_FILENO}) {
    if (saved_[stream - 1] < 0) continue;
    dup2(saved_[stream - 1], stream);
    close(saved_[stream - 1]);
  }
  std::array<char, 4096> piece;
  lseek(file_, 0, SEEK_SET);
  for (ssize_t count; (count = read(file_, piece.data(), piece.size())) > 0;) {
    text_.append(piece.data(), static_cast<size_t>(count));
  }
  close(file_);
  file_ = -1;
}

}  // namespace rocescope
