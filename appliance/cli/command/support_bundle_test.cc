// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/cli/command/support_bundle.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace rocescope {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

class SupportBundleTest : public testing::Test {
 protected:
  SupportBundleTest() { std::filesystem::create_directories(folder_); }
  ~SupportBundleTest() override { std::filesystem::remove_all(folder_); }

  // The parts for this configuration. Each answer of the appliance is `answer`.
  std::vector<BundlePart> Collect(const std::string& config, const Result<std::string>& answer) {
    const std::string path = (folder_ / "appliance.yaml").string();
    std::ofstream(path) << config;
    return CollectParts({.config = path, .page = {}, .is_page_given = false, .output = ""},
                        [&](const DaemonPage& page) {
                          url_ = page.url;
                          return [&](std::string_view) { return answer; };
                        });
  }
  static std::string ContentOf(const std::vector<BundlePart>& parts, std::string_view name) {
    const auto part = std::ranges::find(parts, name, &BundlePart::name);
    if (part == parts.end()) return "no such part";
    return part->content ? *part->content : "missing: " + part->content.error().message;
  }
  static std::string AllOfThem(const std::vector<BundlePart>& parts) {
    std::string text = ManifestOf(parts);
    for (const BundlePart& part : parts) text += ContentOf(parts, part.name);
    return text;
  }

  const std::filesystem::path folder_ =
      std::filesystem::path(testing::TempDir()) / ("rocescope-bundle-" + std::to_string(getpid()));
  std::string url_;
};

// The appliance repeats paths and URLs of its configuration in errors.
TEST_F(SupportBundleTest, HasNoSecretOfAnyKey) {
  const std::string digest = std::string(60, 'd') + "abcd";
  for (const std::string& config :
       {"http: {tokens: [" + digest + "]}\n",
        std::string("http: {certificate: c.pem, key: secret-http.key, client_ca: ca.pem}\n"),
        std::string("grpc: {certificate: c.pem, key: secret-grpc.key, client_ca: ca.pem}\n"),
        std::string("scrape: {targets: [{url: 'http://secret-user:secret-word@sw1/metrics"
                    "?a=\"b\"&token=secret-query'}]}\n")}) {
    const auto parts = Collect(
        config,
        "{\"problems\": [\"" + (folder_ / "secret-http.key").string() + ": denied\", \"" +
            (folder_ / "secret-grpc.key").string() + "\", \"" + digest +
            "\", \"http://secret-user:secret-word@sw1/metrics?a=\\\"b\\\"&token=secret-query"
            ": timed out\"]}");
    const std::string all = AllOfThem(parts);
    const auto has = [&](std::string_view secret) {
      return config.find(secret) != std::string::npos && all.find(secret) != std::string::npos;
    };
    for (const std::string& secret :
         {digest, std::string("secret-http"), std::string("secret-grpc"),
          std::string("secret-user"), std::string("secret-word"), std::string("secret-query")}) {
      EXPECT_FALSE(has(secret)) << secret << " of " << config;
    }
    EXPECT_THAT(ContentOf(parts, "configuration.yaml"), HasSubstr("(removed)"));
    EXPECT_THAT(ContentOf(parts, "health.json"), HasSubstr("(removed)"));
  }
}

TEST_F(SupportBundleTest, ListsEachFileWithItsReason) {
  const auto parts = Collect("topology: fabric.yaml\n", "{}");
  const std::string manifest = ManifestOf(parts);
  EXPECT_THAT(manifest, Not(HasSubstr("Missing")));
  EXPECT_THAT(manifest, HasSubstr("names of hosts, switches, jobs"));
  for (const char* name :
       {"version.txt", "system.txt", "configuration.yaml", "files.txt", "health.json",
        "problems.json", "sources.json", "findings.json", "metrics.txt"}) {
    EXPECT_THAT(manifest, HasSubstr(std::string("  ") + name + ": ")) << name;
    EXPECT_THAT(ContentOf(parts, name),
                AllOf(Not(StartsWith("missing: ")), Not(StartsWith("no such"))))
        << name;
  }
}

TEST_F(SupportBundleTest, SaysWhatIsMissing) {
  const auto parts =
      Collect("", MakeError(ErrorCode::kUnavailable, "http://127.0.0.1:8080/: connection refused"));
  EXPECT_THAT(
      ManifestOf(parts),
      AllOf(HasSubstr("Missing:\n  health.json: http://127.0.0.1:8080/: connection refused"),
            HasSubstr("  configuration.yaml: configuration with")));
}

TEST_F(SupportBundleTest, ErrorsOfAConfigurationAreNotQuoted) {
  const auto parts = Collect("topology_: secret-value\n", "{}");
  EXPECT_THAT(AllOfThem(parts), Not(HasSubstr("secret-value")));
  EXPECT_THAT(ContentOf(parts, "configuration.yaml"),
              AllOf(HasSubstr("missing: "), HasSubstr("config check")));
}

TEST_F(SupportBundleTest, AsksTheApplianceOfTheConfiguration) {
  (void)Collect("http: \"127.0.0.1:8099\"\n", "{}");
  EXPECT_EQ(url_, "http://127.0.0.1:8099/");
  (void)Collect("http: none\n", "{}");
  EXPECT_EQ(url_, "http://127.0.0.1:8080/");
}

TEST_F(SupportBundleTest, DescribesFilesOfTheHistory) {
  std::ofstream(folder_ / "h.db") << std::string(5000, 'x');
  std::ofstream(folder_ / "h.db.before-schema-2") << "copy";
  std::ofstream(folder_ / "other") << "x";
  const auto parts = Collect("history: {file: h.db}\n", "{}");
  EXPECT_THAT(ContentOf(parts, "files.txt"),
              AllOf(HasSubstr("  h.db: 5000 bytes"), HasSubstr("h.db.before-schema-2: 4 bytes"),
                    HasSubstr("free disk space"), HasSubstr("not a database"),
                    HasSubstr("jobs.file: not configured"), Not(HasSubstr("other"))));
}

TEST(WithoutSecretsTest, ReplacesTextsJsonAndUrls) {
  const std::vector<std::string> secrets = {"/etc/a\"b.key"};
  EXPECT_EQ(WithoutSecrets("x /etc/a\"b.key y", secrets), "x (removed) y");
  EXPECT_EQ(WithoutSecrets("[\"/etc/a\\\"b.key\"]", secrets), "[\"(removed)\"]");
  EXPECT_EQ(WithoutSecrets("see http://a:b@c/d?e=f, or https://g/h", {}),
            "see http://(removed)@c/d?(removed) or https://g/h");
  EXPECT_EQ(WithoutSecrets("://", {}), "://");
  EXPECT_EQ(WithoutSecrets("", {}), "");
}

}  // namespace
}  // namespace rocescope
