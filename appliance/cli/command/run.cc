// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/cli/command/run.h"

#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <exception>
#include <memory>
#include <new>
#include <optional>
#include <utility>

#include "appliance/api/message_value.h"
#include "appliance/cli/command/exit_code.h"
#include "appliance/cli/command/history_feed.h"
#include "appliance/cli/command/log.h"
#include "appliance/cli/command/message.h"
#include "appliance/cli/command/output.h"
#include "appliance/cli/command/sandboxed_run.h"
#include "appliance/cli/command/stop_signal.h"
#include "appliance/cli/command/tls_reload.h"
#include "appliance/common/config/config.h"
#include "appliance/common/process/privileges.h"
#include "appliance/common/process/service_manager.h"
#include "appliance/common/process/step_back.h"
#include "appliance/common/process/watchdog.h"
#include "appliance/common/report/finding_sentence.h"
#include "appliance/common/report/message_json.h"
#include "appliance/common/report/table.h"
#include "appliance/common/report/utc_text.h"
#include "appliance/common/report/visible_text.h"
#include "appliance/common/scrape/http_fetch.h"
#include "appliance/daemon/core/daemon.h"
#include "appliance/daemon/grpc/grpc_server.h"
#include "appliance/daemon/history/finding_file.h"
#include "appliance/daemon/history/history_store.h"
#include "appliance/daemon/history/job_file.h"
#include "appliance/daemon/http/http_server.h"
#include "appliance/daemon/service/event_watch.h"
#include "appliance/daemon/service/service.h"
#include "appliance/daemon/web/json_request.h"
#include "appliance/daemon/web/web.h"
#include "base/count_text.h"
#include "dataplane/source/wall_clock.h"
#include "rocescope/v1/service.pb.h"

namespace rocescope {
namespace {

// With two flushes less than TimeoutStopSec of the systemd unit.
constexpr std::chrono::seconds kLongestStop(45);
constexpr std::chrono::seconds kLongestFlush(5);

std::string_view TitleOf(const v1::Event& event) {
  if (event.kind() == v1::Event::KIND_FAULT_STARTED) return "FAULT";
  if (event.kind() == v1::Event::KIND_FAULT_RESOLVED) return "RESOLVED";
  return event.kind() == v1::Event::KIND_FAULT_WITHDRAWN ? "WITHDRAWN" : "";
}

std::string TextOf(const v1::Event& event) {
  const std::string_view word = TitleOf(event);
  if (word.empty()) return "";  // a failed source has logged its own error
  std::string line = fmt::format("{} {} {}", UtcDayAndTime(Nanoseconds(event.event_time())), word,
                                 Visible(event.sentence()));
  if (event.kind() == v1::Event::KIND_FAULT_STARTED) {
    const v1::Finding& finding = event.finding();
    line += fmt::format("; confidence {}. {}", ConfidenceText(finding.confidence()),
                        Capitalised(finding.recommended_action()));
  }
  return line + ".\n";
}

std::string JsonOf(const v1::Event& event) {
  std::string line;
  AppendJson(event, false, line);
  return line + '\n';
}

// Compares successive snapshots and sends changes to subscribers and standard output.
class EventPublisher {
 public:
  EventPublisher(Service& service, ReportFormat format, HistoryStore* history)
      : service_(service), format_(format), history_(history, service.daemon().fabric()) {}

  OutputState Look() {
    OutputState output = Tell(watch_.LookAt(service_.daemon().Sources(), WallClock()));
    const auto answer = service_.views().Prepare();
    if (!answer || answer->answer().version == version_) return output;
    version_ = answer->answer().version;
    service_.traffic().AddLinks(*answer->snapshot().link_loads, answer->answer().restarted);
    history_.LookAt(*answer);
    if (service_.daemon().fabric()) {
      service_.reviews().Look(answer->findings(), answer->answer().reached,
                              answer->answer().restarted);
    }
    return Tell(watch_.LookAt(*answer));
  }
  // Stops comparing.
  void End() { history_.End(); }
  uint64_t version() const { return version_; }

