// SPDX-License-Identifier: BSD-3-Clause
// Registered jobs on disk, so that they survive a restart. A separate thread writes all of them in
// one transaction to a database file of their own.
//
// The jobs are not stored in the history: the history is optional, drops rows when the disk is
// slow, and deletes old rows. The registered jobs must be complete, and are small.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "appliance/common/process/notice.h"
#include "appliance/daemon/history/file_lock.h"
#include "base/result.h"
#include "dataplane/host/allocation.h"

namespace rocescope {

struct DatabaseKind;
const DatabaseKind& JobKind();

class JobFile {
 public:
  // Opens and reads the file. A damaged job file is moved to FILE.broken-TIME, which `notify`
  // reports. A file that is not a job file, a file of a newer version, or a file that another
  // process has locked is an error and is not changed.
  static Result<std::unique_ptr<JobFile>> Open(
      const std::string& path, const Notify& notify,
      std::chrono::milliseconds longest_end = std::chrono::seconds(5));
  // Writes pending changes first. If that takes longer than `longest_end`, as when the disk hangs,
  // `notify` reports it, and the thread is abandoned with the lock of the file.
  ~JobFile();

  // Jobs in the file when it was opened.
  const std::vector<Allocation>& found() const { return found_; }
  // Jobs that were lost when the file was opened, one sentence for each reason: a damaged file that
  // was moved, or rows that could not be read.
  const std::vector<std::string>& losses() const { return losses_; }

  // Saves the jobs, in the order of ids, asynchronously. Thread-safe. If several versions are saved
  // during a write, only the newest is written next. Returns the version for WaitFor, counted
  // from 1. Node names must fulfil topology::IsNodeName.
  uint64_t Save(std::vector<Allocation> jobs);
  // Waits until `version` or a later one is on disk. Returns false if that takes longer than `most`
  // or, without a further wait, if the last write failed; see `problem`.
  bool WaitFor(uint64_t version, std::chrono::milliseconds most);
  // Waits until all changes are on disk. Returns false if that takes longer than `most` or fails.
  bool Flush(std::chrono::milliseconds most);
  // Returns why the file is not written, or that a write takes more than a second; empty if there
  // is no problem. A failed write is retried every second.
  std::string problem() const;

 private:
  JobFile(std::string path, const Notify& notify, FileLock lock, std::vector<Allocation> found,
          std::vector<std::string> losses);

  class Writer;
  JobFile(std::shared_ptr<Writer> writer, std::chrono::milliseconds longest_end,
          std::vector<Allocation> found, std::vector<std::string> losses);

  // Shared with its thread, which the destructor abandons if it hangs.
  const std::shared_ptr<Writer> writer_;
  const std::chrono::milliseconds longest_end_;
  const std::vector<Allocation> found_;
  const std::vector<std::string> losses_;
  std::thread thread_;
};

}  // namespace rocescope
