// SPDX-License-Identifier: BSD-3-Clause
#include "dataplane/source/filter.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <chrono>

namespace rocescope {
namespace {

constexpr int64_t kNanosecondsPerSecond = 1'000'000'000;
// Within int64 nanoseconds (until the year 2262), with a margin for an offset.
constexpr int64_t kMaxSeconds = 9'000'000'000;

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

// Parses text from front to end and remembers whether an expected part was missing.
class Scanner {
 public:
  explicit Scanner(std::string_view text) : text_(text) {}

  bool Take(char c) {
    if (text_.empty() || text_[0] != c) return false;
    text_.remove_prefix(1);
    return true;
  }
  void Expect(std::string_view any_of) {
    if (text_.empty() || any_of.find(text_[0]) == std::string_view::npos) {
      failed_ = true;
    } else {
      text_.remove_prefix(1);
    }
  }
  // Parses exactly `digits` digits, or 1 to 12 if 0.
  int64_t Number(size_t digits = 0) {
    size_t count = 0;
    while (count < text_.size() && IsDigit(text_[count])) ++count;
    if (digits != 0) count = std::min(count, digits);
    if (count == 0 || count > 12 || (digits != 0 && count != digits)) {
      failed_ = true;
      return 0;
    }
    int64_t value = 0;
    std::from_chars(&text_.front(), &text_.front() + count, value);
    text_.remove_prefix(count);
    return value;
  }
  // Parses ".5" as 500,000,000; returns 0 if there is no fraction.
  int64_t Fraction() {
    if (!Take('.')) return 0;
    if (text_.empty() || !IsDigit(text_[0])) failed_ = true;
    int64_t value = 0;
    int64_t unit = kNanosecondsPerSecond / 10;
    while (!text_.empty() && IsDigit(text_[0])) {
      value += (text_[0] - '0') * unit;
      unit /= 10;
      text_.remove_prefix(1);
    }
    return value;
  }
  void Fail() { failed_ = true; }
  bool Finished() const { return !failed_ && text_.empty(); }

