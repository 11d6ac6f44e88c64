// SPDX-License-Identifier: BSD-3-Clause
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>

#include "sim/profile/profile.h"

namespace rocescope::sim {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::HasSubstr;

constexpr std::string_view kHead = "name: p\npoll: {switches: {period: 30s}}\n";

Profile Load(const std::string& text) {
  auto profile = LoadProfile(text, "p.yaml");
  EXPECT_TRUE(profile.has_value()) << profile.error().message;
  return profile ? *std::move(profile) : Profile();
}

// The errors of a profile that has `more` after the required keys, from line 3.
std::string ErrorOf(const std::string& more) {
  const auto profile = LoadProfile(std::string(kHead) + more, "p.yaml");
  return profile ? std::string() : profile.error().message;
}

TEST(LoadProfile, ReadsAllKeys) {
  const Profile profile = Load(R"(
name: all
about: Everything.
poll:
  switches: {period: 30s, phase: random, jitter: 3s, refresh: {share: 0.5, least: 1s, most: 10s}}
  nics: {period: 1.5s}
  gpus: {period: 1min}
timestamps: arrival
response: 1s
clock_error: 50ms
loss: {readings: 0.001, polls: 0.01, burst: 3}
late: {share: 0.02, least: 2s, most: 40s}
reordered: 0.003
duplicates: 0.004
restarts_per_day: 0.5
start_values: random
counters_after_reboot: kept
unread: {switches: 0.1, hosts: 0.2}
priorities: {switches: false, nics: false}
vendors:
  switches:
    - {name: a, share: 0.25, missing: [ecn_marked], wrap_32_bit: [pfc_rx], refresh: {least: 1s, most: 2s}}
    - {name: b, share: 0.75, quirk: {metric: rx_discards, period: 30s}}
  nics: [{name: c, share: 1, missing: [np_cnp_sent]}]
telemetry: {mirror: leaf, mirror_sampling: 100, int: false, sflow: false, nccl: false, rdma: false, slurm: false}
)");
  EXPECT_EQ(profile.name, "all");
  EXPECT_EQ(profile.about, "Everything.");
  EXPECT_EQ(profile.switches, (PollSettings{.period = seconds(30),
                                            .random_phase = true,
                                            .jitter = seconds(3),
                                            .cached_share = 0.5,
                                            .refresh = {seconds(1), seconds(10)}}));
  EXPECT_EQ(profile.nics, (PollSettings{.period = milliseconds(1500)}));
  EXPECT_EQ(profile.gpus, (PollSettings{.period = seconds(60)}));
  EXPECT_FALSE(profile.device_timestamps);
  EXPECT_EQ(profile.response, seconds(1));
  EXPECT_EQ(profile.clock_error, milliseconds(50));
  EXPECT_EQ(profile.lost_readings, 0.001);
  EXPECT_EQ(profile.lost_polls, 0.01);
  EXPECT_EQ(profile.lost_poll_burst, 3);
  EXPECT_EQ(profile.late, 0.02);
  EXPECT_EQ(profile.lateness, (DurationRange{seconds(2), seconds(40)}));
  EXPECT_EQ(profile.reordered, 0.003);
  EXPECT_EQ(profile.duplicates, 0.004);
  EXPECT_EQ(profile.restarts_per_day, 0.5);
  EXPECT_TRUE(profile.random_start_values);
  EXPECT_TRUE(profile.counters_survive_reboots);
  EXPECT_EQ(profile.unread_switches, 0.1);
  EXPECT_EQ(profile.unread_hosts, 0.2);
  EXPECT_FALSE(profile.switch_priorities);
  EXPECT_FALSE(profile.nic_priorities);
  ASSERT_EQ(profile.switch_vendors.size(), 2u);
  EXPECT_EQ(profile.switch_vendors[0].missing,
            MetricSet().set(static_cast<size_t>(Metric::kEcnMarked)));
  EXPECT_EQ(profile.switch_vendors[0].wrapping,
            MetricSet().set(static_cast<size_t>(Metric::kPfcRx)));
  EXPECT_EQ(profile.switch_vendors[0].refresh, (DurationRange{seconds(1), seconds(2)}));
  EXPECT_EQ(profile.switch_vendors[1].share, 0.75);
  ASSERT_TRUE(profile.switch_vendors[1].quirk.has_value());
  EXPECT_EQ(profile.switch_vendors[1].quirk->period, seconds(30));
  EXPECT_EQ(profile.nic_vendors[0].missing, MetricSet().set(static_cast<size_t>(Metric::kCnpSent)));
  EXPECT_EQ(profile.mirror, Profile::Mirror::kLeaf);
  EXPECT_EQ(profile.mirror_sampling, 100u);
  EXPECT_FALSE(profile.int_reports || profile.sflow || profile.nccl || profile.rdma ||
               profile.slurm);
}

TEST(LoadProfile, ErrorsHaveThePositionAndTheMostSimilarKey) {
  EXPECT_THAT(ErrorOf("clock_error: 2s\n"), HasSubstr("clock_error must be from 0 to 1s"));
  EXPECT_THAT(ErrorOf("clock_eror: 5ms\n"), HasSubstr("p.yaml:3:1: "));
  EXPECT_THAT(ErrorOf("clock_eror: 5ms\n"), HasSubstr("did you mean \"clock_error\"?"));
  EXPECT_THAT(
      ErrorOf("vendors: {switches: [{name: a, share: 1, missing: [rx_bytes], quirk: {metric: "
              "rx_bytes, period: 1s}}]}\n"),
      HasSubstr("rx_bytes is in `missing`, too"));
  EXPECT_THAT(ErrorOf("vendors: {switches: [{name: a, share: 1, missing: [rx_byte]}]}\n"),
              HasSubstr("p.yaml:3:52: \"rx_byte\" is not a metric; did you mean \"rx_bytes\"?"));
  EXPECT_THAT(LoadProfile("about: x\n", "p.yaml").error().message, HasSubstr("\"name\""));
}

TEST(LoadProfile, NamesAreShortAndVisible) {
  const auto error = [](const std::string& name) {
    return LoadProfile("name: " + name + "\npoll: {switches: {period: 1s}}\n", "p.yaml")
        .error()
        .message;
  };
  EXPECT_EQ(error("\"a\\u202eb\""),
            "p.yaml:1:7: the name contains the control character U+202E: remove it");
  EXPECT_THAT(error(std::string(129, 'x')), HasSubstr("a name must have 1 to 128 bytes"));
}

TEST(LoadProfile, ReportsAllErrorsAtOnce) {
  const std::string errors = ErrorOf("reordered: 2\nduplicates: -1\nclock_error: soon\n");
  EXPECT_THAT(errors, HasSubstr("p.yaml:3:12: \"2\" is not a number from 0 to 1"));
  EXPECT_THAT(errors, HasSubstr("p.yaml:4:13: \"-1\" is not a number from 0 to 1"));
  EXPECT_THAT(errors, HasSubstr("p.yaml:5:14: \"soon\" is not a time from 0 to 30d"));
}

TEST(LoadProfile, ImpossibleProfilesAreErrors) {
  const auto poll = [](const std::string& settings) {
    const auto profile = LoadProfile("name: p\npoll: {switches: {" + settings + "}}\n", "p.yaml");
    return profile ? std::string() : profile.error().message;
  };
  EXPECT_THAT(poll("period: -30s"), HasSubstr("p.yaml:2:27: \"-30s\" is not a time"));
  EXPECT_THAT(poll("period: 0"), HasSubstr("p.yaml:2:27: period must be above 0"));
  EXPECT_THAT(poll("period: 40d"), HasSubstr("is not a time from 0 to 30d"));
  EXPECT_THAT(poll("period: 1s, jitter: 2s"), HasSubstr("jitter must not be above the period"));
  EXPECT_THAT(poll("period: 1s, refresh: {least: 3s, most: 2s}"),
              HasSubstr("least must not be above most"));
  EXPECT_THAT(poll("period: 1s, refresh: {least: 0, most: 2s}"),
              HasSubstr("least must be above 0"));
  EXPECT_THAT(poll("period: 1s, refresh: {share: 1.5, least: 1s, most: 2s}"),
              HasSubstr("\"1.5\" is not a number from 0 to 1"));
  EXPECT_THAT(poll("phase: random"), HasSubstr("\"period\""));
  EXPECT_THAT(LoadProfile("name: p\npoll: {gpus: {period: 1s}}\n", "p.yaml").error().message,
              HasSubstr("poll needs `switches`, `nics` or both"));
  EXPECT_THAT(ErrorOf("response: 31s\n"), HasSubstr("response must not be above the period"));
  EXPECT_THAT(ErrorOf("loss: {polls: 0.9, burst: 1}\n"), HasSubstr("needs a burst of at least 9"));
  EXPECT_THAT(ErrorOf("loss: {polls: 1}\n"), HasSubstr("is not a number from 0 to 0.99"));
  EXPECT_THAT(ErrorOf("late: {share: 0.1}\n"), HasSubstr("\"least\""));
  EXPECT_THAT(ErrorOf("vendors: {switches: [{name: a, share: 0.5}, {name: b, share: 0.4}]}\n"),
              HasSubstr("must add up to 1, not 0.9"));
  EXPECT_THAT(ErrorOf("vendors: {nics: [{name: a, share: 1, wrap_32_bit: [link_up]}]}\n"),
              HasSubstr("link_up is a gauge; expected a counter"));
  EXPECT_THAT(
      ErrorOf("vendors: {nics: [{name: a, share: 1, quirk: {metric: rx_bytes, period: 0}}]}\n"),
      HasSubstr("period must be above 0"));
  EXPECT_THAT(ErrorOf("telemetry: {mirror_sampling: 0}\n"), HasSubstr("p.yaml:3:30: "));
}

TEST(LoadProfile, ContradictionsAreErrors) {
  const auto nics = [](const std::string& classes) {
    return ErrorOf("vendors: {nics: [" + classes + "]}\n");
  };
  EXPECT_THAT(nics("{name: a, share: 1, missing: [rx_bytes], wrap_32_bit: [rx_bytes]}"),
              HasSubstr("p.yaml:3:72: rx_bytes is in `missing`, too: remove one of them"));
  EXPECT_THAT(nics("{name: a, share: 1, missing: [rx_bytes, rx_bytes]}"),
              HasSubstr("p.yaml:3:58: rx_bytes is listed twice"));
  EXPECT_THAT(nics("{name: a, share: 1, wrap_32_bit: [rx_bytes, rx_bytes]}"),
              HasSubstr("rx_bytes is listed twice"));
  EXPECT_THAT(nics("{name: a, share: 0.5}, {name: a, share: 0.5}"),
              HasSubstr("p.yaml:3:41: two vendor classes have the same name, a"));
  EXPECT_EQ(ErrorOf("vendors: {nics: [{name: a, share: 1}], switches: [{name: a, share: 1}]}\n"),
            "");
  EXPECT_THAT(ErrorOf("telemetry: {mirror: none, mirror_sampling: 8}\n"),
              HasSubstr("p.yaml:3:44: mirror_sampling has no effect with `mirror: none`"));
}

TEST(ProfileTime, HasUnits) {
  EXPECT_EQ(ParseProfileTime("1.5us").value(), Duration(1500));
  EXPECT_EQ(ParseProfileTime("2min").value(), seconds(120));
  EXPECT_EQ(ParseProfileTime("30d").value(), std::chrono::hours(720));
  EXPECT_EQ(ParseProfileTime("0").value(), Duration(0));
  for (const char* wrong : {"", "5", "s", "-1s", "1e3s", "nan", "infs", "31d", "1 s", "+1s"}) {
    EXPECT_FALSE(ParseProfileTime(wrong).has_value()) << wrong;
  }
}

// The profiles that `rocescope-sim profile` offers.
TEST(LoadProfile, IncludedProfilesAreValidAndNamedLikeTheirFiles) {
  std::set<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(ROCESCOPE_PROFILES)) {
    std::ifstream file(entry.path());
    const std::string text(std::istreambuf_iterator<char>(file), {});
    const auto profile = LoadProfile(text, entry.path().string());
    ASSERT_TRUE(profile.has_value()) << profile.error().message;
    EXPECT_EQ(profile->name + ".yaml", entry.path().filename());
    EXPECT_FALSE(profile->about.empty());
    names.insert(profile->name);
  }
  EXPECT_EQ(names, (std::set<std::string>{"as-deployed", "counters-only", "gnmi-10s", "gnmi-1s",
                                          "lab", "leaf-mirror-sampled", "snmp-30s"}));
}

}  // namespace
}  // namespace rocescope::sim