 private:
  OutputState Tell(std::vector<v1::Event> events) {
    std::string lines;
    for (v1::Event& event : events) {
      v1::Event printed = event;
      if (printed.has_finding()) {
        service_.reviews().Decorate(*printed.mutable_finding(), TimeOf(printed.event_time()));
      }
      lines += format_ == ReportFormat::kJson ? JsonOf(printed) : TextOf(printed);
      history_.Keep(event);
      service_.events().Append(std::move(event));
    }
    return lines.empty() ? OutputState::kOpen : WriteToStdout(lines);
  }

  Service& service_;
  const ReportFormat format_;
  HistoryFeed history_;
  EventWatch watch_;
  uint64_t version_ = 0;
};

// Null if the configuration does not enable it.
Result<std::unique_ptr<HistoryStore>> OpenHistoryStore(const HistoryConfig& config) {
  if (config.file.empty()) return nullptr;
  return HistoryStore::Open({.file = config.file,
                             .retention = {.keep_events = config.keep_events,
                                           .keep_series = config.keep_series,
                                           .max_bytes = config.max_bytes}},
                            LogAs("history"));
}

// Null if the configuration does not enable it.
Result<std::unique_ptr<JobFile>> OpenJobFile(const JobsConfig& config) {
  if (config.file.empty()) return nullptr;
  return JobFile::Open(config.file, LogAs("jobs"));
}

// Null if the configuration does not enable it.
Result<std::unique_ptr<FindingFile>> OpenFindingFile(const FindingsConfig& config) {
  if (config.file.empty()) return nullptr;
  return FindingFile::Open(config.file, LogAs("findings"));
}

// Returns the host names that a Host header may contain: `names`, and the host of `external_url`.
std::vector<std::string> AcceptedHosts(const HttpConfig& config) {
  std::vector<std::string> hosts = config.names;
  const size_t scheme = config.external_url.find("://");
  if (scheme != std::string::npos) {
    const std::string host = config.external_url.substr(scheme + 3);
    hosts.push_back(host.substr(0, host.find_first_of(":/")));
  }
  return hosts;
}

// Null if the configuration does not enable it.
Result<std::unique_ptr<HttpServer>> OpenWeb(const ApplianceConfig& config, TlsTexts tls,
                                            Service& service) {
  if (!config.http.listen) return nullptr;
  const char* const scheme = tls.IsThere() ? "https" : "http";
  Result<BearerTokens> tokens = BearerTokens::Make(config.http.tokens);
  if (!tokens) return tl::unexpected(tokens.error());
  auto server = HttpServer::Open({.address = config.http.listen->address,
                                  .port = config.http.listen->port,
                                  .refuse = WebRefuser(service),
                                  .max_body = kMaxJsonBody,
                                  .names = AcceptedHosts(config.http),
                                  .tls = std::move(tls),
                                  .gate = WebGate(config.grpc),
                                  .tokens = *std::move(tokens)},
                                 WebHandler(service));
  if (server) {
    const ListenAddress where = {.address = config.http.listen->address, .port = (*server)->port()};
    // "All addresses" is not a usable destination address.
    const bool has_name = where.address.IsUnspecified() && !config.http.names.empty();
    const std::string host =
        has_name ? fmt::format("{}:{}", config.http.names.front(), where.port) : ToString(where);
    Log(Severity::kInfo, "http",
        fmt::format("serving the dashboard at {}://{}/ and metrics at /metrics", scheme, host));
  }
  return server;
}

// Null if the configuration does not enable it.
Result<std::unique_ptr<HttpServer>> OpenHealth(const HttpConfig& config, Service& service) {
  if (!config.health_listen) return nullptr;
  auto server = HttpServer::Open({.address = config.health_listen->address,
                                  .port = config.health_listen->port,
                                  .refuse = WebRefuser(service)},
                                 HealthHandler(service));
  if (server) {
    const ListenAddress where = {.address = config.health_listen->address,
                                 .port = (*server)->port()};
    Log(Severity::kInfo, "http",
        fmt::format("serving the state at http://{}/api/v1/health", ToString(where)));
  }
  return server;
}

// Null if the configuration does not enable it.
Result<std::unique_ptr<GrpcServer>> OpenGrpc(const GrpcConfig& config, const TlsTexts& tls,
                                             Service& service) {
  if (config.listen.empty()) return nullptr;
  auto server = GrpcServer::Start(config, tls, service);
  if (!server) return server;
  for (const ListenAddress& where : (*server)->listens()) {
    Log(Severity::kInfo, "grpc", fmt::format("listening for gRPC on {}", ToString(where)));
  }
  return server;
}

void TellBegin(const Daemon& daemon) {
  for (const SourceState& source : daemon.Sources()) {
    if (source.kind == SourceKind::kInterface) {
      Log(Severity::kInfo, "source", fmt::format("receiving from interface {}", source.name));
    }
    if (source.kind == SourceKind::kScrape) {
      Log(Severity::kInfo, "source",
          fmt::format("scraping {}", Counted(daemon.config().scrape.targets.size(), "exporter")));
    }
    for (const PortFindings& port : source.ports) {
      Log(Severity::kInfo, "source",
          fmt::format("receiving from DPDK port {} ({})", port.name, port.driver));
    }
    const size_t int_sockets = daemon.config().udp.int_reports.size();
    for (size_t i = 0; i < source.listens.size(); ++i) {
      Log(Severity::kInfo, "source",
          fmt::format("listening for {} on UDP {}", i < int_sockets ? "INT reports" : "sFlow",
                      ToString(source.listens[i])));
    }
  }
  if (daemon.config().topology.empty()) {
    Log(Severity::kWarning, "appliance",
        "the configuration has no topology: faults and paths are not diagnosed");
  }
}

Status GiveRightsUp(const ApplianceConfig& config) {
  if (!config.user.empty()) return BecomeUser(config.user);
  if (IsPrivileged()) {
    Log(Severity::kWarning, "appliance",
        "running with elevated privileges; set `user` in the configuration to drop them after "
        "devices and ports are open");
  }
  return {};
}

// Applies changes that do not need a restart, and names the others. On an error, nothing changes.
Status TryReload(const std::string& path, Daemon& daemon) {
  const Result<ApplianceConfig> config = LoadConfig(path, Pipes::kRefused);
  if (!config) {
    LogLines(Severity::kError, "reload", config.error().message);
    Log(Severity::kError, "reload", "reload failed: the previous configuration stays in effect");
    return tl::unexpected(config.error());
  }
  const Status read = daemon.ReadHostFilesAgain();
  if (!read) {
    LogLines(Severity::kError, "reload", read.error().message);
    Log(Severity::kError, "reload",
        "reload of host_files failed: the previous contents stay in effect");
    return read;
  }
  Log(Severity::kInfo, "reload",
      *config == daemon.config()
          ? "host_files were reloaded"
          : "host_files were reloaded; the configuration has changed and needs a restart");
  return {};
}

void Reload(const std::string& path, Service& service, Daemon& daemon) {
  std::string problem;
  try {
    if (const Status done = TryReload(path, daemon); !done) problem = done.error().message;
  } catch (const std::bad_alloc&) {
    problem = "not enough memory to reload host_files";
    Log(Severity::kError, "reload", fmt::format("reload failed: {}", problem));
  } catch (const std::exception& error) {
    problem = error.what();
    Log(Severity::kError, "reload", fmt::format("reload failed: {}", problem));
  }
  service.SetReloadProblem(std::move(problem));
}

Watchdog::Beats BeatsOf(const Daemon& daemon, const HttpServer* web, const HttpServer* health,
                        const GrpcServer* grpc) {
  Watchdog::Beats beats;
  for (Heartbeat& one : daemon.Heartbeats()) beats.emplace_back(std::move(one.name), one.beats);
  if (web != nullptr) beats.emplace_back("http", web->beats());
  if (health != nullptr) beats.emplace_back("health over HTTP", health->beats());
  if (grpc != nullptr) beats.emplace_back("agents over gRPC", grpc->beats());
  return beats;
}

void TellEnd(const HistoryStore& history) {
  const HistoryCounts counts = history.counts();
  if (counts.dropped == 0) return;
  Log(Severity::kWarning, "history",
      fmt::format("{} of {} were dropped", WithThousands(counts.dropped),
                  Counted(counts.added, "row")));
}

// Returns true if all sources ran until the end.
bool TellEnd(const Daemon& daemon) {
  bool well = true;
  for (const SourceState& source : daemon.Sources()) {
    const Ledger& ledger = source.statistics.frames.ledger;
    Log(Severity::kInfo, "source",
        fmt::format("{}: received {} = decoded {} + filtered {} + dropped {}; {} missed before "
                    "that, {} dropped",
                    source.name, WithThousands(ledger.received), WithThousands(ledger.decoded),
                    WithThousands(ledger.filtered), WithThousands(ledger.DroppedTotal()),
                    WithThousands(source.statistics.missed),
                    Counted(source.statistics.records_dropped, "record")));
    well = well && source.error.empty();
  }
  return well;
}

// Idle connections of many clients must not exhaust the usual limit of 1,024 open files.
void RaiseFileLimit() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  constexpr rlim_t kEnough = 65'536;
  limit.rlim_cur = std::max(limit.rlim_cur, std::min<rlim_t>(limit.rlim_max, kEnough));
  (void)setrlimit(RLIMIT_NOFILE, &limit);
}

}  // namespace

