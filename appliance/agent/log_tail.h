// SPDX-License-Identifier: BSD-3-Clause
// Reads logs while they grow, through every kind of rotation: renamed and begun anew, truncated,
// copied and truncated. No line comes twice, and none is lost that stood in a file when it was
// looked at. Files that are no longer written to are let go, and read on should they be written to
// once more.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.h"

namespace rocescope {

class LogTail {
 public:
  struct Options {
    std::vector<std::string> patterns;                  // as glob(7) has them
    Duration newest_age = std::chrono::hours(24 * 14);  // files not written for longer: not read
    size_t most_files = 1024;     // held open; the one written longest ago makes room for another
    size_t most_places = 16'384;  // of files, open or let go
    // Lines that hold this; others are passed over. Empty: all.
    std::string wanted = "NCCL";
    size_t longest_line = 8192;              // longer ones are passed over, and counted
    size_t bytes_a_look = size_t{1} << 20;  // of all files, so that a look ends soon
  };
  // Lines of a file with their ends, at most 64 KiB of them unless one line is longer.
  struct Piece {
    uint64_t log = 0;       // a number that the file keeps when it is renamed
    std::string_view path;  // under which it was found first
    std::string_view text;
  };
  struct Counts {
    uint64_t lines = 0;        // handed on
    uint64_t passed_over = 0;  // not wanted
    uint64_t too_long = 0;
    uint64_t cut = 0;  // without an end when their file was truncated or went away
    uint64_t truncations = 0;
    uint64_t files = 0;          // open now
    uint64_t files_let_go = 0;   // whose place is remembered
    uint64_t files_refused = 0;  // looks at which a file found no room
  };

  explicit LogTail(Options options);
  ~LogTail();

  // Reads what is new. `now` is of the clock that files are stamped by. True if it came to the end
  // of all files.
  bool Look(Timestamp now, const std::function<void(const Piece&)>& take);

  const Counts& counts() const { return counts_; }
  // What cannot be read, as sentences.
  const std::vector<std::string>& problems() const { return problems_; }

 private:
  struct Place;
  struct File;
  using Identity = std::pair<dev_t, ino_t>;  // what a name does not tell

  void Find(Timestamp now);
  void Open(const std::string& path, Timestamp now);
  int OpenFile(const std::string& path);
  bool HasRoom(const std::string& path, bool is_new);
  void ReadAgain(File& file, const Identity& identity, const std::string& path);
  void LetGo(File& file);
  bool IsHeldAsCopy(File& file);
  void NoticeTruncation(File& file);
  bool ReadOn(File& file, size_t& budget, const std::function<void(const Piece&)>& take);
  void TakeLines(File& file, std::string_view bytes,
                 const std::function<void(const Piece&)>& take);
  void Forget(Timestamp now);

  const Options options_;
  std::map<Identity, std::unique_ptr<File>> files_;
  size_t open_ = 0;               // of these
  bool passed_over_new_ = false;  // in this look, for want of room
  uint64_t last_log_ = 0;
  Counts counts_;
  std::vector<std::string> problems_;
};

}  // namespace rocescope
