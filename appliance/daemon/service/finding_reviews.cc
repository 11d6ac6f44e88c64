// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/daemon/service/finding_reviews.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "appliance/api/message_value.h"
#include "appliance/common/report/visible_text.h"
#include "rocescope/v1/report.pb.h"

namespace rocescope {
namespace {

// Pauses of at most this length do not end a finding.
constexpr Duration kPause = std::chrono::minutes(5);
constexpr Duration kResumeWithin = std::chrono::minutes(15);
constexpr auto kLongestWait = std::chrono::milliseconds(100);

// After a longer pause of the appliance, a fault that it finds is a new occurrence.
constexpr Duration kLongestDown = std::chrono::hours(1);

// Whether the mute has not expired. One that was set while the clock was ahead ends when the clock
// is corrected.
bool IsActive(const Mute& mute, Timestamp now) {
  constexpr Duration kTolerated = std::chrono::hours(1);
  return mute.expiry > now && mute.expiry - now <= kLongestMute + kTolerated;
}

// The time of a finding.
struct Span {
  Timestamp start;
  Timestamp end;
};

// `known_until`: the end of a finding that is ongoing.
Span SpanOf(const v1::Finding& finding, Timestamp known_until = kLatestTime) {
  const auto time = [](const google::protobuf::Timestamp& at) {
    return WithinBounds(FromNanoseconds(Nanoseconds(at)));
  };
  return {.start = time(finding.start_time()),
          .end = finding.has_end_time() ? time(finding.end_time()) : known_until};
}

bool IsOccurrence(const Acknowledgement& mark, const Span& span) {
  return span.start - kPause <= mark.last_active && mark.start <= span.end + kPause;
}

std::string Described(const std::string& kind, const std::string& place,
                      const std::string& direction) {
  return fmt::format("{} at {}{}", Visible(kind), Visible(place),
                     direction.empty() ? "" : fmt::format(", direction {}", Visible(direction)));
}

std::string Quoted(const std::string& comment) {
  return comment.empty() ? "" : fmt::format(": \"{}\"", Visible(comment));
}

}  // namespace

FindingReviews::FindingReviews(FindingFile* file, std::function<Timestamp()> clock, Notify notify)
    : file_(file), clock_(std::move(clock)), notify_(std::move(notify)) {
  if (file_ == nullptr) return;
  // A file that rocescope did not write may contain more.
  for (const Acknowledgement& one : file_->found().acknowledgements) {
    if (acknowledgements_.size() >= kMostKept) break;
    acknowledgements_.emplace(Key(one.kind, one.place, one.direction), Tracked{.mark = one});
  }
  for (const Mute& one : file_->found().mutes) {
    if (mutes_.size() >= kMostKept) break;
    mutes_.insert_or_assign(Key(one.kind, one.place, one.direction), one);
  }
}

void FindingReviews::Save() {
  if (file_ == nullptr) return;
  FindingReviewState state;
  for (const auto& [key, tracked] : acknowledgements_) {
    state.acknowledgements.push_back(tracked.mark);
  }
  for (const auto& [key, mute] : mutes_) state.mutes.push_back(mute);
  saved_ = file_->Save(std::move(state));
}

void FindingReviews::ResumeOngoing(Timestamp reached) {
  resume_by_ = reached + kResumeWithin;
  for (auto& [key, tracked] : acknowledgements_) tracked.resumes = tracked.mark.is_ongoing;
}

void FindingReviews::Look(const v1::ReplayReport& report, Timestamp reached, uint32_t restarts) {
  const std::lock_guard lock(mutex_);
  if (std::exchange(restarts_, restarts) != restarts) ResumeOngoing(reached);
  const bool can_resume = resume_by_ && reached <= *resume_by_;
  bool has_changed = false;
  for (const v1::Finding& finding : report.findings()) {
    const auto [begin, end] =
        acknowledgements_.equal_range(Key(finding.kind(), finding.place(), finding.direction()));
    const Span span = SpanOf(finding);
    for (auto at = begin; at != end; ++at) {
      auto& [mark, resumes] = at->second;
      const bool is_same = IsOccurrence(mark, span);
      const bool is_near = span.start - mark.last_active <= kLongestDown;
      if (!is_same && !(resumes && can_resume && is_near && span.start > mark.last_active)) {
        continue;
      }
      resumes = false;
      mark.last_active = std::max(mark.last_active, std::min(span.end, reached));
      has_changed = has_changed || mark.is_ongoing == finding.has_end_time();
      mark.is_ongoing = !finding.has_end_time();
    }
  }
  for (auto& [key, tracked] : acknowledgements_) {
    auto& [mark, resumes] = tracked;
    resumes = resumes && can_resume;
    // It was withdrawn, or its end was not observed.
    if (mark.is_ongoing && !resumes && reached - mark.last_active > kPause) {
      mark.is_ongoing = false;
      has_changed = true;
    }
  }
  if (has_changed) Save();
}

const Mute* FindingReviews::MuteOf(const v1::Finding& finding) const {
  const Timestamp now = clock_();
  const Mute* last = nullptr;
  const auto look = [&](const std::string& direction) {
    const auto at = mutes_.find(Key(finding.kind(), finding.place(), direction));
    if (at == mutes_.end() || !IsActive(at->second, now)) return;
    if (last == nullptr || last->expiry < at->second.expiry) last = &at->second;
  };
  look("");
  if (!finding.direction().empty()) look(finding.direction());
  return last;
}

bool FindingReviews::IsMuted(const v1::Finding& finding) const {
  const std::lock_guard lock(mutex_);
  return MuteOf(finding) != nullptr;
}

void FindingReviews::Decorate(v1::Finding& finding, Timestamp known_until) const {
  const std::lock_guard lock(mutex_);
  finding.clear_acknowledgement();
  finding.clear_mute();
  if (const Mute* const mute = MuteOf(finding)) Fill(*mute, *finding.mutable_mute());
  const Span span = SpanOf(finding, known_until);
  const Acknowledgement* last = nullptr;
  const auto [begin, end] =
      acknowledgements_.equal_range(Key(finding.kind(), finding.place(), finding.direction()));
  for (auto at = begin; at != end; ++at) {
    const Acknowledgement& mark = at->second.mark;
    if (IsOccurrence(mark, span) && (last == nullptr || last->time < mark.time)) last = &mark;
  }
  if (last != nullptr) Fill(*last, *finding.mutable_acknowledgement());
}

bool FindingReviews::RemoveOldestAcknowledgement() {
  auto oldest = acknowledgements_.end();
  for (auto at = acknowledgements_.begin(); at != acknowledgements_.end(); ++at) {
    if (at->second.mark.is_ongoing) continue;
    if (oldest != acknowledgements_.end() &&
        oldest->second.mark.last_active <= at->second.mark.last_active)
      continue;
    oldest = at;
  }
  if (oldest == acknowledgements_.end()) return false;
  acknowledgements_.erase(oldest);
  return true;
}

bool FindingReviews::RemoveOldestMute() {
  const Timestamp now = clock_();
  const auto oldest = std::ranges::min_element(mutes_, {}, [now](const auto& row) {
    return std::pair(IsActive(row.second, now), row.second.expiry);
  });
  if (oldest == mutes_.end() || IsActive(oldest->second, now)) return false;
  mutes_.erase(oldest);
  return true;
}

ServiceResult<Acknowledgement> FindingReviews::Acknowledge(const v1::Finding& finding,
                                                           Timestamp reached,
                                                           const std::string& user,
                                                           const std::string& comment) {
  const std::lock_guard lock(mutex_);
  const Key key(finding.kind(), finding.place(), finding.direction());
  const Span span = SpanOf(finding);
  const auto [begin, end] = acknowledgements_.equal_range(key);
  for (auto at = begin; at != end;) {
    at = IsOccurrence(at->second.mark, span) ? acknowledgements_.erase(at) : std::next(at);
  }
  if (acknowledgements_.size() >= kMostKept && !RemoveOldestAcknowledgement()) {
    return Refuse(
        ServiceFault::kTooMany,
        fmt::format("{} ongoing findings are acknowledged: withdraw acknowledgements that "
                    "are not needed",
                    kMostKept));
  }
  Acknowledgement mark = {.kind = finding.kind(),
                          .place = finding.place(),
                          .direction = finding.direction(),
                          .start = span.start,
                          .last_active = std::max(span.start, std::min(span.end, reached)),
                          .is_ongoing = !finding.has_end_time(),
                          .time = clock_(),
                          .user = user,
                          .comment = comment};
  acknowledgements_.emplace(key, Tracked{.mark = mark});
  Save();
  notify_(Severity::kInfo,
          fmt::format("{} acknowledged {}{}", Visible(user),
                      Described(mark.kind, mark.place, mark.direction), Quoted(comment)));
  return mark;
}

std::vector<Acknowledgement> FindingReviews::Unacknowledge(const std::string& kind,
                                                           const std::string& place,
                                                           const std::string& direction,
                                                           std::optional<Timestamp> time,
                                                           const std::string& user) {
  const std::lock_guard lock(mutex_);
  std::vector<Acknowledgement> removed;
  // The empty direction is the first one of a place.
  for (auto at = acknowledgements_.lower_bound(Key(kind, place, direction));
       at != acknowledgements_.end();) {
    const Acknowledgement& mark = at->second.mark;
    if (mark.kind != kind || mark.place != place) break;
    if (!direction.empty() && mark.direction != direction) break;
    if (time && !IsOccurrence(mark, {.start = *time, .end = *time})) {
      ++at;
      continue;
    }
    removed.push_back(mark);
    at = acknowledgements_.erase(at);
  }
  if (removed.empty()) return removed;
  Save();
  for (const Acknowledgement& mark : removed) {
    notify_(Severity::kInfo, fmt::format("{} withdrew the acknowledgement of {}", Visible(user),
                                         Described(mark.kind, mark.place, mark.direction)));
  }
  return removed;
}

ServiceResult<Mute> FindingReviews::AddMute(const std::string& kind, const std::string& place,
                                            const std::string& direction, Duration duration,
                                            const std::string& user, const std::string& comment) {
  const std::lock_guard lock(mutex_);
  const Key key(kind, place, direction);
  if (!mutes_.contains(key) && mutes_.size() >= kMostKept && !RemoveOldestMute()) {
    return Refuse(
        ServiceFault::kTooMany,
        fmt::format("{} mutes are active: withdraw those that are not needed", kMostKept));
  }
  const Timestamp now = clock_();
  Mute mute = {.kind = kind,
               .place = place,
               .direction = direction,
               .time = now,
               .expiry = now + duration,
               .user = user,
               .comment = comment};
  mutes_.insert_or_assign(key, mute);
  Save();
  notify_(Severity::kInfo,
          fmt::format("{} muted {} until {}{}", Visible(user), Described(kind, place, direction),
                      ToText(TimestampMessage(mute.expiry)), Quoted(comment)));
  return mute;
}

std::optional<Mute> FindingReviews::Unmute(const std::string& kind, const std::string& place,
                                           const std::string& direction, const std::string& user) {
  const std::lock_guard lock(mutex_);
  const auto at = mutes_.find(Key(kind, place, direction));
  if (at == mutes_.end() || !IsActive(at->second, clock_())) return std::nullopt;
  Mute mute = std::move(at->second);
  mutes_.erase(at);
  Save();
  notify_(Severity::kInfo,
          fmt::format("{} unmuted {}", Visible(user), Described(kind, place, direction)));
  return mute;
}

std::vector<Acknowledgement> FindingReviews::Acknowledgements() const {
  std::vector<Acknowledgement> all;
  {
    const std::lock_guard lock(mutex_);
    for (const auto& [key, tracked] : acknowledgements_) all.push_back(tracked.mark);
  }
  std::ranges::stable_sort(all, std::greater(), &Acknowledgement::time);
  return all;
}

std::vector<Mute> FindingReviews::Mutes(bool show_expired) const {
  std::vector<Mute> all;
  {
    const std::lock_guard lock(mutex_);
    const Timestamp now = clock_();
    for (const auto& [key, mute] : mutes_) {
      if (show_expired || IsActive(mute, now)) all.push_back(mute);
    }
  }
  std::ranges::stable_sort(all, std::greater(), &Mute::time);
  return all;
}

std::string FindingReviews::WaitUntilStored() {
  if (file_ == nullptr) return "the configuration of the appliance has no `findings.file`";
  // Do not wait for a disk that is known to be slow or full.
  std::string problem = file_->problem();
  if (!problem.empty()) return problem;
  uint64_t version = 0;
  {
    const std::lock_guard lock(mutex_);
    version = saved_;
  }
  if (file_->WaitFor(version, kLongestWait)) return "";
  problem = file_->problem();
  return problem.empty() ? "writing the file takes more than 0.1 s" : problem;
}

void FindingReviews::Fill(const Acknowledgement& one, v1::Acknowledgement& out) const {
  out.set_kind(one.kind);
  out.set_place(one.place);
  out.set_direction(one.direction);
  *out.mutable_start_time() = TimestampMessage(one.start);
  *out.mutable_acknowledge_time() = TimestampMessage(one.time);
  out.set_user(one.user);
  out.set_comment(one.comment);
  out.set_ongoing(one.is_ongoing);
}

void FindingReviews::Fill(const Mute& one, v1::Mute& out) const {
  out.set_kind(one.kind);
  out.set_place(one.place);
  out.set_direction(one.direction);
  *out.mutable_mute_time() = TimestampMessage(one.time);
  *out.mutable_expire_time() = TimestampMessage(one.expiry);
  out.set_user(one.user);
  out.set_comment(one.comment);
  out.set_expired(!IsActive(one, clock_()));
}

}  // namespace rocescope
