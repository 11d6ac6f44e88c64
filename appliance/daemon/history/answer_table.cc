// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/daemon/history/answer_table.h"

#include <algorithm>
#include <bit>

#include "base/time.h"

namespace rocescope {
namespace {

// More jobs than an appliance observes at the same time.
constexpr size_t kMaxLastVersions = 1u << 14;

constexpr const char* kLastVersion =
    "SELECT id, at_ns, last_ns, content, length(message) FROM answers "
    "WHERE part = ?1 AND name = ?2 AND at_ns >= 0 AND last_ns >= 0 ORDER BY at_ns DESC LIMIT 1";
constexpr const char* kExtend = "UPDATE answers SET last_ns = ?2 WHERE id = ?1";
constexpr const char* kInsertVersion =
    "INSERT OR REPLACE INTO answers (part, name, at_ns, last_ns, content, message) "
    "VALUES (?1, ?2, ?3, ?3, ?4, ?5)";
constexpr const char* kFind =
    "SELECT at_ns, last_ns, message FROM answers "
    "WHERE part = ?1 AND name = ?2 AND at_ns >= 0 AND at_ns <= ?3 ORDER BY at_ns DESC LIMIT 1";
constexpr const char* kOldestAnswer =
    "SELECT min(at_ns) FROM answers WHERE part = ?1 AND name = ?2";
constexpr const char* kNewestAnswer =
    "SELECT last_ns FROM answers WHERE part = ?1 AND name = ?2 ORDER BY at_ns DESC LIMIT 1";

int64_t MinuteOf(int64_t ns) { return IntervalIndex(FromNanoseconds(ns), kMinute); }

}  // namespace

AnswerWriter::AnswerWriter(SQLite::Database& database)
    : database_(database),
      find_(database, kLastVersion),
      extend_(database, kExtend),
      insert_(database, kInsertVersion) {}

bool AnswerWriter::Put(const PastAnswer& answer) {
  Version& last = LastOf(answer);
  const auto content = std::bit_cast<int64_t>(answer.content);
  const bool is_later = last.id != 0 && answer.at_ns > last.last_ns;
  if (is_later && content == last.content && Extend(last, answer.at_ns)) return false;
  if (is_later && IsTooSoon(last, answer)) return false;
  const std::string frame = compressor_.Compress(answer.message);
  Bound(insert_, static_cast<int>(answer.part), answer.name, answer.at_ns, content, Blob{frame})
      .exec();
  uint64_t& bytes = bytes_[answer.part];
  bytes = bytes - last.bytes + frame.size();
  last = {.id = database_.getLastInsertRowid(),
          .at_ns = answer.at_ns,
          .last_ns = answer.at_ns,
          .content = content,
          .bytes = frame.size()};
  return true;
}

AnswerWriter::Version& AnswerWriter::LastOf(const PastAnswer& answer) {
  if (last_.size() >= kMaxLastVersions) Forget();
  const auto [at, is_new] = last_.try_emplace({answer.part, answer.name});
  if (!is_new) return at->second;
  if (Bound(find_, static_cast<int>(answer.part), answer.name).executeStep()) {
    at->second = {.id = find_.getColumn(0).getInt64(),
                  .at_ns = find_.getColumn(1).getInt64(),
                  .last_ns = find_.getColumn(2).getInt64(),
                  .content = find_.getColumn(3).getInt64(),
                  .bytes = static_cast<uint64_t>(find_.getColumn(4).getInt64())};
  }
  find_.reset();  // otherwise the transaction cannot end
  bytes_[answer.part] += at->second.bytes;
  return at->second;
}

// Returns false if the version has been deleted, or if it was stored before the appliance was off.
bool AnswerWriter::Extend(Version& version, int64_t at_ns) {
  if (at_ns - version.last_ns > kOldAnswer.count()) return false;
  if (Bound(extend_, version.id, at_ns).exec() == 0) return false;
  version.last_ns = at_ns;
  return true;
}

bool AnswerWriter::IsTooSoon(const Version& version, const PastAnswer& answer) const {
  const auto bytes = static_cast<int64_t>(bytes_.at(answer.part) / kAnswerBytesPerMinute);
  return MinuteOf(answer.at_ns) - MinuteOf(version.at_ns) < std::min(bytes, kLongestAnswerMinutes);
}

void AnswerWriter::Forget() {
  last_.clear();
  bytes_.clear();
}

FoundAnswer FindAnswer(SQLite::Database& database, const AnswerQuery& query) {
  const int part = static_cast<int>(query.part);
  FoundAnswer found;
  SQLite::Statement row(database, kFind);
  if (Bound(row, part, query.name, query.version != 0 ? query.version : query.at_ns)
          .executeStep()) {
    found.is_found = true;
    found.version = row.getColumn(0).getInt64();
    const int64_t last = row.getColumn(1).getInt64();
    const int64_t whole_minute = query.at_ns - query.at_ns % kMinute.count();
    found.data_ns =
        last <= query.at_ns ? std::max(last, found.version) : std::max(found.version, whole_minute);
    const SQLite::Column message = row.getColumn(2);
    auto text = Decompressor().Decompress(
        {static_cast<const char*>(message.getBlob()), static_cast<size_t>(message.getBytes())},
        kMaxAnswerBytes);
    if (text) {
      found.message = *std::move(text);
    } else {
      found.damage = text.error().message;
    }
  }
  if (found.is_found && query.at_ns - found.data_ns <= kOldAnswer.count()) return found;
  for (const auto& [sql, time] :
       {std::pair(kOldestAnswer, &found.oldest_ns), std::pair(kNewestAnswer, &found.newest_ns)}) {
    SQLite::Statement end(database, sql);
    if (Bound(end, part, query.name).executeStep() && !end.isColumnNull(0)) {
      *time = end.getColumn(0).getInt64();
    }
  }
  return found;
}

}  // namespace rocescope
