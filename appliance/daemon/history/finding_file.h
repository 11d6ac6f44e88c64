// SPDX-License-Identifier: BSD-3-Clause
// Acknowledgements and mutes of findings on disk, so that they survive a restart.
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
#include "base/time.h"

namespace rocescope {

struct DatabaseKind;
const DatabaseKind& FindingKind();

// The fields are those of v1::Acknowledgement.
struct Acknowledgement {
  std::string kind, place, direction;
  Timestamp start;  // start of the occurrence when it was acknowledged
  // The latest time at which the occurrence is known to have been active: its end, or the data time
  // of the last snapshot that contains it.
  Timestamp last_active;
  bool is_ongoing = false;  // whether it was ongoing in that snapshot
  Timestamp time;           // time of the call
  std::string user, comment;

  friend bool operator==(const Acknowledgement&, const Acknowledgement&) = default;
};

// The fields are those of v1::Mute.
struct Mute {
  std::string kind, place, direction;
  Timestamp time;  // time of the call
  Timestamp expiry;
  std::string user, comment;

  friend bool operator==(const Mute&, const Mute&) = default;
};

struct FindingReviewState {
  std::vector<Acknowledgement> acknowledgements;
  std::vector<Mute> mutes;

  friend bool operator==(const FindingReviewState&, const FindingReviewState&) = default;
};

class FindingFile {
 public:
  // Opens and reads the file, as StateFile does.
  static Result<std::unique_ptr<FindingFile>> Open(const std::string& path, const Notify& notify);

  // What was in the file when it was opened.
  const FindingReviewState& found() const { return found_; }
  // What was lost when the file was opened, one sentence for each reason.
  const std::vector<std::string>& losses() const { return file_->losses(); }

  // Saves the state asynchronously. Thread-safe. Returns the version for WaitFor.
  uint64_t Save(FindingReviewState state);
  // As those of StateFile.
  bool WaitFor(uint64_t version, std::chrono::milliseconds most) {
    return file_->WaitFor(version, most);
  }
  bool Flush(std::chrono::milliseconds most) { return file_->Flush(most); }
  std::string problem() const { return file_->problem(); }

 private:
  FindingFile(std::unique_ptr<StateFile> file, FindingReviewState found)
      : found_(std::move(found)), file_(std::move(file)) {}

  const FindingReviewState found_;
  const std::unique_ptr<StateFile> file_;
};

}  // namespace rocescope