 private:
  std::string_view text_;
  bool failed_ = false;
};

// RFC 3339, 5.6. A leap second equals the following second.
std::optional<Duration> ParseDateTime(std::string_view text) {
  Scanner in(text);
  const auto year = static_cast<int>(in.Number(4));
  in.Expect("-");
  const auto month = static_cast<unsigned>(in.Number(2));
  in.Expect("-");
  const auto day = static_cast<unsigned>(in.Number(2));
  in.Expect("Tt ");
  const int64_t hour = in.Number(2);
  in.Expect(":");
  const int64_t minute = in.Number(2);
  in.Expect(":");
  const int64_t second = in.Number(2);
  const int64_t nanosecond = in.Fraction();
  int64_t east = 0;  // minutes
  const bool minus = in.Take('-');
  if (minus || in.Take('+')) {
    const int64_t hours = in.Number(2);
    in.Expect(":");
    const int64_t minutes = in.Number(2);
    if (hours > 23 || minutes > 59) in.Fail();
    east = (minus ? -1 : 1) * (hours * 60 + minutes);
  } else {
    in.Expect("Zz");
  }
  const std::chrono::year_month_day date{std::chrono::year(year), std::chrono::month(month),
                                         std::chrono::day(day)};
  if (!in.Finished() || !date.ok() || hour > 23 || minute > 59 || second > 60) return std::nullopt;
  const int64_t days = std::chrono::sys_days(date).time_since_epoch().count();
  const int64_t seconds = days * 86400 + hour * 3600 + (minute - east) * 60 + second;
  if (seconds < 0 || seconds > kMaxSeconds) return std::nullopt;
  return Duration(seconds * kNanosecondsPerSecond + nanosecond);
}

std::optional<Duration> ParseSeconds(std::string_view text) {
  Scanner in(text);
  const int64_t seconds = in.Number();
  const int64_t nanoseconds = in.Fraction();
  if (!in.Finished() || seconds > kMaxSeconds) return std::nullopt;
  return Duration(seconds * kNanosecondsPerSecond + nanoseconds);
}

Timestamp Resolve(const TimeBound& bound, Timestamp first_frame) {
  if (!bound.relative) return Timestamp(bound.offset);
  if (first_frame > Timestamp::max() - bound.offset) return Timestamp::max();
  return first_frame + bound.offset;
}

bool ContainsQpn(const std::vector<Qpn>& qpns, Qpn qpn) {
  return std::find(qpns.begin(), qpns.end(), qpn) != qpns.end();
}

bool HasHost(const std::vector<IpAddress>& hosts, const DecodedFrame& frame) {
  return std::any_of(hosts.begin(), hosts.end(), [&](const IpAddress& host) {
    return host == frame.source || host == frame.destination;
  });
}

bool HasQpn(const std::vector<Qpn>& qpns, const DecodedFrame& frame) {
  return ContainsQpn(qpns, frame.bth.destination_qpn) ||
         (frame.Has(kPartDeth) && ContainsQpn(qpns, frame.deth.source_qpn)) ||
         (frame.Has(kPartCm) &&
          (ContainsQpn(qpns, frame.cm.local_qpn) || ContainsQpn(qpns, frame.cm.remote_qpn)));
}

}  // namespace

Result<TimeBound> ParseTimeBound(std::string_view text) {
  const bool relative = text.starts_with('+');
  auto offset = relative ? ParseSeconds(text.substr(1)) : ParseSeconds(text);
  if (!offset && !relative) offset = ParseDateTime(text);
  if (offset) return TimeBound{.relative = relative, .offset = *offset};
  return MakeError(
      ErrorCode::kInvalidArgument,
      fmt::format("\"{}\" is not a time: expected 2024-05-01T12:34:56.5Z, seconds since the epoch "
                  "(1714566896.5) or seconds since the capture's first frame (+2.5)",
                  text));
}

size_t KeepWithin(const TimeWindow& window, std::span<RawFrame> batch) {
  if (window.KeepsAll()) return batch.size();
  const auto end = std::remove_if(batch.begin(), batch.end(), [&](const RawFrame& frame) {
    return !window.Keeps(frame.timestamp);
  });
  return static_cast<size_t>(end - batch.begin());
}

Result<Qpn> ParseQpn(std::string_view text) {
  const bool hexadecimal = text.starts_with("0x") || text.starts_with("0X");
  const std::string_view digits = hexadecimal ? text.substr(2) : text;
  uint32_t value = 0;
  const auto [end, error] =
      std::from_chars(digits.data(), digits.data() + digits.size(), value, hexadecimal ? 16 : 10);
  if (error == std::errc() && end == digits.data() + digits.size() && value <= k24BitMask) {
    return Qpn{value};
  }
  return MakeError(ErrorCode::kInvalidArgument,
                   fmt::format("\"{}\" is not a QP number: expected 0 to 16777215, for example 39 "
                               "or 0x27",
                               text));
}

Result<TimeWindow> FrameFilter::WindowFrom(Timestamp first_frame) const {
  TimeWindow window;
  if (since) window.first = Resolve(*since, first_frame);
  if (until) {
    const Timestamp end = Resolve(*until, first_frame);
    if (end <= window.first) {
      return MakeError(ErrorCode::kInvalidArgument, "--until must be later than --since");
    }
    window.last = end - Duration(1);
  }
  return window;
}

bool FrameFilter::Keeps(const DecodedFrame& frame) const {
  if (hosts.empty() && qpns.empty()) return true;
  if (frame.kind != FrameKind::kRoce) return false;
  return (hosts.empty() || HasHost(hosts, frame)) && (qpns.empty() || HasQpn(qpns, frame));
}

}  // namespace rocescope
