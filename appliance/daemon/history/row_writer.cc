// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/daemon/history/row_writer.h"

#include <fmt/format.h>

#include <utility>
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

Result<RowWriter> RowWriter::Make(Database& database) {
  RowWriter writer(database);
  for (const auto& [statement, sql] :
       {std::pair(&writer.begin_, "BEGIN IMMEDIATE"), std::pair(&writer.commit_, "COMMIT"),
        std::pair(&writer.rollback_, "ROLLBACK"),
        std::pair(&writer.event_,
                  "INSERT INTO events (at_ns, kind, place, message) VALUES (?1, ?2, ?3, ?4)"),
        std::pair(&writer.event_job_,
                  "INSERT OR IGNORE INTO event_jobs (event, job) VALUES (?1, ?2)"),
        std::pair(&writer.port_, kPort), std::pair(&writer.link_, kLink),
        std::pair(&writer.job_, kJob), std::pair(&writer.job_minute_, kJobMinute)}) {
    auto prepared = database.Prepare(sql);
    if (!prepared) return tl::unexpected(prepared.error());
    *statement = *std::move(prepared);
  }
  return writer;
}

Status RowWriter::Write(std::span<const HistoryRow> rows) {
  const Status written = InTransaction(rows);
  fault_ = written ? DatabaseFault::kNone : database_->fault();
  if (!written) {
    // Some errors have rolled back the transaction already.
    if (database_->is_in_transaction()) (void)rollback_.Run();
    ForgetNames();
  }
  return written;
}

Status RowWriter::InTransaction(std::span<const HistoryRow> rows) {
  if (const Status begun = begin_.Run(); !begun) return begun;
  if (const Status put = WriteRows(rows); !put) return put;
  return commit_.Run();
}

void RowWriter::ForgetNames() {
  ports_.clear();
  jobs_.clear();
}

Status RowWriter::WriteRows(std::span<const HistoryRow> rows) {
  for (const HistoryRow& row : rows) {
    const Status put = std::visit([this](const auto& of_kind) { return Put(of_kind); }, row);
    if (!put) return put;
  }
  return {};
}

template <typename... Values>
Result<int64_t> RowWriter::IdOf(Ids& ids, const std::string& key, Statement& make,
                                const Values&... values) {
  if (const auto known = ids.find(key); known != ids.end()) return known->second;
  make.Begin(values...);
  const Result<bool> row = make.Step();
  if (!row) return tl::unexpected(row.error());
  const int64_t id = make.Integer(0);
  make.Reset();
  if (ids.size() >= kMaxNames) ids.clear();
  ids.emplace(key, id);
  return id;
}

Status RowWriter::Put(const PastEvent& event) {
  const Status put = event_.Run(event.at_ns, std::string_view(event.kind),
                                std::string_view(event.place), Blob{event.message});
  if (!put) return put;
  const int64_t id = database_->last_row();
  for (const std::string& job : event.jobs) {
    if (const Status one = event_job_.Run(id, std::string_view(job)); !one) return one;
  }
  return {};
}

Status RowWriter::Put(const LinkMinute& link) {
  const auto port = IdOf(ports_, link.port, port_, std::string_view(link.port));
  if (!port) return tl::unexpected(port.error());
  return link_.Run(link.minute, *port, link.windows, link.use_windows, link.use_sum, link.use_most,
                   link.bytes, link.marked, link.dropped, link.paused_ns, link.peak_bytes,
                   link.errors);
}

Status RowWriter::Put(const JobMinute& job) {
  const std::string key = fmt::format("{}\n{}\n{}", job.job, job.allocation, job.name);
  const auto id =
      IdOf(jobs_, key, job_, std::string_view(job.job), job.allocation, std::string_view(job.name));
  if (!id) return tl::unexpected(id.error());
  return job_minute_.Run(*id, job.minute, job.looks, job.bytes, job.iterations, job.period_looks,
                         job.period_sum_ns, job.findings, job.service);
}

}  // namespace rocescope
