// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/cli/command/support_bundle.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <system_error>
#include <utility>

#include "appliance/cli/command/exit_code.h"
#include "appliance/cli/command/message.h"
#include "appliance/cli/command/output.h"
#include "appliance/cli/command/system_facts.h"
#include "appliance/cli/command/tar_file.h"
#include "appliance/common/config/config.h"
#include "appliance/common/files/new_file.h"
#include "appliance/common/report/json_line.h"
#include "appliance/common/report/table.h"
#include "appliance/common/report/utc_text.h"
#include "appliance/common/report/visible_text.h"
#include "appliance/daemon/history/backup.h"
#include "appliance/daemon/web/content_coding.h"
#include "dataplane/source/wall_clock.h"

namespace rocescope {
namespace {

namespace files = std::filesystem;

constexpr std::string_view kManifestName = "manifest.txt";
constexpr std::string_view kContents =
    "The bundle contains names of hosts, switches, jobs and users, and network addresses. It "
    "contains "
    "no\npasswords, tokens, token digests or paths of private keys of the configuration. Comments "
    "of\n"
    "operators and paths of URLs are not changed. Read it before you send it.\n";
constexpr std::string_view kLogNote =
    "The log is not included, because rocescope logs to standard error. Under systemd, add it "
    "with\n"
    "  journalctl -u rocescope --since -2h > rocescope.log\n";

// Answers of the appliance.
struct BundlePage {
  std::string_view name;
  std::string_view path;
  std::string_view reason;
  bool needs_topology = false;  // the appliance answers only if its configuration names a topology
};
constexpr std::array kBundlePages = {
    BundlePage{"health.json", "/api/v1/health", "state of the appliance"},
    BundlePage{"problems.json", "/api/v1/problems?page_size=1000", "problems that `doctor` prints"},
    BundlePage{"sources.json", "/api/v1/sources", "telemetry sources with their counters"},
    BundlePage{"findings.json", "/api/v1/findings?page_size=1000",
               "active and recent findings (at most 1,000)", true},
    BundlePage{"metrics.txt", "/metrics", "counters of the appliance, fabric and jobs"}};
constexpr size_t kMostPageBytes = size_t{16} << 20;

std::string TimeOfFile(const files::path& path) {
  struct stat found = {};
  if (stat(path.c_str(), &found) != 0) return "";
  return UtcDayAndTime(int64_t{found.st_mtim.tv_sec} * 1'000'000'000).substr(0, 19);
}

// The files of a database: side files, copies and files that were moved aside.
std::string FilesOfDatabase(std::string_view key, const std::string& path) {
  if (path.empty()) return fmt::format("{}: not configured\n", key);
  std::error_code error;
  const files::path target = files::canonical(path, error);
  const files::path file = error ? files::path(path) : target;
  const files::path folder = file.parent_path().empty() ? files::path(".") : file.parent_path();
  std::string text = fmt::format("{}: {}\n", key, Visible(file.string()));
  const auto space = files::space(folder, error);
  text += error ? fmt::format("  free disk space: {}\n", error.message())
                : fmt::format("  free disk space: {} of {}\n", HumanBytes(space.available),
                              HumanBytes(space.capacity));
  std::vector<files::path> parts;
  for (files::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    if (at->path().filename().string().starts_with(file.filename().string())) {
      parts.push_back(at->path());
    }
  }
  if (error) text += fmt::format("  files: {}\n", error.message());
  std::ranges::sort(parts);
  for (const files::path& part : parts) {
    std::error_code ignored;
    const uintmax_t bytes = files::file_size(part, ignored);
    text += fmt::format("  {}: {} bytes, changed {}\n", Visible(part.filename().string()),
                        ignored ? 0 : bytes, TimeOfFile(part));
  }
  constexpr std::chrono::seconds kLongest(5);
  const auto info = Inspect(file.string(), kLongest);
  if (!info) return text + fmt::format("  {}\n", Visible(info.error().message));
  text += fmt::format("  schema {} (supported: 1 to {})\n", info->schema, info->supported);
  for (const DatabaseInfo::Table& table : info->tables) {
    text += fmt::format("  {}: {}\n", table.name,
                        table.rows ? Counted(*table.rows, "row") : "not counted in time");
  }
  return text;
}

std::string VersionText() {
#ifdef __clang__
  constexpr std::string_view kCompiler = "Clang " __clang_version__;
#else
  constexpr std::string_view kCompiler = "GCC " __VERSION__;
#endif
#ifdef NDEBUG
  constexpr std::string_view kBuild = "release";
#else
  constexpr std::string_view kBuild = "debug";
#endif
  return fmt::format("rocescope {}\n{}, {} build, {} DPDK\n", ROCESCOPE_VERSION, kCompiler, kBuild,
                     ROCESCOPE_HAS_DPDK ? "with" : "without");
}

// URL of the appliance with this configuration; nullopt: the command line must name it.
std::optional<std::string> UrlOf(const HttpConfig& http) {
  if (!http.listen || http.tls.IsThere() || http.listen->port == 0) return std::nullopt;
  if (!http.listen->IsLoopback()) return std::nullopt;
  return fmt::format("http://{}/", ToString(*http.listen));
}

// Replaces all occurrences of `secret`, which must not be empty.
void Replace(std::string& text, std::string_view secret) {
  for (size_t at = text.find(secret); at != std::string::npos;
       at = text.find(secret, at + kRemoved.size())) {
    text.replace(at, secret.size(), kRemoved);
  }
}

// `text` as in a JSON string, without the quotes.
std::string InJson(std::string_view text) {
  std::string quoted;
  AppendJsonString(quoted, text);
  return quoted.size() < 2 ? "" : quoted.substr(1, quoted.size() - 2);
}

void RemoveUrlSecrets(std::string& text) {
  constexpr std::string_view kUrlEnd = " \t\r\n\"'`<>\\";
  std::string shown;
  size_t done = 0;
  for (size_t at = text.find("://"); at != std::string::npos; at = text.find("://", done)) {
    const size_t end = std::min(text.find_first_of(kUrlEnd, at), text.size());
    shown += std::string_view(text).substr(done, at - done);
    shown += UrlWithoutSecrets(std::string_view(text).substr(at, end - at));
    done = end;
  }
  if (done == 0) return;
  shown += std::string_view(text).substr(done);
  text = std::move(shown);
}

// A short text about a part that is missing.
std::string MissingText(const BundlePart& part) {
  return fmt::format("{}: {}", part.name, Visible(part.content.error().message));
}

}  // namespace

std::string WithoutSecrets(std::string text, std::span<const std::string> secrets) {
  for (const std::string& secret : secrets) {
    if (secret.empty()) continue;
    Replace(text, secret);
    if (const std::string quoted = InJson(secret); quoted != secret) Replace(text, quoted);
  }
  RemoveUrlSecrets(text);
  return text;
}

std::vector<BundlePart> CollectParts(const SupportBundleOptions& options,
                                     const std::function<PageReader(const DaemonPage&)>& reader) {
  std::vector<BundlePart> parts;
  const auto add = [&](std::string_view name, std::string_view reason,
                       Result<std::string> content) {
    parts.push_back(
        {.name = std::string(name), .reason = std::string(reason), .content = std::move(content)});
  };
  add("version.txt", "version and build of the program that wrote the bundle", VersionText());
  add("system.txt", "kernel, CPU, memory, hugepages, network interfaces, DPDK devices",
      SystemFacts());

  const auto config = LoadConfig(options.config);
  std::vector<std::string> secrets;
  DaemonPage page = options.page;
  if (config) {
    secrets = SecretsOf(*config);
    add("configuration.yaml", "configuration with all defaults, without secrets",
        DumpConfigWithoutSecrets(*config));
    add("files.txt", "sizes of the files of history, jobs and findings, and free disk space",
        FilesOfDatabase("history.file", config->history.file) +
            FilesOfDatabase("jobs.file", config->jobs.file) +
            FilesOfDatabase("findings.file", config->findings.file));
    if (const auto url = UrlOf(config->http); url && !options.is_page_given) page.url = *url;
  } else {
    // The errors may quote a secret that is at a wrong place.
    const bool is_invalid = config.error().code == ErrorCode::kInvalidArgument;
    const auto missing = MakeError(
        config.error().code,
        is_invalid ? fmt::format("{} is invalid; `rocescope config check` prints the errors",
                                 options.config)
                   : config.error().message);
    add("configuration.yaml", "configuration with all defaults, without secrets", missing);
    add("files.txt", "sizes of the files of history, jobs and findings, and free disk space",
        MakeError(config.error().code, "the configuration, which names them, is missing"));
  }
  const PageReader read = reader(page);
  for (const BundlePage& one : kBundlePages) {
    if (one.needs_topology && config && config->topology.empty()) continue;
    add(one.name, one.reason, read(one.path));
  }

  for (BundlePart& part : parts) {
    if (part.content) {
      *part.content = WithoutSecrets(*std::move(part.content), secrets);
    } else {
      part.content.error().message = WithoutSecrets(part.content.error().message, secrets);
    }
  }
  return parts;
}

std::string ManifestOf(std::span<const BundlePart> parts) {
  std::string text = "Support bundle of rocescope " ROCESCOPE_VERSION "\n\nFiles:\n";
  text += fmt::format("  {}: this list\n", kManifestName);
  std::string missing;
  for (const BundlePart& part : parts) {
    if (part.content) {
      text += fmt::format("  {}: {}\n", part.name, part.reason);
    } else {
      missing += fmt::format("  {}\n", MissingText(part));
    }
  }
  if (!missing.empty()) text += "\nMissing:\n" + missing;
  return fmt::format("{}\n{}\n{}", text, kLogNote, kContents);
}

int RunSupportBundle(const SupportBundleOptions& options) {
  Result<NewFile> output = NewFile::Create(options.output);
  if (!output) {
    Message(output.error().message);
    return output.error().code == ErrorCode::kInvalidArgument ? kExitUsage : kExitOutput;
  }
  const std::vector<BundlePart> parts = CollectParts(options, [](const DaemonPage& page) {
    return [page](std::string_view path) { return ReadPage(page, path, kMostPageBytes); };
  });
  const Timestamp now = WallClock();
  std::string folder = "rocescope-support-" + UtcDayAndTime(ToNanoseconds(now)).substr(0, 19);
  std::ranges::replace(folder, ' ', 'T');
  std::erase_if(folder, [](char c) { return c == ':'; });
  std::vector<TarFile> archive = {
      {.name = fmt::format("{}/{}", folder, kManifestName), .content = ManifestOf(parts)}};
  TextTable table({{"FILE"}, {"SIZE", Align::kRight}, {"CONTENT"}});
  bool is_complete = true;
  for (const BundlePart& part : parts) {
    if (!part.content) {
      Message(fmt::format("missing: {}", MissingText(part)));
      is_complete = false;
      continue;
    }
    table.Add({part.name, HumanBytes(part.content->size()), part.reason});
    archive.push_back({.name = fmt::format("{}/{}", folder, part.name), .content = *part.content});
  }
  const Result<std::string> tar = MakeTar(archive, now);
  const std::string packed = tar ? Gzip(*tar) : "";
  Status written = packed.empty() ? Status(MakeError(ErrorCode::kInternal, "cannot be compressed"))
                                  : output->Write(packed);
  if (written) written = output->Publish();
  if (!written) {
    Message(written.error().message);
    return kExitOutput;
  }
  const std::string text =
      fmt::format("Wrote {} ({}):\n{}\n{}\n{}", Visible(options.output), HumanBytes(packed.size()),
                  table.Render(2), kLogNote, kContents);
  if (WriteToStdout(text) == OutputState::kFailed) return kExitOutput;
  return is_complete ? kExitSuccess : kExitDamaged;
}

}  // namespace rocescope
