// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/daemon/history/finding_file.h"

#include <fmt/format.h>

#include <array>
#include <string_view>

#include "appliance/daemon/history/database.h"
#include "appliance/daemon/history/history_file.h"
#include "base/utf8.h"

namespace rocescope {
namespace {

// Read all rows.
constexpr std::array kFindingProbes = {
    "SELECT sum(length(kind) + length(place) + length(comment)) FROM acknowledgements",
    "SELECT sum(length(kind) + length(place) + length(comment)) FROM mutes"};

// The journal is deleted after each transaction, so that reading needs no space on the disk.
constexpr DatabaseKind kFindingFileKind = {
    .name = "finding",
    .key = "findings.file",
    .application = 0x526f4646,  // "RoFF"
    .schema = 1,
    .tables =
        "CREATE TABLE acknowledgements (kind TEXT NOT NULL, place TEXT NOT NULL, "
        "direction TEXT NOT NULL, start_ns INTEGER NOT NULL, last_active_ns INTEGER NOT "
        "NULL, ongoing INTEGER NOT NULL, time_ns INTEGER NOT NULL, user TEXT NOT NULL, "
        "comment TEXT NOT NULL);"
        "CREATE TABLE mutes (kind TEXT NOT NULL, place TEXT NOT NULL, "
        "direction TEXT NOT NULL, time_ns INTEGER NOT NULL, expiry_ns INTEGER NOT NULL, "
        "user TEXT NOT NULL, comment TEXT NOT NULL);",
    .main_table = "mutes",
    .pragmas = "PRAGMA synchronous = EXTRA",
    .probes = kFindingProbes,
    .longest_check = std::chrono::seconds(2)};

Timestamp TimeIn(const SQLite::Column& column) {
  return WithinBounds(FromNanoseconds(column.getInt64()));
}

// The API cannot return text that is not UTF-8.
bool AreUtf8(std::initializer_list<std::string_view> texts) {
  for (const std::string_view text : texts) {
    if (!IsUtf8(text)) return false;
  }
  return true;
}

void ReportSkipped(const SQLite::Database& database, std::string_view what, const Notify& notify) {
  notify(Severity::kError,
         fmt::format("{}: {} is not restored: it contains text that is not valid UTF-8",
                     database.getFilename(), what));
}

FindingReviewState ReadState(SQLite::Database& database, const Notify& notify) {
  FindingReviewState state;
  SQLite::Statement row(database,
                        "SELECT kind, place, direction, start_ns, last_active_ns, ongoing, "
                        "time_ns, user, comment FROM acknowledgements ORDER BY rowid");
  while (row.executeStep()) {
    Acknowledgement one = {.kind = row.getColumn(0).getString(),
                           .place = row.getColumn(1).getString(),
                           .direction = row.getColumn(2).getString(),
                           .start = TimeIn(row.getColumn(3)),
                           .last_active = TimeIn(row.getColumn(4)),
                           .is_ongoing = row.getColumn(5).getInt() != 0,
                           .time = TimeIn(row.getColumn(6)),
                           .user = row.getColumn(7).getString(),
                           .comment = row.getColumn(8).getString()};
    if (AreUtf8({one.kind, one.place, one.direction, one.user, one.comment})) {
      state.acknowledgements.push_back(std::move(one));
    } else {
      ReportSkipped(database, "an acknowledgement", notify);
    }
  }
  SQLite::Statement mute(database,
                         "SELECT kind, place, direction, time_ns, expiry_ns, user, comment "
                         "FROM mutes ORDER BY rowid");
  while (mute.executeStep()) {
    Mute one = {.kind = mute.getColumn(0).getString(),
                .place = mute.getColumn(1).getString(),
                .direction = mute.getColumn(2).getString(),
                .time = TimeIn(mute.getColumn(3)),
                .expiry = TimeIn(mute.getColumn(4)),
                .user = mute.getColumn(5).getString(),
                .comment = mute.getColumn(6).getString()};
    if (AreUtf8({one.kind, one.place, one.direction, one.user, one.comment})) {
      state.mutes.push_back(std::move(one));
    } else {
      ReportSkipped(database, "a mute", notify);
    }
  }
  return state;
}

// Replaces all rows: operators change the state a few times a day, and it has at most 20,000 rows.
void WriteState(SQLite::Database& database, const FindingReviewState& state) {
  SQLite::Transaction transaction(database, SQLite::TransactionBehavior::IMMEDIATE);
  database.exec("DELETE FROM acknowledgements; DELETE FROM mutes");
  SQLite::Statement acknowledgement(
      database,
      "INSERT INTO acknowledgements (kind, place, direction, start_ns, last_active_ns, ongoing, "
      "time_ns, user, comment) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)");
  for (const Acknowledgement& one : state.acknowledgements) {
    Bound(acknowledgement, one.kind, one.place, one.direction, ToNanoseconds(one.start),
          ToNanoseconds(one.last_active), one.is_ongoing ? 1 : 0, ToNanoseconds(one.time), one.user,
          one.comment)
        .exec();
  }
  SQLite::Statement mute(
      database,
      "INSERT INTO mutes (kind, place, direction, time_ns, expiry_ns, user, comment) "
      "VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)");
  for (const Mute& one : state.mutes) {
    Bound(mute, one.kind, one.place, one.direction, ToNanoseconds(one.time),
          ToNanoseconds(one.expiry), one.user, one.comment)
        .exec();
  }
  transaction.commit();
}

}  // namespace

const DatabaseKind& FindingKind() { return kFindingFileKind; }

Result<std::unique_ptr<FindingFile>> FindingFile::Open(const std::string& path,
                                                       const Notify& notify) {
  FindingReviewState found;
  auto file = StateFile::Open(
      path,
      {.kind = &kFindingFileKind,
       .thread = "findings",
       .changes = "the last acknowledgements and mutes"},
      [&](SQLite::Database& database, const Notify& keep) { found = ReadState(database, keep); },
      notify);
  if (!file) return tl::unexpected(file.error());
  return std::unique_ptr<FindingFile>(new FindingFile(*std::move(file), std::move(found)));
}

uint64_t FindingFile::Save(FindingReviewState state) {
  return file_->Save([next = std::make_shared<const FindingReviewState>(std::move(state))](
                         SQLite::Database& database, bool) { WriteState(database, *next); });
}

}  // namespace rocescope
