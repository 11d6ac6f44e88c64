// SPDX-License-Identifier: BSD-3-Clause
// The table of past answers: versions of each part, compressed, each with the time for which it was
// valid.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>

#include "appliance/daemon/history/compression.h"
#include "appliance/daemon/history/database.h"
#include "appliance/daemon/history/rows.h"

namespace rocescope {

// Rate at which versions of a part (of all its names together) are stored. A part that takes more
// is stored less often, up to every kLongestAnswerMinutes minutes.
inline constexpr uint64_t kAnswerBytesPerMinute = 16 << 10;  // compressed
inline constexpr int64_t kLongestAnswerMinutes = 10;
// Greatest length of a stored message.
inline constexpr size_t kMaxAnswerBytes = size_t{64} << 20;

// Throws SQLite::Exception.
class AnswerWriter {
 public:
  // `database` must outlive the writer and must not move.
  explicit AnswerWriter(SQLite::Database& database);

  // Must be called in a transaction. An answer with the content of the last stored version only
  // extends the validity of that version. Returns whether a version was added.
  bool Put(const PastAnswer& answer);
  // Must be called after a transaction was rolled back.
  void Forget();

 private:
  // The last stored version of a part and name.
  struct Version {
    int64_t id = 0;  // 0: none
    int64_t at_ns = 0;
    int64_t last_ns = 0;
    int64_t content = 0;
    uint64_t bytes = 0;
  };
  using Key = std::pair<AnswerPart, std::string>;

  Version& LastOf(const PastAnswer& answer);
  bool Extend(Version& version, int64_t at_ns);
  bool IsTooSoon(const Version& version, const PastAnswer& answer) const;

  SQLite::Database& database_;
  SQLite::Statement find_, extend_, insert_;
  Compressor compressor_;
  std::map<Key, Version> last_;
  std::map<AnswerPart, uint64_t> bytes_;  // size of the versions in last_
};

struct AnswerQuery {
  AnswerPart part = AnswerPart::kJobs;
  std::string name;  // as PastAnswer::name
  int64_t at_ns = 0;
  // Time of the version, as FoundAnswer::version; 0: the last one at or before `at_ns`.
  int64_t version = 0;
};

struct FoundAnswer {
  bool is_found = false;
  int64_t version = 0;  // time of the first answer with this content
  int64_t data_ns =
      0;  // latest time at or before the queried one for which it is known to be valid
  std::string message;  // as PastAnswer::message
  std::string damage;   // why the stored message cannot be read; empty: it can
  // Times of the oldest and the newest stored answer; 0: there is none. Only if none was found, or
  // if it is older than kOldAnswer.
  int64_t oldest_ns = 0;
  int64_t newest_ns = 0;
};

// Age at which an answer no longer represents a time: the appliance was off, or stored no answers.
inline constexpr Duration kOldAnswer = std::chrono::minutes(15);

// Throws SQLite::Exception.
FoundAnswer FindAnswer(SQLite::Database& database, const AnswerQuery& query);

}  // namespace rocescope
