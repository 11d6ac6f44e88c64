// SPDX-License-Identifier: BSD-3-Clause
// Acknowledgements and mutes of findings: which finding each belongs to, and when it ends.
//
// A finding is identified by kind, place and direction, as FindingWatch and the dashboard do. An
// acknowledgement belongs to one occurrence: that whose time, with five minutes on both sides,
// overlaps the time for which the acknowledged occurrence is known to have been active. A start
// that is revised thus keeps it, and a fault that comes back later does not get it: pauses of at
// most five minutes do not end a finding. After a restart of the appliance or of the analysis, an
// ongoing fault gets a new start; if it is found again within 15 minutes, it is the same
// occurrence. A mute covers all occurrences until it expires.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "appliance/common/process/notice.h"
#include "appliance/daemon/history/finding_file.h"
#include "appliance/daemon/service/service_error.h"
#include "base/time.h"

namespace rocescope {

namespace v1 {
class Acknowledgement;
class Finding;
class Mute;
class ReplayReport;
}  // namespace v1

inline constexpr Duration kDefaultMute = std::chrono::hours(24);
inline constexpr Duration kLongestMute = std::chrono::hours(24 * 30);
inline constexpr size_t kLongestComment = 1000;  // bytes

// Thread-safe.
class FindingReviews {
 public:
  // Maximum number of acknowledgements, and maximum number of mutes. The oldest that are over are
  // removed first.
  static constexpr size_t kMostKept = 1'000;

  // `file` must outlive this object; null: the state is kept in memory only. `clock` returns the
  // current time. `notify` receives each change, for the log.
  FindingReviews(FindingFile* file, std::function<Timestamp()> clock, Notify notify);

  // Notes which acknowledged occurrences are active. `report`: the findings of a snapshot;
  // `reached`: the end of its data; `restarts`: number of restarts of the analysis so far. To be
  // called for each snapshot.
  void Look(const v1::ReplayReport& report, Timestamp reached, uint32_t restarts);

  // Sets the acknowledgement and the mute of a finding. `known_until`: the time up to which a
  // finding without end is known to have been active, for example that of an event.
  void Decorate(v1::Finding& finding, Timestamp known_until = kLatestTime) const;
  bool IsMuted(const v1::Finding& finding) const;

  // Acknowledges the occurrence `finding` of a snapshot whose data ends at `reached`. Replaces an
  // earlier acknowledgement of it. Fails with kTooMany if kMostKept ongoing occurrences are
  // acknowledged.
  ServiceResult<Acknowledgement> Acknowledge(const v1::Finding& finding, Timestamp reached,
                                             const std::string& user, const std::string& comment);
  // Removes acknowledgements and returns them. `direction` empty: of every direction; `time`: only
  // of occurrences that were active then, or within five minutes of it.
  std::vector<Acknowledgement> Unacknowledge(const std::string& kind, const std::string& place,
                                             const std::string& direction,
                                             std::optional<Timestamp> time,
                                             const std::string& user);
  // Adds a mute of at most kLongestMute, or replaces that with the same kind, place and direction.
  // Fails with kTooMany if kMostKept mutes are active.
  ServiceResult<Mute> AddMute(const std::string& kind, const std::string& place,
                              const std::string& direction, Duration duration,
                              const std::string& user, const std::string& comment);
  // Removes the mute and returns it; nullopt: there is none that has not expired.
  std::optional<Mute> Unmute(const std::string& kind, const std::string& place,
                             const std::string& direction, const std::string& user);

  // The latest first.
  std::vector<Acknowledgement> Acknowledgements() const;
  std::vector<Mute> Mutes(bool show_expired) const;

  // Waits until all changes are on disk, for at most 0.1 s. Returns why they are not; empty: they
  // are.
  std::string WaitUntilStored();
  // Returns why changes are not written to the file; empty: they are, or there is no file.
  std::string problem() const { return file_ == nullptr ? "" : file_->problem(); }
  std::vector<std::string> losses() const {
    return file_ == nullptr ? std::vector<std::string>() : file_->losses();
  }

  void Fill(const Acknowledgement& one, v1::Acknowledgement& out) const;
  void Fill(const Mute& one, v1::Mute& out) const;

 private:
  using Key = std::tuple<std::string, std::string, std::string>;  // kind, place, direction
  struct Tracked {
    Acknowledgement mark;
    bool resumes = false;  // the fault may be found again with a later start
  };

  void Save();  // requires the lock
  void ResumeOngoing(Timestamp reached);
  // Return false if nothing can be removed.
  bool RemoveOldestAcknowledgement();
  bool RemoveOldestMute();
  const Mute* MuteOf(const v1::Finding& finding) const;

  FindingFile* const file_;
  const std::function<Timestamp()> clock_;
  const Notify notify_;
  mutable std::mutex mutex_;  // guards the members below
  std::multimap<Key, Tracked> acknowledgements_;
  std::map<Key, Mute> mutes_;
  uint64_t saved_ = 0;                  // version of the file
  std::optional<uint32_t> restarts_;    // of the last snapshot
  std::optional<Timestamp> resume_by_;  // ongoing faults that are not found until then are over
};

}  // namespace rocescope
