// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/cli/command/sandboxed_run.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace rocescope {
namespace {

using testing::Contains;
using testing::Each;
using testing::Field;
using testing::Not;

TEST(FilesOf, NamesTheDirectoriesOfTheConfiguration) {
  const ApplianceConfig config = {.topology = "/nonexistent/fabric/topology.yaml",
                                  .host_files = {.nccl_logs = {"/nonexistent/logs/a.log"}},
                                  .http = {.tls = {.certificate = "/nonexistent/http/a.pem"}},
                                  .grpc = {.tls = {.key = "/nonexistent/grpc/a.key"}},
                                  .history = {.file = "/nonexistent/history/history.db"},
                                  .jobs = {.file = "/nonexistent/jobs/jobs.db"}};
  const std::vector<FileRule> rules = FilesOf(config, "/nonexistent/configuration/appliance.yaml");
  for (const char* const directory : {"fabric", "logs", "http", "grpc", "configuration"}) {
    const FileRule wanted = {.path = std::string("/nonexistent/") + directory};
    EXPECT_THAT(rules, Contains(wanted)) << directory;
  }
  for (const char* const directory : {"history", "jobs"}) {
    const FileRule wanted = {.path = std::string("/nonexistent/") + directory,
                             .access = FileAccess::kWrite};
    EXPECT_THAT(rules, Contains(wanted)) << directory;
  }
}

TEST(FilesOf, PermitsNoWritingWithoutFilesToWrite) {
  const ApplianceConfig config = {.topology = "/nonexistent/topology.yaml"};
  EXPECT_THAT(FilesOf(config, "/nonexistent/appliance.yaml"),
              Each(Field(&FileRule::access, FileAccess::kRead)));
}

TEST(FilesOf, PermitsDevicesOnlyWithDpdk) {
  const FileRule vfio = {.path = "/dev/vfio", .access = FileAccess::kWrite};
  ApplianceConfig config;
  EXPECT_THAT(FilesOf(config, "/nonexistent/appliance.yaml"), Not(Contains(vfio)));
  config.dpdk.eal = {"--no-huge"};
  EXPECT_THAT(FilesOf(config, "/nonexistent/appliance.yaml"), Contains(vfio));
}

}  // namespace
}  // namespace rocescope
