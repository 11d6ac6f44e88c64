// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>

#include "dataplane/decode/frame.h"

namespace rocescope {
namespace {

constexpr int64_t kSecond = 1'000'000'000;

}  // namespace

std::optional<MirrorTime> TimeOf(const MirrorInfo& mirror) {
  const int64_t unit = wire::NanosecondsOf(mirror.granularity);
  if (!mirror.has_timestamp || unit == 0) return std::nullopt;
  const int64_t low = int64_t{mirror.timestamp} * unit;
  if (mirror.has_seconds && mirror.granularity == wire::ErspanGranularity::kIeee1588) {
    return MirrorTime{.nanoseconds = int64_t{mirror.timestamp_upper} * kSecond + low};
  }
  if (mirror.has_upper_timestamp && mirror.timestamp_upper < 0x80000000u / unit) {
    // The condition above keeps the product below 2^63.
    const int64_t whole = (int64_t{mirror.timestamp_upper} << 32) * unit + low;
    return MirrorTime{.nanoseconds = std::min(whole, ToNanoseconds(kLatestTime))};
  }
  // IEEE 1588 timestamps count nanoseconds within a second; the other units use the whole field.
  const bool within_second = mirror.granularity == wire::ErspanGranularity::kIeee1588;
  return MirrorTime{.nanoseconds = low,
                    .wrap = within_second ? kSecond : (int64_t{1} << 32) * unit};
}

Timestamp Unwrap(const MirrorTime& time, Timestamp arrival) {
  if (time.wrap == 0) return FromNanoseconds(time.nanoseconds);
  int64_t behind = (ToNanoseconds(arrival) - time.nanoseconds) % time.wrap;  // -wrap to wrap
  if (behind > time.wrap / 2) behind -= time.wrap;
  if (behind < -time.wrap / 2) behind += time.wrap;
  return FromNanoseconds(ToNanoseconds(arrival) - behind);
}

}  // namespace rocescope
