// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/cli/command/log.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>
#include <string>

namespace rocescope {
namespace {

using testing::MatchesRegex;

class LogTest : public testing::Test {
 protected:
  ~LogTest() override { SetLogFormat(LogFormat::kText); }

  static std::string Logged(Severity severity, const char* component, const char* text) {
    testing::internal::CaptureStderr();
    Log(severity, component, text);
    return testing::internal::GetCapturedStderr();
  }
};

constexpr const char* kTime = "2[0-9]{3}-[0-9]{2}-[0-9]{2}T[0-9:]{8}[.][0-9]{3}Z";

TEST_F(LogTest, TextHasTimeSeverityComponentAndMessage) {
  EXPECT_THAT(Logged(Severity::kWarning, "history", "the disk is full\n"),
              MatchesRegex(std::string(kTime) + " WARNING history: the disk is full.*\n"));
}

TEST_F(LogTest, ComponentIsNotRepeated) {
  EXPECT_THAT(Logged(Severity::kInfo, "history", "history: 3 rows were dropped"),
              MatchesRegex(std::string(kTime) + " INFO history: 3 rows were dropped\n"));
}

TEST_F(LogTest, JsonIsOneObjectALine) {
  SetLogFormat(LogFormat::kJson);
  const std::string line = Logged(Severity::kError, "source", "cannot read \"eth0\"\n\x1b[31m");
  EXPECT_EQ(line.find('\n'), line.size() - 1);
  const auto json = nlohmann::json::parse(line);
  EXPECT_THAT(json["time"].get<std::string>(), MatchesRegex(kTime));
  EXPECT_EQ(json["severity"], "ERROR");
  EXPECT_EQ(json["component"], "source");
  EXPECT_EQ(json["message"], "cannot read \"eth0\"\n\x1b[31m");
}

TEST_F(LogTest, FatalErrorsArePlainInTextAndErrorsInJson) {
  testing::internal::CaptureStderr();
  LogFatal("appliance", "a.yaml:1:1: x\na.yaml:2:1: y");
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            "rocescope: a.yaml:1:1: x\nrocescope: a.yaml:2:1: y\n");
  SetLogFormat(LogFormat::kJson);
  testing::internal::CaptureStderr();
  LogFatal("appliance", "a.yaml:1:1: x\na.yaml:2:1: y");
  const std::string lines = testing::internal::GetCapturedStderr();
  EXPECT_EQ(nlohmann::json::parse(lines.substr(0, lines.find('\n')))["message"], "a.yaml:1:1: x");
  EXPECT_EQ(nlohmann::json::parse(lines.substr(lines.find('\n') + 1))["message"], "a.yaml:2:1: y");
}

}  // namespace
}  // namespace rocescope
