// SPDX-License-Identifier: BSD-3-Clause
// Telemetry profiles: a valid file is one that the transformation can apply. Otherwise the error
// names the file.
#include <cmath>
#include <cstdint>
#include <string_view>

#include "sim/profile/profile.h"
#include "tests/fuzz/require.h"

namespace {

using namespace rocescope;

bool IsShare(double value) { return value >= 0 && value <= 1; }

void Check(const sim::PollSettings& poll) {
  Require(poll.period >= Duration(0) && poll.jitter >= Duration(0), "no negative times");
  Require(poll.jitter <= poll.period, "the jitter is not above the period");
  Require(IsShare(poll.cached_share), "a share");
  Require(poll.cached_share == 0 ||
              (poll.refresh.least > Duration(0) && poll.refresh.least <= poll.refresh.most),
          "a range of refresh periods");
}

void Check(const std::vector<sim::VendorClass>& vendors) {
  double shares = 0;
  for (const sim::VendorClass& vendor : vendors) {
    Require(IsShare(vendor.share), "a share");
    shares += vendor.share;
    for (size_t i = 0; i < kMetricCount; ++i) {
      Require(!vendor.wrapping[i] || kMetrics[i].kind == MetricKind::kCounter, "a counter wraps");
    }
    Require(!vendor.refresh || (vendor.refresh->least > Duration(0) &&
                                vendor.refresh->least <= vendor.refresh->most),
            "a range of refresh periods");
    Require(!vendor.quirk || vendor.quirk->period > Duration(0), "a quirk has a period");
  }
  Require(std::abs(shares - 1) < 1e-3, "the shares add up to 1");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto profile = sim::LoadProfile({reinterpret_cast<const char*>(data), size}, "fuzz");
  if (!profile) {
    Require(profile.error().message.starts_with("fuzz"), "an error names the file");
    return 0;
  }
  Require(!profile->name.empty(), "a profile has a name");
  Require(profile->switches.period > Duration(0) || profile->nics.period > Duration(0),
          "something is polled");
  for (const auto* poll : {&profile->switches, &profile->nics, &profile->gpus}) Check(*poll);
  Check(profile->switch_vendors);
  Check(profile->nic_vendors);
  for (const double share :
       {profile->lost_readings, profile->lost_polls, profile->late, profile->reordered,
        profile->duplicates, profile->unread_switches, profile->unread_hosts}) {
    Require(IsShare(share), "a share");
  }
  Require(profile->lost_polls < 1 && profile->lost_poll_burst >= 1, "some polls arrive");
  Require(profile->lateness.least <= profile->lateness.most, "a range");
  Require(profile->mirror_sampling >= 1, "a sampling rate");
  return 0;
}
