// SPDX-License-Identifier: BSD-3-Clause
// Registered jobs on disk, so that they survive a restart.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "appliance/common/process/notice.h"
#include "appliance/daemon/history/state_file.h"
#include "base/result.h"
#include "dataplane/host/allocation.h"

namespace rocescope {

struct DatabaseKind;
const DatabaseKind& JobKind();

class JobFile {
 public:
  // Opens and reads the file, as StateFile does.
  static Result<std::unique_ptr<JobFile>> Open(
      const std::string& path, const Notify& notify,
      std::chrono::milliseconds longest_end = std::chrono::seconds(5));

  // Jobs in the file when it was opened.
  const std::vector<Allocation>& found() const { return found_; }
  // Jobs that were lost when the file was opened, one sentence for each reason.
  const std::vector<std::string>& losses() const { return file_->losses(); }

  // Saves the jobs, in the order of ids, asynchronously. Thread-safe. Returns the version for
  // WaitFor. Node names must fulfil topology::IsNodeName.
  uint64_t Save(std::vector<Allocation> jobs);
  // As those of StateFile.
  bool WaitFor(uint64_t version, std::chrono::milliseconds most) {
    return file_->WaitFor(version, most);
  }
  bool Flush(std::chrono::milliseconds most) { return file_->Flush(most); }
  std::string problem() const { return file_->problem(); }

 private:
  JobFile(std::unique_ptr<StateFile> file, std::vector<Allocation> found)
      : found_(std::move(found)), file_(std::move(file)) {}

  const std::vector<Allocation> found_;
  // What the last write left in the file, for its thread: only changed jobs are written, because a
  // scheduler waits for each of them.
  const std::shared_ptr<std::vector<Allocation>> last_ =
      std::make_shared<std::vector<Allocation>>();
  const std::unique_ptr<StateFile> file_;
};

}  // namespace rocescope
