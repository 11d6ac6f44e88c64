// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/common/access/caller_roles.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace rocescope {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

GrpcConfig Config() {
  GrpcConfig config;
  config.viewers = {"ada"};
  config.operators = {"ada", "root1"};
  config.agents = {"*.gpu.example"};
  config.tenants = {{.name = "carol", .users = {"alice", "bob"}},
                    {.name = "*.team.example", .users = {"dora"}}};
  return config;
}

TEST(CallerRoles, ClientsHaveTheRolesOfAllTheirNames) {
  const Caller ada = CallerRoles(Config()).CallerOf({"unknown", "ada", "node7.gpu.example"});
  EXPECT_EQ(ada.name, "ada") << "the first name with a role";
  EXPECT_EQ(ada.roles,
            Of(CallerRole::kViewer) | Of(CallerRole::kOperator) | Of(CallerRole::kAgent));
  EXPECT_TRUE(ada.MayReadAll());
  EXPECT_THAT(ada.users, IsEmpty());
}

TEST(CallerRoles, TenantsHaveUsersAndReadNothingElse) {
  const CallerRoles roles(Config());
  const Caller carol = roles.CallerOf({"carol", "a.team.example"});
  EXPECT_EQ(carol.name, "carol");
  EXPECT_EQ(carol.roles, Of(CallerRole::kTenant));
  EXPECT_FALSE(carol.MayReadAll());
  EXPECT_THAT(carol.users, ElementsAre("alice", "bob", "dora"));
  EXPECT_TRUE(carol.IsUser("bob"));
  EXPECT_FALSE(carol.IsUser("eve"));
  EXPECT_FALSE(carol.IsUser("")) << "jobs without a user belong to no client";
  EXPECT_THAT(WhyNotAllowed(carol, "read /metrics"),
              HasSubstr("\"carol\" may not read /metrics: clients with the role tenant"));
  EXPECT_THAT(roles.CallerOf({"b.team.example"}).users, ElementsAre("dora"));
}

TEST(CallerRoles, AgentsAndUnknownNamesReadNothing) {
  const CallerRoles roles(Config());
  EXPECT_FALSE(roles.CallerOf({"node7.gpu.example"}).MayReadAll());
  const Caller eve = roles.CallerOf({"eve", "mallory"});
  EXPECT_EQ(eve.name, "eve");
  EXPECT_EQ(eve.roles, 0);
  EXPECT_EQ(roles.CallerOf({}).name, "");
  EXPECT_EQ(Caller().roles, 0) << "a caller that no transport has identified may do nothing";
}

TEST(CallerRoles, TheLocalCallerMayDoEverything) {
  EXPECT_EQ(LocalCaller().name, "");
  for (const CallRoles& call : kCallRoles) EXPECT_NE(LocalCaller().roles & call.roles, 0);
}

}  // namespace
}  // namespace rocescope
