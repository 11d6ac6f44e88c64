// SPDX-License-Identifier: BSD-3-Clause
#include "analytics/dependency/elements.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analytics/dependency/dependency_fixture.h"

namespace rocescope {
namespace {

using ElementsTest = DependencyTest;

TEST_F(ElementsTest, NamesAreInvertible) {
  AddSmallJob();
  AddJob("job-10", {RankAt(0, "host1")});  // starts with the name of the other one
  const Elements elements(fabric_, attribution_);
  for (uint32_t number = 0; number < elements.count(); ++number) {
    const Element element = elements.At(number);
    if (!elements.Has(element)) continue;
    const std::string name = elements.NameOf(element);
    const auto found = elements.Find(name);
    ASSERT_TRUE(found) << name;
    EXPECT_EQ(elements.NameOf(*found), name);
    // A host's port has the name of its NIC.
    const bool is_hosts_port = element.kind == ElementKind::kPort &&
                               !fabric_.node(fabric_.port(element.index).node).IsSwitch();
    EXPECT_EQ(found->kind, is_hosts_port ? ElementKind::kNic : element.kind) << name;
  }
}

TEST_F(ElementsTest, NumbersAreInvertibleWithEmptyKinds) {
  const Elements elements(fabric_, attribution_);  // no job, communicator or rank
  EXPECT_EQ(elements.At(0), (Element{ElementKind::kGpu, 0}));
  const auto nodes = static_cast<uint32_t>(fabric_.nodes().size());
  EXPECT_EQ(elements.At(elements.count() - 1), (Element{ElementKind::kSwitch, nodes - 1}));
  EXPECT_EQ(elements.Names().size(), 8u + 4 + 8 + 24 + 12 + 4)
      << "8 GPUs, 4 hosts, 8 NICs, the 24 ports of 8 links to hosts and 4 between switches, these "
         "links, 4 switches";
}

TEST_F(ElementsTest, TheEndsOfALinkMayBeInAnyOrder) {
  const Elements elements(fabric_, attribution_);
  const std::string a = PortName("leaf0", "spine1");
  const std::string b = PortName("spine1", "leaf0");
  const Element link{ElementKind::kLink, fabric_.port(Port("leaf0", "spine1")).link};
  EXPECT_EQ(elements.Find(a + "-" + b), link);
  EXPECT_EQ(elements.Find(b + "-" + a), link);
}

TEST_F(ElementsTest, FindsANicByAddress) {
  const Elements elements(fabric_, attribution_);
  EXPECT_EQ(elements.Find(ToString(AddressOf("host2", 1))), elements.Find("host2:mlx5_1"));
}

TEST_F(ElementsTest, PrefersAJobToItsLargestCommunicator) {
  AddSmallJob();
  attribution_.jobs[0].job.communicators[0].id = "job-1";
  const Elements elements(fabric_, attribution_);
  EXPECT_EQ(elements.Find("job-1"), (Element{ElementKind::kJob, 0}));
}

TEST_F(ElementsTest, AProcessWithoutARankIsNamedByHostAndNumberOrNic) {
  JobRank process;
  process.host = "host1";
  process.process_id = 4711;
  JobRank nic;
  nic.host = "host1";
  nic.devices = {{.name = "mlx5_1"}};
  AddJob("job-1", {process, nic});
  const Elements elements(fabric_, attribution_);
  EXPECT_EQ(elements.NameOf(elements.Rank(0, 0)), "job-1:host1:4711");
  EXPECT_EQ(elements.NameOf(elements.Rank(0, 1)), "job-1:host1:mlx5_1");
  EXPECT_EQ(elements.Find("job-1:host1:4711"), elements.Rank(0, 0));
  EXPECT_EQ(elements.Find("job-1:host1:mlx5_1"), elements.Rank(0, 1));
  EXPECT_FALSE(elements.Find("job-1:rank:4294967295")) << "which is -1 where ints have 32 bits";
  EXPECT_FALSE(elements.Find("job-1:rank:-1"));
}

TEST_F(ElementsTest, FindsAJobByTheSchedulersNumberAndName) {
  AddSmallJob();
  attribution_.jobs[0].job.allocation = {.id = 4711, .name = "pretrain"};
  const Elements elements(fabric_, attribution_);
  const Element job{ElementKind::kJob, 0};
  EXPECT_EQ(elements.Find("4711"), job);
  EXPECT_EQ(elements.Find("pretrain"), job);
  EXPECT_EQ(elements.Find("job-1 [slurm 4711 \"pretrain\"]"), job) << "the format in reports";
  EXPECT_EQ(elements.Find("pretrain:rank:1"), elements.Rank(0, 1));
  EXPECT_FALSE(elements.Find("471"));
  EXPECT_FALSE(elements.Find(""));
}

TEST_F(ElementsTest, DoesNotFindADuplicateAllocationName) {
  AddSmallJob();
  AddJob("job-2", {RankAt(0, "host1")});
  attribution_.jobs[0].job.allocation = {.id = 1, .name = "pretrain"};
  attribution_.jobs[1].job.allocation = {.id = 2, .name = "pretrain"};
  const Elements elements(fabric_, attribution_);
  EXPECT_FALSE(elements.Find("pretrain"));
  EXPECT_EQ(elements.Find("2"), (Element{ElementKind::kJob, 1}));
}

TEST_F(ElementsTest, PrefersAnElementToAnAllocation) {
  AddSmallJob();
  attribution_.jobs[0].job.allocation = {.id = 1, .name = "leaf0"};
  const Elements elements(fabric_, attribution_);
  EXPECT_EQ(elements.Find("leaf0")->kind, ElementKind::kSwitch);
}

TEST_F(ElementsTest, DoesNotFindUnknownNames) {
  AddSmallJob();
  const Elements elements(fabric_, attribution_);
  const std::string port = PortName("leaf0", "spine0");
  for (const std::string& name :
       {std::string(), std::string("nobody"), std::string("host0:gpu:99"),
        std::string("host0:gpu:"), std::string("host0:gpu:1x"), std::string("leaf0:"),
        std::string(":"), std::string("job-1:rank:7"), std::string("job-1:rank:"), port + "-",
        port + "-" + port, "-" + port, std::string("192.0.2.99"), std::string("::"),
        std::string(5000, ':')}) {
    EXPECT_FALSE(elements.Find(name)) << name;
  }
}

}  // namespace
}  // namespace rocescope
