// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/common/config/config.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "appliance/common/config/agent_config.h"

namespace rocescope {
namespace {

using testing::AllOf;
using testing::ContainsRegex;
using testing::HasSubstr;
using testing::Not;
using testing::UnorderedElementsAre;

std::string ErrorOf(std::string_view text) {
  const Result<ApplianceConfig> config = ParseConfig(text, "appliance.yaml");
  return config ? "" : config.error().message;
}

TEST(Config, RejectsDuplicateUdpAddresses) {
  EXPECT_EQ(ErrorOf("udp: {int: [\"127.0.0.1:1\", \"127.0.0.1:1\"]}"),
            "appliance.yaml:1:12: duplicate address in `udp`: 127.0.0.1:1");
  EXPECT_THAT(ErrorOf("udp: {int: [\"127.0.0.1:1\"], sflow: [\"[::1]:1\", \"127.0.0.1:1\"]}"),
              HasSubstr("duplicate address in `udp`: 127.0.0.1:1"));
  EXPECT_EQ(ErrorOf("udp: {int: [\"127.0.0.1:0\"], sflow: [\"127.0.0.1:0\"]}"), "");
}

TEST(Config, NoneDisablesHttp) {
  EXPECT_THAT(ErrorOf("http: \"\""), HasSubstr("or the word `none`"));
  EXPECT_EQ(ErrorOf("http: none"), "");
}

TEST(Config, NeedsASource) {
  const Status none = CheckSources({});
  ASSERT_FALSE(none);
  EXPECT_THAT(none.error().message, HasSubstr("no sources are configured"));
  EXPECT_TRUE(CheckSources({.udp = {.sflow = {{.port = 6343}}}}));
  EXPECT_TRUE(CheckSources({.scrape = {.targets = {{.url = "http://leaf0:9116/"}}}}));
  EXPECT_TRUE(CheckSources({.interfaces = {{.name = "eth0"}}}));
}

TEST(Config, EmptyFileGivesDefaults) {
  EXPECT_EQ(ParseConfig("", "appliance.yaml"), ApplianceConfig{});
  EXPECT_EQ(ParseConfig("# defaults\n", "appliance.yaml"), ApplianceConfig{});
}

TEST(Config, ReadsEveryKey) {
  const Result<ApplianceConfig> config = ParseConfig(R"(
topology: fabric.yaml
sandbox: off
record_interval: 50ms
analysis_window: 15s
interfaces:
  - {name: eth1, tap: leaf1, filter: "udp port 4791", snap: 160, promiscuous: false, buffer: 8M}
  - name: eth2
dpdk: {eal: [--no-huge, "--vdev=net_null0"], ports: [net_null0], lcores: 2, spread: rss, mbufs: 9}
udp:
  int: ["127.0.0.1:32766"]
  sflow: ["[::1]:6343", "0.0.0.0:6343"]
  buffer: 1G
scrape:
  targets: [{url: "http://10.0.0.7:9400/metrics", node: host7, period: 2s}]
  rules: [{from: pfc_rx_seconds, metric: pfc_rx_time, entity: port, node: switch, port: ifname, priority: tc, scale: 1000000000}]
host_files: {nccl_logs: [a, b], rdma: [c], slurm: [d]}
http: "[::1]:80"
history: {file: history.db, keep_events: 30d, keep_series: 36h, max_bytes: 256M}
jobs: {file: jobs.db, require_durable: true}
findings: {file: findings.db}
)",
                                                     "appliance.yaml");
  ASSERT_TRUE(config) << config.error().message;
  EXPECT_EQ(config->topology, "fabric.yaml");
  EXPECT_EQ(config->sandbox, SandboxMode::kOff);
  EXPECT_EQ(config->record_interval, std::chrono::milliseconds(50));
  EXPECT_EQ(config->analysis_window, std::chrono::seconds(15));
  ASSERT_EQ(config->interfaces.size(), 2u);
  EXPECT_EQ(config->interfaces[0], (InterfaceConfig{.name = "eth1",
                                                    .tap = "leaf1",
                                                    .filter = "udp port 4791",
                                                    .snap = 160,
                                                    .promiscuous = false,
                                                    .buffer = 8u << 20}));
  EXPECT_EQ(config->interfaces[1], (InterfaceConfig{.name = "eth2"}));
  EXPECT_EQ(config->dpdk, (DpdkConfig{.eal = {"--no-huge", "--vdev=net_null0"},
                                      .ports = {"net_null0"},
                                      .lcores = 2,
                                      .spread = SpreadBy::kRss,
                                      .mbufs = 9}));
  EXPECT_EQ(config->udp,
            (UdpConfig{.int_reports = {{.address = IpAddress::FromV4(0x7f000001), .port = 32766}},
                       .sflow = {{.address = {.low = 1}, .port = 6343},
                                 {.address = IpAddress::FromV4(0), .port = 6343}},
                       .buffer = 1u << 30}));
  EXPECT_EQ(config->scrape, (ScrapeConfig{.targets = {{.url = "http://10.0.0.7:9400/metrics",
                                                       .node = "host7",
                                                       .period = std::chrono::seconds(2)}},
                                          .rules = {{.from = "pfc_rx_seconds",
                                                     .metric = Metric::kPfcRxTime,
                                                     .entity = EntityKind::kPort,
                                                     .node = "switch",
                                                     .port = "ifname",
                                                     .priority = "tc",
                                                     .scale = 1'000'000'000}}}));
  EXPECT_EQ(config->host_files,
            (HostFilesConfig{.nccl_logs = {"a", "b"}, .rdma = {"c"}, .slurm = {"d"}}));
  EXPECT_EQ(config->http, (HttpConfig{.listen = ListenAddress{.address = {.low = 1}, .port = 80}}));
  EXPECT_EQ(config->jobs, (JobsConfig{.file = "jobs.db", .require_durable = true}));
  EXPECT_EQ(config->findings, (FindingsConfig{.file = "findings.db"}));
  EXPECT_EQ(config->history, (HistoryConfig{.file = "history.db",
                                            .keep_events = std::chrono::hours(720),
                                            .keep_series = std::chrono::hours(36),
                                            .max_bytes = 256u << 20}));
}

TEST(Config, HistoryHasBounds) {
  EXPECT_THAT(ErrorOf("history: {keep_series: 10m, max_bytes: 1M}\n"),
              testing::AllOf(HasSubstr("expected 1h to 3650d, found 10m"),
                             HasSubstr("expected 16M to 1T, found 1M")));
  EXPECT_THAT(DumpConfig({}), HasSubstr("  keep_events: 90d\n"));
}

TEST(Config, RejectsUnknownEnumWords) {
  EXPECT_THAT(ErrorOf("dpdk: {spread: fast}\n"),
              HasSubstr("expected one of auto, rss, software, none; found fast"));
}

TEST(Config, HttpBeyondLoopbackRequiresTls) {
  EXPECT_EQ(ParseConfig("", "appliance.yaml")->http.listen, kDefaultHttp);
  EXPECT_EQ(ParseConfig("http: none\n", "appliance.yaml")->http.listen, std::nullopt);
  EXPECT_THAT(ErrorOf("http: 0.0.0.0:80\n"),
              HasSubstr("appliance.yaml:1:7: 0.0.0.0:80 is not a loopback address"));
  EXPECT_THAT(ErrorOf("http: 0.0.0.0:80\n"),
              HasSubstr("`http: {listen: \"0.0.0.0:80\", certificate: FILE, key: FILE, client_ca: "
                        "FILE}`"));
  EXPECT_THAT(ErrorOf("http: here\n"), HasSubstr("such as 127.0.0.1:8080"));
  EXPECT_EQ(
      ErrorOf("http: {listen: \"0.0.0.0:80\"}\n"),
      "appliance.yaml:1:7: 0.0.0.0:80 is not a loopback address and requires certificate, key "
      "and client_ca");
  EXPECT_EQ(ErrorOf("http: {key: k.pem}\n"),
            "appliance.yaml:1:7: incomplete TLS configuration: set all of certificate, key and "
            "client_ca");
}

TEST(Config, ReadsHttpKeys) {
  EXPECT_EQ(
      ParseConfig("http: {listen: \"0.0.0.0:80\", certificate: c, key: k, client_ca: a, names: "
                  "[appliance.example.org]}\n",
                  "appliance.yaml")
          ->http,
      (HttpConfig{.listen = ListenAddress{.address = IpAddress::FromV4(0), .port = 80},
                  .tls = {.certificate = "c", .key = "k", .client_ca = "a"},
                  .names = {"appliance.example.org"}}));
  EXPECT_EQ(ParseConfig("http: {listen: none}\n", "appliance.yaml")->http.listen, std::nullopt);
  EXPECT_EQ(ParseConfig("http:\n", "appliance.yaml")->http, HttpConfig{});
  for (const char* name : {"https://appliance", "appliance:80", "*.example.org", "", "a b"}) {
    EXPECT_THAT(ErrorOf(fmt::format("http: {{names: [\"{}\"]}}\n", name)),
                HasSubstr("is not a host name: expected a name such as appliance.example.org"));
  }
  EXPECT_THAT(ErrorOf("http: [127.0.0.1:80]\n"), HasSubstr("appliance.yaml:1:7: "));
}

TEST(Config, GrpcBeyondLoopbackRequiresTls) {
  EXPECT_EQ(
      ErrorOf("grpc: {listen: [\"127.0.0.1:1\", \"[::]:2\"]}\n"),
      "appliance.yaml:1:7: [::]:2 is not a loopback address and requires certificate, key and "
      "client_ca");
  EXPECT_EQ(ErrorOf("grpc: {listen: [\"[::]:2\"], certificate: c, key: k, client_ca: a}\n"), "");
}

TEST(Config, DumpRoundTrips) {
  ApplianceConfig config = {.topology = "a \"b\"\\\n.yaml", .analysis_window = Duration(7'000'000)};
  EXPECT_EQ(ParseConfig(DumpConfig(config), "dump"), config);
  config.interfaces = {{.name = "eth1"}, {.name = "eth2", .tap = "spine", .buffer = 3u << 20}};
  config.udp.sflow = {{.address = {.low = 1}, .port = 6343}};
  config.host_files.rdma = {"", "#"};
  EXPECT_EQ(ParseConfig(DumpConfig(config), "dump"), config) << DumpConfig(config);
  config.http = {.listen = std::nullopt,
                 .tls = {.certificate = "c", .key = "k", .client_ca = "a"},
                 .names = {"appliance"},
                 .health_listen = kDefaultHttp};
  EXPECT_EQ(ParseConfig(DumpConfig(config), "dump"), config) << DumpConfig(config);
}

// Every key that holds a secret or names a file with one.
TEST(Config, DumpWithoutSecretsHasNone) {
  const std::string digest(64, 'b');
  const std::string file = "/nowhere/appliance.yaml";
  for (const std::string& text :
       {"http: {tokens: [" + digest + "]}\n",
        std::string("http: {certificate: c.pem, key: secret-http.key, client_ca: ca.pem}\n"),
        std::string("grpc: {certificate: c.pem, key: secret-grpc.key, client_ca: ca.pem}\n"),
        std::string("scrape: {targets: [{url: \"http://secret-user:secret-word@sw1:9100/metrics"
                    "?token=secret-query\"}]}\n")}) {
    const auto config = ParseConfig(text, file);
    ASSERT_TRUE(config) << config.error().message;
    const std::string dump = DumpConfigWithoutSecrets(*config);
    EXPECT_THAT(dump,
                AllOf(Not(HasSubstr("secret-")), Not(HasSubstr(digest)), HasSubstr("(removed)")));
    EXPECT_THAT(DumpConfig(*config), Not(HasSubstr("(removed)")));
  }
  const std::string other(64, 'c');
  const auto several = ParseConfig("http: {tokens: [" + digest + ", " + other + "]}\n", file);
  ASSERT_TRUE(several);
  EXPECT_THAT(DumpConfigWithoutSecrets(*several),
              AllOf(Not(HasSubstr(digest)), Not(HasSubstr(other)),
                    ContainsRegex("sha256: \"\\(removed\\)\"[^*]*sha256: \"\\(removed\\)\"")));
  EXPECT_EQ(DumpConfigWithoutSecrets(ApplianceConfig{}), DumpConfig(ApplianceConfig{}));
}

TEST(Config, SecretsAreCollected) {
  const auto config = ParseConfig(
      "http: {certificate: c.pem, key: http.key, client_ca: ca.pem}\n"
      "grpc: {certificate: c.pem, key: grpc.key, client_ca: ca.pem}\n"
      "scrape: {targets: [{url: \"http://me:pw@sw1:9100/metrics?token=x\"}]}\n",
      "x.yaml");
  ASSERT_TRUE(config);
  EXPECT_THAT(SecretsOf(*config), UnorderedElementsAre("http.key", "grpc.key", "me:pw", "token=x"));
}

TEST(Config, UrlsLoseUserPasswordAndQuery) {
  EXPECT_EQ(UrlWithoutSecrets("http://10.0.0.7:9400/metrics"), "http://10.0.0.7:9400/metrics");
  EXPECT_EQ(UrlWithoutSecrets("http://me:a/b?c@sw1/metrics"), "http://(removed)@sw1/metrics");
  EXPECT_EQ(UrlWithoutSecrets("https://sw1/federate?token=x&y=z"),
            "https://sw1/federate?(removed)");
  EXPECT_EQ(UrlWithoutSecrets("https://sw1?token=x"), "https://sw1?(removed)");
  EXPECT_EQ(UrlWithoutSecrets("https://sw1/?mail=a@b"), "https://(removed)@b");
  EXPECT_EQ(UrlWithoutSecrets(""), "");
}

TEST(Config, ARenamedKeyGetsItsPresentName) {
  EXPECT_THAT(ErrorOf("agents: {most: 3}\n"),
              HasSubstr("key \"most\" of agents was renamed: use \"max_hosts\""));
  EXPECT_THAT(ErrorOf("history: {most_bytes: 1 GB}\n"), HasSubstr("use \"max_bytes\""));
}

TEST(Config, ThresholdsOfTheDiagnosisHaveRanges) {
  EXPECT_EQ(ParseConfig("", "appliance.yaml")->diagnosis, Thresholds{});
  const auto config =
      ParseConfig("diagnosis: {pause_ratio: 0.05, incast_senders: 8}\n", "appliance.yaml");
  EXPECT_EQ(config->diagnosis, (Thresholds{.pause_ratio = 0.05, .incast_senders = 8}));
  EXPECT_EQ(ParseConfig(DumpConfig(*config), "dump"), *config);
  EXPECT_THAT(ErrorOf("diagnosis: {pause_ratio: 2}\n"),
              HasSubstr("appliance.yaml:1:26: expected 0 to 1, found 2"));
  EXPECT_THAT(ErrorOf("diagnosis: {pause_ratio: nan}\n"), HasSubstr("\"nan\" is not a number"));
  EXPECT_THAT(ErrorOf("diagnosis: {incast_senders: 1}\n"),
              HasSubstr("expected a whole number from 2 to 1000"));
  EXPECT_THAT(ErrorOf("diagnosis: {pause_ratios: 1}\n"),
              HasSubstr("did you mean \"pause_ratio\"?"));
  EXPECT_THAT(DumpConfig({}),
              HasSubstr("fraction of a window. Range: 0 to 1.\n  pause_ratio: 0.02\n"));
}

TEST(Config, HealthChecksNeedALoopbackAddressOfTheirOwn) {
  EXPECT_EQ(ErrorOf("http: {listen: none, health_listen: 127.0.0.1:8080}\n"), "");
  EXPECT_THAT(ErrorOf("http: {listen: none, health_listen: 0.0.0.0:8080}\n"),
              HasSubstr("appliance.yaml:1:37: 0.0.0.0:8080 is not a loopback address"));
  EXPECT_THAT(ErrorOf("http: {health_listen: 127.0.0.1:8080}\n"),
              HasSubstr("`health_listen` and `listen` have the same port"));
}

TEST(Config, ATokenIsADigestOrAMapping) {
  const std::string one(64, '1');
  const std::string two(64, 'a');
  const auto config = ParseConfig(
      fmt::format("http:\n  tokens:\n    - \"{}\"\n    - {{name: ada, sha256: {}, role: tenant, "
                  "users: [alice, bob]}}\n",
                  one, two),
      "f");
  ASSERT_TRUE(config) << config.error().message;
  const std::vector<TokenConfig> expected = {
      {.name = "", .sha256 = one, .role = TokenRole::kViewer, .users = {}},
      {.name = "ada", .sha256 = two, .role = TokenRole::kTenant, .users = {"alice", "bob"}}};
  EXPECT_EQ(config->http.tokens, expected);
  EXPECT_EQ(ParseConfig(DumpConfig(*config), "dump").value(), *config);
  for (const auto& [token, error] : {
           std::pair("secret", "expected the SHA-256 digest of a token"),
           std::pair("~", "expected the SHA-256 digest of a token"),
           std::pair("{name: ada}", "sha256"),
           std::pair("{sha256: abc}", "64 hexadecimal digits"),
           std::pair("{sha256: DIGEST, role: scheduler}",
                     "expected one of viewer, operator, tenant"),
           std::pair("{sha256: DIGEST, role: tenant}", "`users` is required"),
           std::pair("{sha256: DIGEST, users: [alice]}", "`users` is only for the role `tenant`"),
           std::pair("{sha256: DIGEST, role: tenant, users: [\"\"]}", "found an empty name"),
           std::pair("DIGEST, DIGEST", "two tokens have the digest"),
       }) {
    std::string text = token;
    for (size_t at = 0; (at = text.find("DIGEST")) != std::string::npos;) text.replace(at, 6, two);
    EXPECT_THAT(ErrorOf(fmt::format("http: {{tokens: [{}]}}\n", text)), HasSubstr(error)) << token;
  }
}

TEST(Config, TenantsHaveUsersAndNoOtherRole) {
  const auto config = ParseConfig("grpc: {tenants: [{name: ada, users: [alice]}]}\n", "f");
  ASSERT_TRUE(config) << config.error().message;
  EXPECT_EQ(config->grpc.tenants, (std::vector<TenantConfig>{{.name = "ada", .users = {"alice"}}}));
  EXPECT_EQ(ParseConfig(DumpConfig(*config), "dump").value(), *config);
  EXPECT_THAT(ErrorOf("grpc: {tenants: [{name: ada}]}\n"), HasSubstr("users"));
  EXPECT_THAT(ErrorOf("grpc: {tenants: [{users: [alice]}]}\n"), HasSubstr("name"));
  EXPECT_THAT(ErrorOf("grpc: {tenants: [{name: ada, users: []}]}\n"),
              HasSubstr("expected the users of the scheduler"));
  EXPECT_THAT(ErrorOf("grpc: {tenants: [{name: ada, users: [a, \"\"]}]}\n"),
              HasSubstr("found an empty name"));
  for (const char* key : {"viewers", "schedulers", "operators"}) {
    EXPECT_THAT(ErrorOf(fmt::format(
                    "grpc: {{{}: [ada], tenants: [{{name: ada, users: [alice]}}]}}\n", key)),
                HasSubstr(fmt::format("\"ada\" is also in `{}`", key)));
  }
}

TEST(Config, TheExternalUrlIsAUrl) {
  EXPECT_EQ(
      ParseConfig("http: {external_url: https://a.example.org/scope/}\n", "f")->http.external_url,
      "https://a.example.org/scope");
  for (const char* wrong : {"a.example.org", "ftp://a", "https://", "https:///x", "https://:8080",
                            "'https://a b'", "'https://a/?x=1'", "'https://a/#/jobs'",
                            "'https://a\"'", "https://user:secret@a", "https://\u00e4.example"}) {
    EXPECT_THAT(ErrorOf(fmt::format("http: {{external_url: {}}}\n", wrong)),
                HasSubstr("is not the URL of a dashboard"))
        << wrong;
  }
}

TEST(Config, HttpAndGrpcNeedDifferentPorts) {
  EXPECT_EQ(ErrorOf("udp: {}\nhttp: 127.0.0.1:50051\n"),
            "appliance.yaml:2:7: `http.listen` (127.0.0.1:50051) and `grpc.listen` "
            "(127.0.0.1:50051) have the same port; use different ports");
  EXPECT_THAT(ErrorOf("grpc: {listen: [\"[::1]:1\", \"127.0.0.1:8080\"]}\n"),
              HasSubstr("appliance.yaml:1:7: `http.listen` (127.0.0.1:8080)"));
  constexpr const char* kTls = ", certificate: c, key: k, client_ca: a";
  const auto error_of = [&](const char* http, const char* grpc) {
    return ErrorOf(fmt::format("http: {{listen: \"{}\"{}}}\ngrpc: {{listen: [\"{}\"]{}}}\n", http,
                               kTls, grpc, kTls));
  };
  for (const auto& [http, grpc] :
       {std::pair("0.0.0.0:1", "10.0.0.1:1"), std::pair("10.0.0.1:1", "[::]:1"),
        std::pair("[::]:1", "0.0.0.0:1"), std::pair("[2001:db8::1]:1", "[::]:1")}) {
    EXPECT_THAT(error_of(http, grpc), HasSubstr("have the same port")) << http << ' ' << grpc;
  }
  for (const auto& [http, grpc] :
       {std::pair("0.0.0.0:1", "10.0.0.1:2"), std::pair("10.0.0.1:1", "10.0.0.2:1"),
        std::pair("0.0.0.0:1", "[2001:db8::1]:1"), std::pair("0.0.0.0:0", "0.0.0.0:0")}) {
    EXPECT_EQ(error_of(http, grpc), "") << http << ' ' << grpc;
  }
}

TEST(Config, JobsAndHistoryNeedDifferentFiles) {
  const std::filesystem::path folder =
      std::filesystem::temp_directory_path() / fmt::format("rocescope-config-{}", getpid());
  std::filesystem::create_directories(folder);
  std::filesystem::create_symlink("one.db", folder / "link.db");
  const std::string path = (folder / "appliance.yaml").string();
  const auto error_of = [&](const std::string& jobs, const std::string& history) {
    std::ofstream(path) << fmt::format("jobs: {{file: {}}}\nhistory: {{file: {}}}\n", jobs,
                                       history);
    const auto config = LoadConfig(path);
    return config ? "" : config.error().message;
  };
  for (const std::string& history :
       {std::string("one.db"), std::string("./a/../one.db"), (folder / "one.db").string()}) {
    EXPECT_EQ(
        error_of("one.db", history),
        fmt::format("{}: `jobs.file` and `history.file` name the same file, {}: use two files",
                    path, (folder / "one.db").string()));
  }
  EXPECT_EQ(error_of("one.db", "two.db"), "");
  std::ofstream(folder / "one.db") << "";
  EXPECT_THAT(error_of("one.db", "link.db"), HasSubstr("name the same file"));
  std::ofstream(path) << "history: {file: two.db}\nfindings: {file: ./two.db}\n";
  EXPECT_THAT(LoadConfig(path).error().message,
              HasSubstr("`findings.file` and `history.file` name the same file"));
  std::ofstream(path) << "jobs: {require_durable: true}\n";
  EXPECT_THAT(LoadConfig(path).error().message,
              HasSubstr("`jobs.require_durable` requires `jobs.file`"));
  std::filesystem::remove_all(folder);
}

TEST(Config, TextsMustNotContainNul) {
  EXPECT_EQ(ErrorOf("jobs: {file: \"a\\0b\"}\n"),
            "appliance.yaml:1:14: `jobs.file` must not contain a NUL byte");
  EXPECT_EQ(ErrorOf("topology: \"\\0\"\n"),
            "appliance.yaml:1:11: `topology` must not contain a NUL byte");
  EXPECT_EQ(ErrorOf("host_files: {slurm: [a, \"b\\0\"]}\n"),
            "appliance.yaml:1:25: `host_files.slurm` must not contain a NUL byte");
}

TEST(Config, HostOfAnAgentIsAHostName) {
  for (const char* name : {"", "gpu-7", "gpu_7.example.org"}) {
    EXPECT_TRUE(ParseAgentConfig(fmt::format("host: \"{}\"\n", name), "agent.yaml")) << name;
  }
  const auto config = ParseAgentConfig("queue_pairs: true\nhost: gpu 7\n", "agent.yaml");
  ASSERT_FALSE(config);
  EXPECT_THAT(config.error().message,
              HasSubstr("agent.yaml:2:7: `host`: \"gpu 7\" is not a host name"));
}

TEST(Config, DumpShowsEmptyListsAsComments) {
  const std::string dump = DumpConfig({});
  EXPECT_THAT(dump, HasSubstr("# interfaces:\n#   -\n#     # Name of the network interface"));
  EXPECT_THAT(dump, HasSubstr("\nrecord_interval: 100ms\n"));
}

TEST(Config, UnknownKeyReportsPositionAndNearestKey) {
  EXPECT_EQ(ErrorOf("topolgy: x\n"),
            "appliance.yaml:1:1: unknown key \"topolgy\" of the configuration; did you mean "
            "\"topology\"?");
  EXPECT_THAT(ErrorOf("udp:\n  intt: []\n"),
              HasSubstr("appliance.yaml:2:3: unknown key \"intt\" of udp"));
}

TEST(Config, ReportsAllErrorsAtOnce) {
  const std::string error = ErrorOf(
      "record_interval: 5s\nanalysis_window: 1\nudp: {buffer: 64X, sflow: [\"localhost:80\"]}\n"
      "interfaces: [{snap: 63}]\n");
  EXPECT_THAT(error, HasSubstr("appliance.yaml:1:18: expected 1ms to 4s, found 5s"));
  EXPECT_THAT(error, HasSubstr("appliance.yaml:2:18: \"1\" is not a duration"));
  EXPECT_THAT(error, HasSubstr("appliance.yaml:3:15: \"64X\" is not a size in bytes"));
  EXPECT_THAT(error,
              HasSubstr("appliance.yaml:3:28: \"localhost:80\" is not an address with a port"));
  EXPECT_THAT(error, HasSubstr("expected a whole number from 64 to 65535, found \"63\""));
  EXPECT_THAT(error, HasSubstr("the key \"name\" of interfaces is missing"));
}

}  // namespace
}  // namespace rocescope