int RunDaemon(const DaemonRunOptions& options) {
  TakeReloadSignal();  // first: SIGHUP must not end an appliance that starts
  SetLogFormat(options.log_format);
  const Result<ApplianceConfig> config = LoadConfig(options.config);
  if (!config) {
    LogFatal("appliance", config.error().message);
    return kExitUnreadable;
  }
  if (config->sandbox == SandboxMode::kAuto) ClearCapabilityBounds();  // before threads start
  RaiseFileLimit();
  const auto daemon = Daemon::Open(*config, LogAs("source"));
  if (!daemon) {
    LogFatal("appliance", daemon.error().message);
    return kExitUnreadable;
  }
  const Result<TlsTexts> grpc_tls = ReadTls(config->grpc.tls, "grpc");
  const Result<TlsTexts> http_tls = ReadTls(config->http.tls, "http");
  for (const Result<TlsTexts>* const read : {&grpc_tls, &http_tls}) {
    if (*read) continue;
    LogFatal("appliance", read->error().message);
    return kExitUnreadable;
  }
  if (const Status given_up = GiveRightsUp(*config); !given_up) {
    LogFatal("appliance", given_up.error().message);
    return kExitUnreadable;
  }
  std::vector<std::string> missing = SandboxAppliance(*config, options.config);
  const auto history = OpenHistoryStore(config->history);
  if (!history) {
    LogFatal("appliance", history.error().message);
    return kExitUnreadable;
  }
  EndInputOnSignal();  // not earlier: the signal would not be noticed while files are read
  TellBegin(**daemon);
  const auto jobs = OpenJobFile(config->jobs);
  if (!jobs) {
    LogFatal("appliance", jobs.error().message);
    return kExitUnreadable;
  }
  const auto findings = OpenFindingFile(config->findings);
  if (!findings) {
    LogFatal("appliance", findings.error().message);
    return kExitUnreadable;
  }
  Service service(**daemon, ROCESCOPE_VERSION, history->get(), jobs->get(), LogAs("jobs"),
                  findings->get(), LogAs("findings"));
  service.SetMissingRestrictions(std::move(missing));
  const auto web = OpenWeb(*config, *http_tls, service);
  if (!web) {
    LogFatal("appliance", web.error().message);
    return kExitUnreadable;
  }
  const auto health = OpenHealth(config->http, service);
  if (!health) {
    LogFatal("appliance", health.error().message);
    return kExitUnreadable;
  }
  const auto grpc = OpenGrpc(config->grpc, *grpc_tls, service);
  if (!grpc) {
    LogFatal("appliance", grpc.error().message);
    return kExitUnreadable;
  }
  (*daemon)->Start();
  if (*web) (*web)->Start();
  if (*health) (*health)->Start();
  TlsReload certificates({{.key = "http",
                           .texts = *web ? *http_tls : TlsTexts(),
                           .set = [&](const TlsTexts& texts) { return (*web)->SetTls(texts); }},
                          {.key = "grpc",
                           .texts = *grpc ? *grpc_tls : TlsTexts(),
                           .set = [&](const TlsTexts& texts) { return (*grpc)->SetTls(texts); }}},
                         LogAs("certificates"));
  service.SetCertificates(certificates.States());
  EventPublisher event_publisher(service, options.format, history->get());
  DenialLog denials;
  OutputState output = OutputState::kOpen;
  const auto ended = [&] {
    return InputEndedBySignal() ||
           std::ranges::none_of((*daemon)->Sources(),
                                [](const SourceState& source) { return source.error.empty(); });
  };
  ServiceManager manager = ServiceManager::OfEnvironment();
  std::optional<Watchdog> watchdog;
  if (manager.watchdog()) {
    watchdog.emplace(*manager.watchdog(), [&] { manager.FeedWatchdog(); }, LogAs("watchdog"));
  }
  LowerThreadPriority();  // keep the cores free for API requests
  constexpr std::string_view kReceives = "receives";
  manager.Ready(kReceives);
  while (output == OutputState::kOpen && !ended()) {
    constexpr auto kLookForSignals = std::chrono::milliseconds(200);
    (*daemon)->answers().WaitForOther(event_publisher.version(), kLookForSignals);
    output = event_publisher.Look();
    denials.Look();
    if (watchdog)
      watchdog->Look(Watchdog::Clock::now(),
                     BeatsOf(**daemon, web->get(), health->get(), grpc->get()));
    const bool reloads = ReloadAskedFor();
    if (certificates.Look(TlsReload::Clock::now(), reloads)) {
      service.SetCertificates(certificates.States());
    }
    if (!reloads) continue;
    manager.Reloading();
    Reload(options.config, service, **daemon);
    manager.Ready(kReceives);
  }
  manager.Stopping();
  const bool has_analysed = (*daemon)->Stop(kLongestStop);
  if (output == OutputState::kOpen) output = event_publisher.Look();
  event_publisher.End();
  if (*web) (*web)->Stop();
  if (*health) (*health)->Stop();
  if (*grpc) (*grpc)->Stop();
  if (*history) {
    (*history)->Flush(kLongestFlush);
    TellEnd(**history);
  }
  const bool well = TellEnd(**daemon);
  denials.Look();
  if (!has_analysed) {
    LogFatal("analysis",
             fmt::format("the last analysis takes more than {} s: ending without its result",
                         kLongestStop.count()));
    if (*jobs) (*jobs)->Flush(kLongestFlush);
    if (*findings) (*findings)->Flush(kLongestFlush);
    std::_Exit(kExitDamaged);  // its thread still uses everything here
  }
  if (output == OutputState::kFailed) return kExitOutput;
  return well ? kExitSuccess : kExitDamaged;
}

int RunConfigCheck(const std::string& path) {
  const Result<ApplianceConfig> config = LoadConfig(path);
  if (!config) {
    MessageLines(config.error().message);
    return kExitUnreadable;
  }
  bool well = true;
  if (const Status some = CheckSources(*config); !some) {
    Message(fmt::format("{}: {}", path, some.error().message));
    well = false;
  }
  for (const ScrapeTarget& target : config->scrape.targets) {
    if (const auto url = ParseHttpUrl(target.url); !url) {
      Message(fmt::format("{}: {} (key `scrape.targets`)", path, url.error().message));
      well = false;
    }
  }
  return well ? kExitSuccess : kExitUnreadable;
}

int RunConfigDump(const std::string& path) {
  ApplianceConfig config;
  if (!path.empty()) {
    Result<ApplianceConfig> loaded = LoadConfig(path);
    if (!loaded) {
      MessageLines(loaded.error().message);
      return kExitUnreadable;
    }
    config = *std::move(loaded);
  }
  return WriteToStdout(DumpConfig(config)) == OutputState::kFailed ? kExitOutput : kExitSuccess;
}

}  // namespace rocescope
