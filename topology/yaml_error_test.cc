// SPDX-License-Identifier: BSD-3-Clause
// Errors in a fabric file are reported with their position.
#include <gtest/gtest.h>

#include "topology/yaml.h"

namespace rocescope::topology {
namespace {

struct Mistake {
  const char* name;
  const char* text;
  const char* says;  // the complete first line
};

// Two valid switches and two valid hosts. Test cases append an error from line 11 on.
constexpr const char* kValid =
    "defaults: {speed: 100G}\n"
    "switches:\n"
    "  - {name: leaf0, tier: leaf, ports: \"Ethernet[1-4]\"}\n"
    "  - {name: spine0, tier: spine}\n"
    "hosts:\n"
    "  - name: host[0-1]\n"
    "    nics:\n"
    "      - {device: mlx5_0, addresses: \"10.0.0.[1-2]\"}\n"
    "    gpus: [{number: 0, nic: mlx5_0}]\n"
    "# what is to be tested follows\n";

class BadFabric : public testing::TestWithParam<Mistake> {};

TEST_P(BadFabric, IsToldWithItsPlace) {
  const std::string text = GetParam().text;
  const bool is_whole = text.starts_with("---\n");
  const auto fabric = LoadFabric(is_whole ? text : kValid + text, "f.yaml");

  ASSERT_FALSE(fabric.has_value());
  EXPECT_EQ(fabric.error().code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(fabric.error().message, GetParam().says);
}

INSTANTIATE_TEST_SUITE_P(
    Links, BadFabric,
    testing::Values(
        Mistake{"UnknownKey", "link: []\n",
                "f.yaml:11:1: unknown key \"link\" of a fabric; did you mean \"links\"?"},
        Mistake{"UnknownKeyOfLink",
                "links:\n  - {ends: [\"host0:mlx5_0\", \"leaf0:Ethernet1\"], sped: 1G}\n",
                "f.yaml:12:49: unknown key \"sped\" of a link; did you mean \"speed\"?"},
        Mistake{"UnknownNode", "links: [[\"hots0:mlx5_0\", \"leaf0:Ethernet1\"]]\n",
                "f.yaml:11:10: there is no node \"hots0\"; did you mean \"host0\"?"},
        Mistake{"UnknownPort", "links:\n  - [\"host0:mlx5_0\", \"leaf0:Ethernet5\"]\n",
                "f.yaml:12:22: leaf0 has no port \"Ethernet5\"; did you mean \"Ethernet1\"?"},
        Mistake{"UnknownNic", "links:\n  - [\"host0:mlx5_9\", \"leaf0:Ethernet1\"]\n",
                "f.yaml:12:6: host0 has no port \"mlx5_9\"; did you mean \"mlx5_0\"?"},
        Mistake{"NoPort", "links:\n  - [host0, \"leaf0:Ethernet1\"]\n",
                "f.yaml:12:6: \"host0\" is not a port; expected NODE:PORT such as leaf0:Ethernet4"},
        Mistake{"OneEnd", "links:\n  - [\"host0:mlx5_0\"]\n",
                "f.yaml:12:5: a link needs two ends such as [leaf0:Ethernet1, host0:mlx5_0]; "
                "found 1"},
        Mistake{"RangesOfDifferentLength",
                "links:\n  - [\"host[0-1]:mlx5_0\", \"leaf0:Ethernet[1-3]\"]\n",
                "f.yaml:12:26: \"host[0-1]:mlx5_0\" is 2 ports but \"leaf0:Ethernet[1-3]\" is "
                "3; both ends need the same number"},
        Mistake{"PortTwice",
                "links:\n  - [\"host0:mlx5_0\", \"leaf0:Ethernet1\"]\n"
                "  - [\"host1:mlx5_0\", \"leaf0:Ethernet1\"]\n",
                "f.yaml:13:5: leaf0:Ethernet1 already has the link in line 12"},
        Mistake{"ToItself", "links:\n  - [\"leaf0:Ethernet1\", \"leaf0:Ethernet2\"]\n",
                "f.yaml:12:5: a link from leaf0 to itself"},
        Mistake{"BadSpeed",
                "links:\n  - {ends: [\"host0:mlx5_0\", \"leaf0:Ethernet1\"], speed: fast}\n",
                "f.yaml:12:56: \"fast\" is not a speed; expected bit/s such as 400G, 1.6T or "
                "100000000000, up to 100T"},
        Mistake{"NothingToUnplug", "unplugged: [\"leaf0:Ethernet1\"]\n",
                "f.yaml:11:13: leaf0:Ethernet1 has no cable"},
        Mistake{"NoSpeed",
                "---\nswitches: [{name: a, tier: leaf}, {name: b, tier: leaf}]\n"
                "links:\n  - [\"a:1\", \"b:1\"]\n",
                "f.yaml:4:5: the link has no speed; add \"speed: 400G\" here, or "
                "\"defaults: {speed: 400G}\" for all links"}),
    [](const auto& mistake) { return mistake.param.name; });

INSTANTIATE_TEST_SUITE_P(
    Nodes, BadFabric,
    testing::Values(
        Mistake{"NotAMap", "---\n- a\n",
                "f.yaml:2:1: expected the keys of a fabric (name, defaults, generate, switches, "
                "hosts, unplugged, links, mirrors), found a list"},
        Mistake{"Nothing", "---\n",
                "f.yaml:2:1: expected the keys of a fabric (name, defaults, generate, switches, "
                "hosts, unplugged, links, mirrors), found nothing"},
        Mistake{"SectionTwice", "hosts: []\n",
                "f.yaml:11:1: duplicate key \"hosts\"; it is already set in line 5"},
        Mistake{"NodeTwice", "---\nhosts:\n  - {name: a}\n  - {name: \"b,a\"}\n",
                "f.yaml:4:12: a is already described in line 3"},
        Mistake{"NoTier", "---\nswitches:\n  - {name: a}\n",
                "f.yaml:3:5: the tier of a is missing; expected leaf, spine or core"},
        Mistake{"BadTier", "---\nswitches:\n  - {name: a, tier: laef}\n",
                "f.yaml:3:21: expected leaf, spine, core, found \"laef\"; did you mean \"leaf\"?"},
        Mistake{"BadName", "---\nhosts:\n  - {name: \"a b\"}\n",
                "f.yaml:3:12: \"a b\" is not a valid node name: expected 1 to 255 printable "
                "characters (ASCII) without spaces, ':', ',', '\"', '[' and ']'"},
        Mistake{"ValuesDoNotMatchNames",
                "---\nswitches:\n  - {name: \"a[1-4]\", tier: leaf, int_switch_id: \"[1-3]\"}\n",
                "f.yaml:3:49: \"[1-3]\" expands to 3 values, but 4 are needed"},
        Mistake{"IdTwice",
                "---\nswitches:\n  - {name: a, tier: leaf, int_switch_id: 7}\n"
                "  - {name: b, tier: leaf, int_switch_id: 7}\n",
                "f.yaml:4:12: a and b have the same INT switch id, 7"},
        Mistake{"BadAddress", "---\nhosts: [{name: a, nics: [{device: d, addresses: 10.0.0}]}]\n",
                "f.yaml:2:49: \"10.0.0\" is not an IPv4 or IPv6 address"},
        Mistake{"AddressTwice",
                "---\nhosts:\n  - {name: a, nics: [{device: d, addresses: 10.0.0.1}]}\n"
                "  - {name: b, nics: [{device: d, addresses: [10.0.0.1]}]}\n",
                "f.yaml:4:22: a:d and b:d have the same address, 10.0.0.1"},
        Mistake{"AddressTwiceInASegment",
                "---\nhosts:\n  - name: a\n    nics:\n"
                "      - {device: d, addresses: [{address: 10.0.0.1, segment: 5}]}\n"
                "      - {device: e, addresses: [{address: 10.0.0.1, segment: 5}]}\n",
                "f.yaml:6:9: a:d and a:e have the same address, 10.0.0.1 in segment 5"},
        Mistake{"DeviceTwice", "---\nhosts: [{name: a, nics: [{device: d}, {device: d}]}]\n",
                "f.yaml:2:39: port a:d is listed twice; the other entry is in line 2"},
        Mistake{"UnknownNicOfGpu",
                "---\nhosts:\n  - {name: a, nics: [{device: d}], gpus: [{number: 0, nic: e}]}\n",
                "f.yaml:3:43: GPU 0 refers to NIC \"e\", which a does not have"},
        Mistake{"GpuTwice", "---\nhosts: [{name: a, gpus: [{number: 0}, {number: 0}]}]\n",
                "f.yaml:2:39: a has two GPUs with the number 0"},
        Mistake{"NumberTwice",
                "---\nswitches:\n  - name: a\n    tier: leaf\n    ports:\n"
                "      - {name: x, number: 1}\n      - {name: y, number: 1}\n",
                "f.yaml:7:16: a:x and a:y have the same number, 1"},
        Mistake{"ABadRange", "---\nhosts: [{name: \"a[3-1]\"}]\n",
                "f.yaml:2:16: \"a[3-1]\" counts down from 3 to 1"},
        Mistake{"TooMany", "---\nhosts: [{name: \"a[1-99999999]\"}]\n",
                "f.yaml:2:16: \"a[1-99999999]\" expands to more than 4194304 names"}),
    [](const auto& mistake) { return mistake.param.name; });

INSTANTIATE_TEST_SUITE_P(
    MirrorsAndShapes, BadFabric,
    testing::Values(
        Mistake{"MirrorOnHost", "mirrors: [{switch: host0, session: 1, direction: both}]\n",
                "f.yaml:11:20: host0 is a host; only switches have mirror sessions"},
        Mistake{"SessionTooLarge", "mirrors: [{switch: leaf0, session: 1024, direction: both}]\n",
                "f.yaml:11:36: expected a whole number from 0 to 1023, found \"1024\""},
        Mistake{"NoDirection", "mirrors: [{switch: leaf0, session: 1}]\n",
                "f.yaml:11:11: the key \"direction\" of a mirror session is missing"},
        Mistake{"NoSuchPort",
                "mirrors: [{switch: leaf0, session: 1, direction: both, ports: Ethernet7}]\n",
                "f.yaml:11:63: leaf0 has no port \"Ethernet7\"; did you mean \"Ethernet1\"?"},
        Mistake{"NothingMirrored",
                "mirrors: [{switch: leaf0, session: 1, direction: both, ports: fabric}]\n",
                "f.yaml:11:11: mirror session 1 of leaf0 has no ports"},
        Mistake{"SessionTwice",
                "mirrors:\n  - {switch: leaf0, session: 1, direction: both}\n"
                "  - {switch: leaf0, session: 1, direction: egress}\n",
                "f.yaml:13:5: leaf0 has two mirror sessions 1 in the same direction, egress"},
        Mistake{"BadShape", "---\ngenerate: {shape: clos}\ndefaults: {speed: 1G}\n",
                "f.yaml:2:19: expected star, leaf-spine, fat-tree, found \"clos\""},
        Mistake{"OddK", "---\ngenerate: {shape: fat-tree, k: 5}\ndefaults: {speed: 1G}\n",
                "f.yaml:2:11: k is 5; a fat tree needs an even k from 2 to 64"},
        Mistake{"ShapeWithoutSpeed", "---\ngenerate: {shape: star, hosts: 2}\n",
                "f.yaml:2:11: no host_speed: set it here, or for all links with defaults: {speed: "
                "400G}"},
        Mistake{"NamesDoNotFit",
                "---\ndefaults: {speed: 1G}\n"
                "generate: {shape: fat-tree, k: 4, leaves: \"leaf[1-7]\"}\n",
                "f.yaml:3:11: 7 names for 8 leaves"},
        Mistake{"HostThatIsASwitch",
                "---\ndefaults: {speed: 1G}\ngenerate: {shape: star, hosts: 2}\n"
                "hosts: [{name: leaf0}]\n",
                "f.yaml:4:16: leaf0 is a generated switch, not a host"}),
    [](const auto& mistake) { return mistake.param.name; });

TEST(BadFabricTest, ReportsSeveralErrorsAtOnce) {
  const auto fabric = LoadFabric(
      "nam: x\nhosts: [{name: a, nics: [{device: d, rail: -1}]}]\nlinks: [[\"a:d\", \"b:1\"]]\n",
      "f.yaml");

  ASSERT_FALSE(fabric.has_value());
  EXPECT_EQ(fabric.error().message,
            "f.yaml:1:1: unknown key \"nam\" of a fabric; did you mean \"name\"?\n"
            "f.yaml:2:44: expected a whole number from 0 to 1023, found \"-1\"\n"
            "f.yaml:3:17: there is no node \"b\"; did you mean \"a\"?");
}

}  // namespace
}  // namespace rocescope::topology
