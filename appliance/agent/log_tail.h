// SPDX-License-Identifier: BSD-3-Clause
// Follows growing logs through every kind of rotation: rename and create, truncate, copy and
// truncate. It reports no line twice, and loses no line that was in a file when the file was read.
// It closes files that are no longer written, and reopens them if they grow again.
#pragma once

#include <sys/stat.h>
#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/time.h"

namespace rocescope {

class LogTail {
 public:
  struct Options {
    std::vector<std::string> patterns;                  // glob(7) patterns
    Duration newest_age = std::chrono::hours(24 * 14);  // files with older last writes are ignored
    // Maximum number of open files; the one written longest ago is closed.
    size_t most_files = 1024;
    // Maximum number of remembered files, open or closed. A new file replaces the completely read
    // one of the same owner that was written longest ago, or one of an owner with more files.
    size_t most_places = 16'384;
    // Only lines that contain this text are reported. Empty: all lines.
    std::string wanted = "NCCL";
    size_t longest_line = 8192;  // longer lines are dropped and counted
    // Limit per pass over all files, so that a pass is short.
    size_t bytes_a_look = size_t{1} << 20;
  };
  // Complete lines of a file, at most 64 KiB unless a single line is longer.
  struct Piece {
    uint64_t log = 0;       // identifies the file, and survives a rename
    std::string_view path;  // path at which the file was first found
    std::string_view text;
  };
  struct Counts {
    uint64_t lines = 0;        // reported
    uint64_t passed_over = 0;  // without the wanted text
    uint64_t too_long = 0;
    uint64_t cut = 0;  // incomplete lines of truncated or removed files
    uint64_t truncations = 0;
    uint64_t unread_bytes = 0;   // known rest of truncated or removed files that was not read
    uint64_t files = 0;          // currently open
    uint64_t files_let_go = 0;   // closed, but with a remembered position
    uint64_t files_refused = 0;  // attempts to open a file that exceeded a limit
  };

  // Returns whether the glob(7) pattern matches a regular file at present.
  static bool MatchesAFile(const std::string& pattern);

  explicit LogTail(Options options);
  ~LogTail();

  // Reads new lines. `now` must be from the clock that sets file times. The pass ends when
  // `has_space` returns false, and the next pass continues there. Returns true if it reached the
  // end of all files.
  bool Look(
      Timestamp now, const std::function<void(const Piece&)>& take,
      const std::function<bool()>& has_space = [] { return true; });

  const Counts& counts() const { return counts_; }
  // Problems of the last pass: one message for each file that cannot be read.
  const std::vector<std::string>& problems() const { return problems_; }

 private:
  struct Place;
  struct File;
  using Identity = std::pair<dev_t, ino_t>;  // identifies a file independently of its name

  using Ranked = std::pair<Timestamp, Identity>;  // the time of the last write
  struct Owner {
    size_t places = 0;  // remembered files
    size_t open = 0;
    std::vector<Ranked> replaceable;  // completely read; the oldest is last
    std::vector<Ranked> unread;       // open and not completely read; the oldest is last
  };
  enum class FileState { kRead, kReadAndOpen, kUnread };

  void Find(Timestamp now);
  void Open(const std::string& path, Timestamp now);
  int OpenFile(const std::string& path);
  bool HasRoom(const std::string& path, const struct stat& about, bool is_new);
  void RankFiles();
  File* Last(std::vector<Ranked>& ranked, FileState state);
  std::optional<Identity> ReplaceableBy(uid_t user, Timestamp written);
  bool CloseOneFor(uid_t user);
  void Drop(const Identity& identity);
  void ReadAgain(File& file, const Identity& identity, const std::string& path);
  void LetGo(File& file);
  bool IsHeldAsCopy(File& file);
  void NoticeTruncation(File& file);
  bool ReadOn(File& file, size_t& budget, const std::function<void(const Piece&)>& take,
              const std::function<bool()>& has_space);
  void TakeLines(File& file, std::string_view bytes, const std::function<void(const Piece&)>& take);
  void Forget(Timestamp now);

  const Options options_;
  std::map<Identity, std::unique_ptr<File>> files_;
  Identity last_read_{};          // the file at which the last pass stopped
  size_t open_ = 0;               // number of open files
  bool passed_over_new_ = false;  // in this pass, because of the limits
  bool is_ranked_ = false;        // in this pass: the next two are valid
  std::map<uid_t, Owner> owners_;
  std::vector<Ranked> closable_;  // open and completely read; the oldest is last
  size_t comparisons_ = 0;        // left in this pass for finding the originals of copies
  uint64_t last_log_ = 0;
  Counts counts_;
  std::vector<std::string> problems_;
};

}  // namespace rocescope
