// SPDX-License-Identifier: BSD-3-Clause
// An SQLite file with a small state that must be complete, such as the registered jobs. A separate
// thread writes the newest version of the state in one transaction.
//
// Such a state is not stored in the history: the history is optional, drops rows when the disk is
// slow, and deletes old rows.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "appliance/common/process/notice.h"
#include "base/result.h"

namespace SQLite {
class Database;
}

namespace rocescope {

struct DatabaseKind;

class StateFile {
 public:
  struct Options {
    const DatabaseKind* kind = nullptr;  // must outlive the file
    const char* thread = "";             // name of the thread
    std::string_view changes;            // "the last changes of jobs", for a message
    std::chrono::milliseconds longest_end = std::chrono::seconds(5);
  };
  // Reads an existing file when it is opened. What it reports as an error is a loss. May throw
  // SQLite::Exception.
  using Read = std::function<void(SQLite::Database& database, const Notify& notify)>;
  // Writes a version of the state on the thread of the file. `is_known`: the file contains exactly
  // what the previous call wrote; false: its content is unknown. May throw SQLite::Exception; the
  // call is then repeated every second, until a newer version is saved.
  using Write = std::function<void(SQLite::Database& database, bool is_known)>;

  // Opens and reads the file. A damaged file is moved to FILE.broken-TIME, which `notify` reports.
  // A file of another kind, a file of a newer version, or a file that another process has locked is
  // an error and is not changed. A file that does not exist is created by the first write, so that
  // a full disk does not prevent the start.
  static Result<std::unique_ptr<StateFile>> Open(const std::string& path, const Options& options,
                                                 const Read& read, const Notify& notify);
  // Writes pending changes first. If that takes longer than `longest_end`, as when the disk hangs,
  // `notify` reports it, and the thread is abandoned with the lock of the file.
  ~StateFile();

  // What was lost when the file was opened, one sentence for each reason: a damaged file that was
  // moved, or rows that could not be read.
  const std::vector<std::string>& losses() const { return losses_; }

  // Writes a version asynchronously. Thread-safe. If several versions are saved during a write,
  // only the newest is written next. Returns the version for WaitFor, counted from 1.
  uint64_t Save(Write write);
  // Waits until `version` or a later one is on disk. Returns false if that takes longer than `most`
  // or, without a further wait, if the last write failed; see `problem`.
  bool WaitFor(uint64_t version, std::chrono::milliseconds most);
  // Waits until all changes are on disk. Returns false if that takes longer than `most` or fails.
  bool Flush(std::chrono::milliseconds most);
  // Returns why the file is not written, or that a write takes more than a second; empty if there
  // is no problem. A failed write is retried every second.
  std::string problem() const;

 private:
  class Writer;
  StateFile(std::shared_ptr<Writer> writer, const Options& options,
            std::vector<std::string> losses);

  // Shared with its thread, which the destructor abandons if it hangs.
  const std::shared_ptr<Writer> writer_;
  const Options options_;
  const std::vector<std::string> losses_;
  std::thread thread_;
};

}  // namespace rocescope
