// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/common/files/host_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <string_view>

#include "analytics/job/communicator.h"
#include "appliance/common/files/text_file.h"
#include "base/utf8.h"
#include "dataplane/host/nccl_log.h"
#include "dataplane/host/rdma_resource.h"
#include "dataplane/host/slurm_jobs.h"

namespace rocescope {
namespace {

namespace fs = std::filesystem;

// The appliance has other work and limited memory, so its limit is lower.
uintmax_t LargestFile(Pipes pipes) { return uintmax_t{pipes == Pipes::kRead ? 4u : 1u} << 30; }
constexpr uintmax_t kLargestSlurm = uintmax_t{1} << 30;

// A directory may contain captures next to logs. For compressed files, the name decides.
bool IsCapture(const fs::path& path) {
  using namespace std::string_view_literals;
  constexpr std::array kCapture = {"\xa1\xb2\xc3\xd4"sv, "\xd4\xc3\xb2\xa1"sv, "\xa1\xb2\x3c\x4d"sv,
                                   // The last one is pcapng.
                                   "\x4d\x3c\xb2\xa1"sv, "\x0a\x0d\x0d\x0a"sv};
  constexpr std::array kCompressed = {"\x1f\x8b"sv, "\x28\xb5\x2f\xfd"sv};  // gzip, zstd
  char head[4] = {};
  std::ifstream file(path, std::ios::binary);
  file.read(head, sizeof head);
  const std::string_view bytes(head, static_cast<size_t>(file.gcount()));
  const auto begins = [&](std::string_view magic) { return bytes.starts_with(magic); };
  if (std::any_of(kCapture.begin(), kCapture.end(), begins)) return true;
  return std::any_of(kCompressed.begin(), kCompressed.end(), begins) &&
         path.filename().string().find("cap") != std::string::npos;
}

// Replaces directories by their files.
Result<std::vector<std::string>> Expand(const std::vector<std::string>& paths,
                                        std::string_view option, std::vector<std::string>& notes) {
  std::vector<std::string> files;
  for (const std::string& path : paths) {
    std::error_code error;
    if (!fs::is_directory(path, error)) {
      files.push_back(path);
      continue;
    }
    std::vector<std::string> inside;
    for (fs::directory_iterator at(path, error), end; !error && at != end; at.increment(error)) {
      std::error_code ignored;
      if (at->is_regular_file(ignored) && !IsCapture(at->path())) {
        inside.push_back(at->path().string());
      }
    }
    if (error) {
      return MakeError(ErrorCode::kPermissionDenied,
                       fmt::format("{}: cannot list directory: {}", path, error.message()));
    }
    if (inside.empty()) {
      notes.push_back(fmt::format("{}: the directory has no file for {}", path, option));
    }
    std::sort(inside.begin(), inside.end());
    files.insert(files.end(), inside.begin(), inside.end());
  }
  return files;
}

// "node0" from "/x/node0.json", "10.0.0.5" from "10.0.0.5.json". Simulated runs name their files
// HOST.NANOSECONDS.json.
std::string HostOf(const std::string& path) {
  std::string name = fs::path(path).filename().string();
  for (const char* suffix : {".json", ".txt", ".log"}) {
    if (name.ends_with(suffix)) {
      name.resize(name.size() - std::strlen(suffix));
      break;
    }
  }
  const size_t dot = name.rfind('.');
  constexpr size_t kShortestNanoseconds = 10;  // longer than any number of an IPv4 address
  if (dot != std::string::npos && name.size() - dot - 1 >= kShortestNanoseconds &&
      name.find_first_not_of("0123456789", dot + 1) == std::string::npos) {
    name.resize(dot);
  }
  return ReplaceInvalidUtf8(name);
}

Status ReadLogs(const std::vector<std::string>& paths, Pipes pipes, HostFiles& result) {
  Result<std::vector<std::string>> files = Expand(paths, "--nccl-logs", result.notes);
  if (!files) return tl::unexpected(files.error());
  for (const std::string& path : *files) {
    const Result<std::string> text = ReadTextFile(path, LargestFile(pipes), pipes);
    if (!text) return tl::unexpected(text.error());
    const NcclLog& log =
        *result.logs.emplace_back(std::make_shared<const NcclLog>(ParseNcclLog(*text, path)));
    if (log.messages == 0) {
      result.notes.push_back(fmt::format(
          "{}: no NCCL messages found; run the job with NCCL_DEBUG=INFO NCCL_DEBUG_SUBSYS=INIT,NET",
          path));
    }
    const bool has_communicator =
        std::any_of(log.processes.begin(), log.processes.end(),
                    [](const NcclProcess& process) { return !process.communicators.empty(); });
    if (log.messages > 0 && !has_communicator) {
      result.notes.push_back(fmt::format(
          "{}: {} NCCL messages, but none contains a rank (\"comm ... rank ... nranks ...\"); run "
          "the job with NCCL_DEBUG=INFO NCCL_DEBUG_SUBSYS=INIT,NET from its start",
          path, log.messages));
    }
    for (const NcclLogNote& note : log.notes) {
      result.notes.push_back(fmt::format("{}:{}: expected {}", path, note.line, note.expected));
    }
  }
  result.facts.jobs = GroupJobs(result.logs);
  if (CouldBeParted(result.facts.jobs)) result.facts.logs = result.logs;
  return {};
}

Status ReadDumps(const std::vector<std::string>& paths, Pipes pipes, HostFiles& result) {
  Result<std::vector<std::string>> files = Expand(paths, "--rdma", result.notes);
  if (!files) return tl::unexpected(files.error());
  for (const std::string& path : *files) {
    const Result<std::string> text = ReadTextFile(path, LargestFile(pipes), pipes);
    if (!text) return tl::unexpected(text.error());
    RdmaResource resource = ParseRdmaResource(*text);
    for (const std::string& note : resource.notes) {
      result.notes.push_back(fmt::format("{}: {}", path, note));
    }
    result.facts.rdma.push_back(
        {.host = HostOf(path), .queue_pairs = std::move(resource.queue_pairs)});
  }
  return {};
}

bool SameJob(const Allocation& a, const Allocation& b) {
  return a.id == b.id && a.start == b.start &&
         std::ranges::equal(a.nodes, b.nodes, {}, &AllocatedNode::name, &AllocatedNode::name);
}

// Merges a job that occurs in several listings, for example of consecutive hours. The state "ended"
// takes precedence.
void Merge(std::vector<Allocation> more, std::multimap<uint64_t, size_t>& by_id,
           std::vector<Allocation>& all) {
  for (Allocation& one : more) {
    const auto [begin, end] = by_id.equal_range(one.id);
    const auto known =
        std::find_if(begin, end, [&](const auto& at) { return SameJob(all[at.second], one); });
    if (known == end) {
      by_id.emplace(one.id, all.size());
      all.push_back(std::move(one));
    } else if (all[known->second].state != AllocationState::kEnded) {
      all[known->second] = std::move(one);
    }
  }
}

Status ReadAllocations(const std::vector<std::string>& paths, Pipes pipes, HostFiles& result) {
  Result<std::vector<std::string>> files = Expand(paths, "--slurm", result.notes);
  if (!files) return tl::unexpected(files.error());
  std::multimap<uint64_t, size_t> by_id;  // indices into the allocations
  for (const std::string& path : *files) {
    const Result<std::string> text = ReadTextFile(path, kLargestSlurm, pipes);
    if (!text) return tl::unexpected(text.error());
    SlurmJobs jobs = ParseSlurmJobs(*text);
    for (const std::string& note : jobs.notes) {
      result.notes.push_back(fmt::format("{}: {}", path, note));
    }
    Merge(std::move(jobs.allocations), by_id, result.facts.allocations);
  }
  return {};
}

}  // namespace

Result<HostFiles> ReadHostFiles(const HostFilePaths& paths, Pipes pipes) {
  HostFiles result;
  if (Status read = ReadLogs(paths.nccl_logs, pipes, result); !read) {
    return tl::unexpected(read.error());
  }
  if (Status read = ReadDumps(paths.rdma, pipes, result); !read) {
    return tl::unexpected(read.error());
  }
  if (Status read = ReadAllocations(paths.slurm, pipes, result); !read) {
    return tl::unexpected(read.error());
  }
  return result;
}

}  // namespace rocescope
