// SPDX-License-Identifier: BSD-3-Clause
// Registered jobs on the disk, so that a box that begins anew knows them: a small file, written
// whole into another one and put in its place, by a thread of its own.
//
// Not in the history's database: that one is optional, drops rows rather than wait, and forgets by
// age; who runs where has to be right, and is small.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "dataplane/host/allocation.h"
#include "appliance/daemon/history/file_lock.h"
#include "base/result.h"

namespace rocescope {

class JobFile {
 public:
  // Reads what is there. One of ours that is broken is moved aside to FILE.broken-TIME, which
  // `tell` says. What is none of ours, or a newer rocescope's, is an error and not touched; so is
  // another box that has the file.
  static Result<std::unique_ptr<JobFile>> Open(const std::string& path,
                                               const std::function<void(const std::string&)>& tell);
  // What was saved is written first.
  ~JobFile();

  // What the file held when it was opened.
  const std::vector<Allocation>& found() const { return found_; }

  // Any thread. Returns at once: the newest is written as soon as the one before is on the disk,
  // however many are saved in between. Returns what to wait for: counts from 1.
  uint64_t Save(std::vector<Allocation> jobs);
  // Until what was saved as `version`, or later, is on the disk. False: not within `most`, or it
  // cannot be written now; `problem` says why.
  bool WaitFor(uint64_t version, std::chrono::milliseconds most);
  // Until all that was saved is written; false: not within `most`, or it could not be.
  bool Flush(std::chrono::milliseconds most);
  // Why it is not written now, or that it takes more than a second; what failed is tried again each
  // second. Empty: it is written.
  std::string problem() const;

 private:
  JobFile(std::string path, FileLock lock, std::vector<Allocation> found);

  void Run();

  const std::string path_;
  const FileLock lock_;
  const std::vector<Allocation> found_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::optional<std::vector<Allocation>> next_;
  uint64_t saved_ = 0;    // versions
  uint64_t written_ = 0;  // the newest that is on the disk
  bool writing_ = false;
  std::chrono::steady_clock::time_point writing_since_;
  bool ending_ = false;
  std::string problem_;
  std::thread thread_;
};

}  // namespace rocescope
