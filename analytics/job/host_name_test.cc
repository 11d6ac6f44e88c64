// SPDX-License-Identifier: BSD-3-Clause
#include "analytics/job/host_name.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/text/name_range.h"

namespace rocescope {
namespace {

using testing::ElementsAre;

TEST(HostName, MayBeTruncatedOrInUpperCase) {
  for (const char* fabric : {"gpu-01", "GPU-01", "gpu-01.cluster.example.com", "gpu-01."}) {
    for (const char* other : {"gpu-01", "Gpu-01", "GPU-01.cluster.example.com",
                              "gpu-01.Cluster.Example.com.", "gpu-01.cluster"}) {
      EXPECT_TRUE(SameHost(fabric, other)) << fabric << " and " << other;
      EXPECT_EQ(HostKey(fabric), HostKey(other));
    }
  }
}

TEST(HostName, DiffersForAnotherHost) {
  EXPECT_FALSE(SameHost("gpu-01", "gpu-1"));
  EXPECT_FALSE(SameHost("gpu-01", "gpu-010"));
  EXPECT_FALSE(SameHost("gpu-01.rack1.example", "gpu-01.rack2.example"));
  EXPECT_FALSE(SameHost("gpu-01", ""));
}

// Matches each of a scheduler's names with the fabric's spelling.
TEST(HostName, OfAHostListMatchesTheFabric) {
  const auto in_fabric = [](std::string_view list, std::string_view suffix) {
    std::vector<std::string> hosts;
    const auto names = topology::ExpandNames(list, 100);
    if (!names) return hosts;
    for (const std::string& name : *names) {
      for (const char* host : {"HOST0", "host1", "host2", "host3", "host7", "a01b1", "a01b2",
                               "a02b1", "a02b2", "a03b1", "A03B2", "a1b1"}) {
        if (SameHost(name, std::string(host) + std::string(suffix))) hosts.emplace_back(host);
      }
    }
    return hosts;
  };
  for (const char* suffix : {"", ".cluster.example.com"}) {
    EXPECT_THAT(in_fabric("host[0-3,7]", suffix),
                ElementsAre("HOST0", "host1", "host2", "host3", "host7"));
    EXPECT_THAT(in_fabric("a[01-03]b[1-2]", suffix),
                ElementsAre("a01b1", "a01b2", "a02b1", "a02b2", "a03b1", "A03B2"));
  }
}

}  // namespace
}  // namespace rocescope
