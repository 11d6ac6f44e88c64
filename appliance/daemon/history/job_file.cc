// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/daemon/history/job_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <optional>
#include <sstream>
#include <utility>

#include "analytics/job/job_nodes.h"
#include "appliance/daemon/history/database.h"
#include "appliance/daemon/history/history_file.h"
#include "base/utf8.h"

namespace rocescope {
namespace {

// Reads all rows.
constexpr std::array kJobProbes = {
    "SELECT sum(length(name) + length(user) + length(nodes)) FROM registered_jobs"};

// The journal is deleted after each transaction, so that reading needs no space on the disk.
constexpr DatabaseKind kJobFileKind = {
    .name = "job",
    .key = "jobs.file",
    .application = 0x526f4a46,  // "RoJF"
    .schema = 1,
    .tables =
        "CREATE TABLE registered_jobs (id INTEGER PRIMARY KEY, name TEXT NOT NULL, "
        "user TEXT NOT NULL, ended INTEGER NOT NULL, start_ns INTEGER, end_ns INTEGER, "
        "nodes TEXT NOT NULL);",
    .main_table = "registered_jobs",
    .pragmas = "PRAGMA synchronous = EXTRA",
    .probes = kJobProbes,
    .longest_check = std::chrono::seconds(2)};

std::optional<int64_t> NanosecondsOf(const std::optional<Timestamp>& time) {
  return time ? std::optional(ToNanoseconds(*time)) : std::nullopt;
}

std::optional<Timestamp> TimeOf(const SQLite::Column& column) {
  if (column.isNull()) return std::nullopt;
  return WithinBounds(FromNanoseconds(column.getInt64()));
}

// Reads lines of WriteJobNodes.
Result<std::vector<AllocatedNode>> NodesOf(const std::string& text) {
  std::vector<AllocatedNode> nodes;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    auto some = ParseJobNodes(line);
    if (!some) return some;
    std::ranges::move(*some, std::back_inserter(nodes));
  }
  return nodes;
}

std::vector<Allocation> ReadJobs(SQLite::Database& database, const Notify& notify) {
  std::vector<Allocation> jobs;
  SQLite::Statement row(
      database, "SELECT id, name, user, ended, start_ns, end_ns, nodes FROM registered_jobs");
  while (row.executeStep()) {
    const auto id = static_cast<uint64_t>(row.getColumn(0).getInt64());
    const auto skip = [&](std::string_view why) {
      notify(Severity::kError,
             fmt::format("{}: job {} is not restored: {}", database.getFilename(), id, why));
    };
    if (id == 0) {
      skip("the id must be a positive integer");
      continue;
    }
    const std::string name = row.getColumn(1);
    const std::string user = row.getColumn(2);
    const bool is_ended = row.getColumn(3).getInt() != 0;
    auto nodes = NodesOf(row.getColumn(6));
    if (!nodes) {
      skip(nodes.error().message);
      continue;
    }
    // The API cannot return other text.
    if (!IsUtf8(name) || !IsUtf8(user)) {
      skip(fmt::format("its {} is not valid UTF-8", IsUtf8(name) ? "user" : "name"));
      continue;
    }
    jobs.push_back({.id = id,
                    .name = name,
                    .user = user,
                    .state = is_ended ? AllocationState::kEnded : AllocationState::kHeld,
                    .state_text = is_ended ? "COMPLETED" : "RUNNING",
                    .nodes = *std::move(nodes),
                    .start = TimeOf(row.getColumn(4)),
                    .end = TimeOf(row.getColumn(5))});
  }
  return jobs;
}

bool IsSame(const Allocation& a, const Allocation& b) {
  const auto is_same_node = [](const AllocatedNode& one, const AllocatedNode& other) {
    return one.name == other.name && one.gpus == other.gpus;
  };
  return a.state == b.state && a.start == b.start && a.end == b.end && a.name == b.name &&
         a.user == b.user && std::ranges::equal(a.nodes, b.nodes, is_same_node);
}

// Changes the rows of `before` to those of `jobs`. Both are in the order of ids.
void WriteJobs(SQLite::Database& database, const std::vector<Allocation>& before,
               const std::vector<Allocation>& jobs) {
  SQLite::Transaction transaction(database, SQLite::TransactionBehavior::IMMEDIATE);
  if (before.empty()) database.exec("DELETE FROM registered_jobs");
  SQLite::Statement remove(database, "DELETE FROM registered_jobs WHERE id = ?1");
  SQLite::Statement write(database,
                          "INSERT OR REPLACE INTO registered_jobs (id, name, user, ended, "
                          "start_ns, end_ns, nodes) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)");
  // Ids above INT64_MAX are stored as negative numbers.
  auto old = before.begin();
  const auto remove_until = [&](auto is_end) {
    for (; old != before.end() && !is_end(*old); ++old) {
      Bound(remove, static_cast<int64_t>(old->id)).exec();
    }
  };
  for (const Allocation& job : jobs) {
    remove_until([&](const Allocation& one) { return one.id >= job.id; });
    if (old != before.end() && old->id == job.id && IsSame(*old++, job)) continue;
    Bound(write, static_cast<int64_t>(job.id), job.name, job.user,
          job.state == AllocationState::kEnded ? 1 : 0, NanosecondsOf(job.start),
          NanosecondsOf(job.end), fmt::format("{}", fmt::join(WriteJobNodes(job.nodes), "\n")))
        .exec();
  }
  remove_until([](const Allocation&) { return false; });
  transaction.commit();
}

using Jobs = std::vector<Allocation>;

}  // namespace

const DatabaseKind& JobKind() { return kJobFileKind; }

Result<std::unique_ptr<JobFile>> JobFile::Open(const std::string& path, const Notify& notify,
                                               std::chrono::milliseconds longest_end) {
  Jobs found;
  auto file = StateFile::Open(
      path,
      {.kind = &kJobFileKind,
       .thread = "jobs",
       .changes = "the last changes of jobs",
       .longest_end = longest_end},
      [&](SQLite::Database& database, const Notify& keep) { found = ReadJobs(database, keep); },
      notify);
  if (!file) return tl::unexpected(file.error());
  return std::unique_ptr<JobFile>(new JobFile(*std::move(file), std::move(found)));
}

uint64_t JobFile::Save(Jobs jobs) {
  return file_->Save([last = last_, next = std::make_shared<const Jobs>(std::move(jobs))](
                         SQLite::Database& database, bool is_known) {
    const Jobs before = is_known ? std::move(*last) : Jobs();
    last->clear();
    WriteJobs(database, before, *next);
    *last = *next;
  });
}

}  // namespace rocescope
