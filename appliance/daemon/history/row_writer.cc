// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/daemon/history/row_writer.h"

#include <fmt/format.h>

#include <variant>

namespace rocescope {
namespace {

constexpr size_t kMaxNames = 1u << 17;

// DO UPDATE, because DO NOTHING would return no row.
constexpr const char* kPort =
    "INSERT INTO ports (name) VALUES (?1) ON CONFLICT DO UPDATE SET name = name RETURNING id";
constexpr const char* kJob =
    "INSERT INTO jobs (job, allocation, name) VALUES (?1, ?2, ?3) "
    "ON CONFLICT DO UPDATE SET job = job RETURNING id";

constexpr const char* kLink = R"(
INSERT INTO link_minutes (minute, port, windows, use_windows, use_sum, use_most, bytes, marked,
                          dropped, paused_ns, peak_bytes, errors)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)
ON CONFLICT DO UPDATE SET
  windows = windows + excluded.windows, use_windows = use_windows + excluded.use_windows,
  use_sum = use_sum + excluded.use_sum, use_most = max(use_most, excluded.use_most),
  bytes = bytes + excluded.bytes, marked = marked + excluded.marked,
  dropped = dropped + excluded.dropped, paused_ns = paused_ns + excluded.paused_ns,
  peak_bytes = max(peak_bytes, excluded.peak_bytes), errors = errors + excluded.errors)";

constexpr const char* kJobMinute = R"(
INSERT INTO job_minutes (job, minute, looks, bytes, iterations, period_looks, period_sum_ns,
                         findings, service)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)
ON CONFLICT DO UPDATE SET
  looks = looks + excluded.looks, bytes = bytes + excluded.bytes,
  iterations = iterations + excluded.iterations,
  period_looks = period_looks + excluded.period_looks,
  period_sum_ns = period_sum_ns + excluded.period_sum_ns,
  findings = max(findings, excluded.findings), service = max(service, excluded.service))";

}  // namespace

RowWriter::RowWriter(SQLite::Database& database)
    : database_(database),
      event_(database, "INSERT INTO events (at_ns, kind, place, message) VALUES (?1, ?2, ?3, ?4)"),
      event_job_(database, "INSERT OR IGNORE INTO event_jobs (event, job) VALUES (?1, ?2)"),
      port_(database, kPort),
      link_(database, kLink),
      job_(database, kJob),
      job_minute_(database, kJobMinute),
      answers_(database) {}

RowCounts RowWriter::Write(std::span<const HistoryRow> rows) {
  RowCounts added{};
  added_ = 0;
  try {
    SQLite::Transaction transaction(database_, SQLite::TransactionBehavior::IMMEDIATE);
    for (const HistoryRow& row : rows) {
      std::visit([this](const auto& of_kind) { Put(of_kind); }, row);
      ++added[row.index()];
    }
    transaction.commit();
  } catch (const SQLite::Exception&) {
    ForgetNames();
    answers_.Forget();
    throw;
  }
  added[kAnswerRows] = added_;
  return added;
}

void RowWriter::ForgetNames() {
  ports_.clear();
  jobs_.clear();
}

template <typename... Values>
int64_t RowWriter::IdOf(Ids& ids, const std::string& key, SQLite::Statement& make,
                        const Values&... values) {
  if (const auto known = ids.find(key); known != ids.end()) return known->second;
  Bound(make, values...).executeStep();
  const int64_t id = make.getColumn(0);
  make.reset();  // otherwise the transaction cannot end
  if (ids.size() >= kMaxNames) ids.clear();
  ids.emplace(key, id);
  return id;
}

void RowWriter::Put(const PastEvent& event) {
  Bound(event_, event.at_ns, event.kind, event.place, Blob{event.message}).exec();
  const int64_t id = database_.getLastInsertRowid();
  for (const std::string& job : event.jobs) Bound(event_job_, id, job).exec();
}

void RowWriter::Put(const LinkMinute& link) {
  const int64_t port = IdOf(ports_, link.port, port_, link.port);
  Bound(link_, link.minute, port, link.windows, link.use_windows, link.use_sum, link.use_most,
        link.bytes, link.marked, link.dropped, link.paused_ns, link.peak_bytes, link.errors)
      .exec();
}

void RowWriter::Put(const JobMinute& job) {
  const std::string key = fmt::format("{}\n{}\n{}", job.job, job.allocation, job.name);
  const int64_t id = IdOf(jobs_, key, job_, job.job, job.allocation, job.name);
  Bound(job_minute_, id, job.minute, job.looks, job.bytes, job.iterations, job.period_looks,
        job.period_sum_ns, job.findings, job.service)
      .exec();
}

}  // namespace rocescope
