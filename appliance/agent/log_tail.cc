// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/agent/log_tail.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <glob.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <functional>
#include <optional>
#include <system_error>
#include <utility>

namespace rocescope {
namespace {

constexpr size_t kPiece = size_t{64} << 10;
constexpr size_t kMark = 256;  // bytes that identify a position in a file
// A writer may keep a file open that no longer matches a pattern. Such a file is forgotten this
// long after its last write.
constexpr Duration kLinger = std::chrono::minutes(10);
// An incompletely read file is kept longer, but not without limit: a removed file uses disk space
// while it is open.
constexpr Duration kLongLinger = std::chrono::hours(1);
constexpr size_t kMaxProblems = 20;
// Limits the search for the originals of copies in a pass, so that a pass is short. The unit is a
// comparison in memory, of which a comparison that reads both files takes many times the duration.
constexpr size_t kComparisonsPerPass = size_t{1} << 20;
constexpr size_t kReadingComparison = 128;

std::string ReadAt(int descriptor, uint64_t offset, size_t bytes) {
  std::string text(bytes, '\0');
  const ssize_t got = pread(descriptor, text.data(), bytes, static_cast<off_t>(offset));
  text.resize(got > 0 ? static_cast<size_t>(got) : 0);
  return text;
}

std::string ReasonOf(int error) { return std::generic_category().message(error); }

Timestamp WrittenAt(const struct stat& about) {
  return FromNanoseconds(about.st_mtim.tv_sec * 1'000'000'000 + about.st_mtim.tv_nsec);
}

// Also true at the end of the file.
bool HasOnlyAHoleAfter(int descriptor, uint64_t offset) {
  return lseek(descriptor, static_cast<off_t>(offset), SEEK_DATA) < 0 && errno == ENXIO;
}

}  // namespace

struct LogTail::Place {
  uint64_t offset = 0;
  std::string head;
  std::string tail;
  std::string partial;
  bool skips_line = false;
  uint64_t unread = 0;
};

struct LogTail::File {
  uint64_t log = 0;
  std::string path;
  uid_t owner = 0;
  int descriptor = -1;      // -1: the file is closed
  uint64_t offset = 0;      // read up to here
  uint64_t size = 0;        // when the file was closed
  std::string head;         // the first bytes, at most kMark
  std::string tail;         // the last bytes before `offset`, at most kMark
  std::string partial;      // the start of an incomplete line
  bool skips_line = false;  // ignore the rest of a line that is too long
  bool found = true;        // matched a pattern in this pass
  Timestamp found_at;       // last time it matched a pattern
  bool is_read = false;     // to its end, in the last pass
  bool is_copy = false;     // looked like a copy in the last pass
  uint64_t unread = 0;      // bytes after `offset`, at the end of the last pass
  Timestamp written;
  std::optional<Place> before;  // position before a truncation, from which a copy continues

  Place place() const {
    return {.offset = offset,
            .head = head,
            .tail = tail,
            .partial = partial,
            .skips_line = skips_line,
            .unread = unread};
  }
  bool IsOpen() const { return descriptor >= 0; }
  void Close() {
    if (IsOpen()) close(std::exchange(descriptor, -1));
  }
  void GoTo(Place place) {
    offset = place.offset;
    head = std::move(place.head);
    tail = std::move(place.tail);
    partial = std::move(place.partial);
    skips_line = place.skips_line;
    unread = place.unread;
  }

  ~File() { Close(); }
};

bool LogTail::MatchesAFile(const std::string& pattern) {
  glob_t found{};
  const int failed = glob(pattern.c_str(), GLOB_NOSORT, nullptr, &found);
  bool any = false;
  for (size_t i = 0; failed == 0 && i < found.gl_pathc && !any; ++i) {
    struct stat about{};
    any = stat(found.gl_pathv[i], &about) == 0 && S_ISREG(about.st_mode);
  }
  globfree(&found);
  return any;
}

LogTail::LogTail(Options options) : options_(std::move(options)) {}
LogTail::~LogTail() = default;

bool LogTail::Look(Timestamp now, const std::function<void(const Piece&)>& take,
                   const std::function<bool()>& has_space) {
  problems_.clear();
  passed_over_new_ = false;
  is_ranked_ = false;
  comparisons_ = kComparisonsPerPass;
  // This precedes the search for new files, because a copy is recognised by how far its original
  // was read.
  for (auto& [identity, file] : files_) NoticeTruncation(*file);
  Find(now);
  comparisons_ = kComparisonsPerPass;  // the closed files must leave some for the others
  size_t budget = options_.bytes_a_look;
  bool all = !passed_over_new_;
  // A large file must not delay the others: start after the file at which the last pass stopped.
  auto at = files_.upper_bound(last_read_);
  Identity next_last_read = last_read_;
  for (size_t i = 0; i < files_.size(); ++i, ++at) {
    if (at == files_.end()) at = files_.begin();
    File& file = *at->second;
    if (!file.IsOpen()) continue;
    const uint64_t offset = file.offset;
    const bool can_compare = comparisons_ > 0;
    const bool is_known_copy = file.is_copy;
    file.is_read = ReadOn(file, budget, take, has_space);
    const bool is_compared = comparisons_ > 0;
    if (file.offset != offset || (can_compare && !is_compared)) next_last_read = at->first;
    // The next pass continues to look for copies, but without haste if they are known as copies.
    all = (file.is_read || (is_known_copy && !is_compared)) && all;
  }
  last_read_ = next_last_read;
  Forget(now);
  counts_.files = open_;
  counts_.files_let_go = files_.size() - open_;
  return all;
}

void LogTail::Find(Timestamp now) {
  for (auto& [identity, file] : files_) file->found = false;
  for (const std::string& pattern : options_.patterns) {
    glob_t found{};
    const int failed = glob(pattern.c_str(), GLOB_NOSORT, nullptr, &found);
    for (size_t i = 0; failed == 0 && i < found.gl_pathc; ++i) Open(found.gl_pathv[i], now);
    globfree(&found);
  }
}

void LogTail::Open(const std::string& path, Timestamp now) {
  struct stat about{};
  if (stat(path.c_str(), &about) != 0 || !S_ISREG(about.st_mode)) return;
  if (const auto at = files_.find({about.st_dev, about.st_ino}); at != files_.end()) {
    File& file = *at->second;
    file.found = true;
    file.found_at = now;
    const bool is_as_it_was =
        static_cast<uint64_t>(about.st_size) == file.size && WrittenAt(about) == file.written;
    if (!file.IsOpen() && !is_as_it_was && HasRoom(path, about, false)) {
      ReadAgain(file, at->first, path);
    }
    return;
  }
  if (now - WrittenAt(about) > options_.newest_age) return;
  if (!HasRoom(path, about, true)) return;
  auto file = std::make_unique<File>();
  file->descriptor = OpenFile(path);
  if (!file->IsOpen() || fstat(file->descriptor, &about) != 0 || !S_ISREG(about.st_mode)) return;
  const Identity identity{about.st_dev, about.st_ino};
  if (files_.contains(identity)) return;  // replaced between stat and open
  file->log = ++last_log_;
  file->path = path;
  file->owner = about.st_uid;
  file->written = WrittenAt(about);
  file->found_at = now;
  Owner& owner = owners_[file->owner];
  ++owner.places;
  ++owner.open;
  ++open_;
  files_.emplace(identity, std::move(file));
}

// Opens without blocking, in case the path became a FIFO. Returns -1 if it cannot be read.
int LogTail::OpenFile(const std::string& path) {
  const int descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (descriptor < 0 && errno != ENOENT && problems_.size() < kMaxProblems) {
    problems_.push_back(
        fmt::format("cannot read {}: {}; grant the agent read permission", path, ReasonOf(errno)));
  }
  return descriptor;
}

// Makes space for one more open file, and for one more remembered file if `is_new`.
bool LogTail::HasRoom(const std::string& path, const struct stat& about, bool is_new) {
  const bool lacks_place = is_new && files_.size() >= options_.most_places;
  if (!lacks_place && open_ < options_.most_files) return true;
  if (!is_ranked_) RankFiles();
  const std::optional<Identity> replaced =
      lacks_place ? ReplaceableBy(about.st_uid, WrittenAt(about)) : std::nullopt;
  const bool has_place = !lacks_place || replaced;
  const bool frees_both = replaced && files_.at(*replaced)->IsOpen();
  if (has_place && (open_ < options_.most_files || frees_both || CloseOneFor(about.st_uid))) {
    if (replaced) Drop(*replaced);
    return true;
  }
  ++counts_.files_refused;
  // The next pass reads the new file, because the open files are completely read by then. This does
  // not hold if the position table is full.
  if (is_new && has_place) passed_over_new_ = true;
  if (problems_.size() < kMaxProblems) {
    problems_.push_back(
        fmt::format("{} is not read because {} logs are {} already; narrow the patterns", path,
                    has_place ? open_ : files_.size(), has_place ? "open" : "remembered"));
  }
  return false;
}

// At most once per pass, because it takes time in proportion to the number of files.
void LogTail::RankFiles() {
  is_ranked_ = true;
  owners_.clear();
  closable_.clear();
  for (const auto& [identity, file] : files_) {
    Owner& owner = owners_[file->owner];
    const Ranked ranked{file->written, identity};
    ++owner.places;
    if (file->IsOpen()) ++owner.open;
    if (file->IsOpen() && !file->is_read) {
      owner.unread.push_back(ranked);
    } else if (file->IsOpen() || file->unread == 0) {
      owner.replaceable.push_back(ranked);
      if (file->IsOpen()) closable_.push_back(ranked);
    }
  }
  std::ranges::sort(closable_, std::greater());
  for (auto& [id, owner] : owners_) {
    std::ranges::sort(owner.replaceable, std::greater());
    std::ranges::sort(owner.unread, std::greater());
  }
}

// Removes the files of which this pass changed the state from the end of `ranked`. Returns the last
// file, or null if none is left.
LogTail::File* LogTail::Last(std::vector<Ranked>& ranked, FileState state) {
  for (; !ranked.empty(); ranked.pop_back()) {
    const auto at = files_.find(ranked.back().second);
    if (at == files_.end()) continue;
    File& file = *at->second;
    const bool is_whole = file.IsOpen() ? file.is_read : file.unread == 0;
    if (state == FileState::kUnread ? file.IsOpen() && !file.is_read
                                    : is_whole && (state == FileState::kRead || file.IsOpen())) {
      return &file;
    }
  }
  return nullptr;
}

// Returns the completely read file that a new file of `user` may replace. A file that is replaced
// and still exists must not replace another one in turn: it would be read again and again.
std::optional<LogTail::Identity> LogTail::ReplaceableBy(uid_t user, Timestamp written) {
  Owner& own = owners_[user];
  Owner* largest = nullptr;
  for (auto& [id, owner] : owners_) {
    if (largest != nullptr && owner.places <= largest->places) continue;
    if (Last(owner.replaceable, FileState::kRead) != nullptr) largest = &owner;
  }
  if (largest != nullptr && largest->places > own.places + 1) {
    return largest->replaceable.back().second;
  }
  if (Last(own.replaceable, FileState::kRead) == nullptr ||
      own.replaceable.back().first >= written) {
    return std::nullopt;
  }
  return own.replaceable.back().second;
}

// Closes the completely read file with the oldest write time. If there is none, it closes a file of
// the user with the most open files, so that one user cannot occupy all of them.
bool LogTail::CloseOneFor(uid_t user) {
  File* closed = Last(closable_, FileState::kReadAndOpen);
  if (closed == nullptr) {
    Owner* largest = nullptr;
    for (auto& [id, owner] : owners_) {
      if (largest != nullptr && owner.open <= largest->open) continue;
      if (Last(owner.unread, FileState::kUnread) != nullptr) largest = &owner;
    }
    if (largest == nullptr || largest->open <= owners_[user].open + 1) return false;
    closed = Last(largest->unread, FileState::kUnread);
  }
  --owners_[closed->owner].open;
  LetGo(*closed);
  return true;
}

void LogTail::Drop(const Identity& identity) {
  const auto at = files_.find(identity);
  const File& file = *at->second;
  Owner& owner = owners_[file.owner];
  --owner.places;
  if (file.IsOpen()) {
    --owner.open;
    --open_;
  }
  if (!file.partial.empty()) ++counts_.cut;
  files_.erase(at);
}

void LogTail::LetGo(File& file) {
  struct stat about{};
  const bool is_copy = file.is_copy && IsHeldAsCopy(file);
  if (fstat(file.descriptor, &about) == 0) file.written = WrittenAt(about);
  const bool is_whole = is_copy || HasOnlyAHoleAfter(file.descriptor, file.offset);
  file.size = is_whole ? std::max(static_cast<uint64_t>(about.st_size), file.offset) : file.offset;
  file.Close();
  --open_;
}

// Reopens a file that changed since it was closed.
void LogTail::ReadAgain(File& file, const Identity& identity, const std::string& path) {
  file.descriptor = OpenFile(path);
  if (!file.IsOpen()) return;
  struct stat about{};
  if (fstat(file.descriptor, &about) != 0 || Identity{about.st_dev, about.st_ino} != identity) {
    return file.Close();  // replaced between stat and open
  }
  ++open_;
  ++owners_[file.owner].open;
  file.is_read = false;
  const bool goes_on =
      static_cast<uint64_t>(about.st_size) >= file.offset &&
      ReadAt(file.descriptor, file.offset - file.tail.size(), file.tail.size()) == file.tail;
  if (path != file.path && !goes_on) {
    // A different file that reuses the inode number of a removed one.
    if (!file.partial.empty()) ++counts_.cut;
    file.log = ++last_log_;
    file.path = path;
    file.GoTo({});
    file.before.reset();
  }
  NoticeTruncation(file);
}

// True while `file` looks like the copy that copytruncate makes: nothing of it is read while the
// original is complete. Once the original is truncated, only the part that was unread is read from
// the copy. This is checked until the first byte of the file is read, because two logs may start
// alike and then differ.
bool LogTail::IsHeldAsCopy(File& file) {
  if (file.offset > 0 || file.before) return false;
  struct stat about{};
  if (fstat(file.descriptor, &about) != 0 || about.st_size == 0) return false;
  const auto size = static_cast<uint64_t>(about.st_size);
  const uint64_t marked = std::min<uint64_t>(kMark, size);
  const std::string head = ReadAt(file.descriptor, 0, marked);
  const std::string end = ReadAt(file.descriptor, size - marked, marked);
  for (const auto& [identity, other] : files_) {
    if (comparisons_ == 0) return false;
    --comparisons_;
    if (!other->IsOpen() && other->offset == size && other->head == head && other->tail == end) {
      return true;
    }
    const size_t both = std::min(other->head.size(), head.size());
    if (both > 0 && other->IsOpen() && other->offset > 0 &&
        other->head.compare(0, both, head, 0, both) == 0) {
      comparisons_ -= std::min(comparisons_, kReadingComparison);
      if (ReadAt(other->descriptor, size - marked, marked) == end &&
          ReadAt(other->descriptor, 0, marked) == head) {
        return true;
      }
    }
    const std::optional<Place>& before = other->before;
    if (!before || before->head.size() < kMark || size < before->offset + before->unread ||
        before->head != head ||
        ReadAt(file.descriptor, before->offset - before->tail.size(), before->tail.size()) !=
            before->tail) {
      continue;
    }
    if (!before->partial.empty()) --counts_.cut;
    counts_.unread_bytes -= before->unread;
    file.log = other->log;
    file.path = other->path;
    file.GoTo(*before);
    other->before.reset();  // there is only one copy
    return false;
  }
  return false;
}

void LogTail::NoticeTruncation(File& file) {
  struct stat about{};
  if (!file.IsOpen() || file.head.empty() || fstat(file.descriptor, &about) != 0) return;
  const bool is_shorter =
      static_cast<uint64_t>(about.st_size) < (file.offset > 0 ? file.offset : file.unread);
  if (static_cast<uint64_t>(about.st_size) == file.offset && WrittenAt(about) == file.written) {
    return;
  }
  file.written = WrittenAt(about);
  const bool goes_on = file.offset > 0 ? ReadAt(file.descriptor, file.offset - file.tail.size(),
                                                file.tail.size()) == file.tail
                                       : ReadAt(file.descriptor, 0, file.head.size()) == file.head;
  if (!is_shorter && goes_on) return;
  ++counts_.truncations;
  if (!file.partial.empty()) ++counts_.cut;
  counts_.unread_bytes += file.unread;
  file.before = file.place();
  file.GoTo({});
}

// Returns false if there is more to read.
bool LogTail::ReadOn(File& file, size_t& budget, const std::function<void(const Piece&)>& take,
                     const std::function<bool()>& has_space) {
  file.unread = 0;
  if (HasOnlyAHoleAfter(file.descriptor, file.offset)) return true;
  if (file.offset == 0 && comparisons_ == 0) return false;
  file.is_copy = IsHeldAsCopy(file);
  if (file.is_copy) return true;
  if (file.offset == 0 && comparisons_ == 0) return false;
  std::array<char, kPiece> bytes;
  while (budget > 0 && has_space()) {
    if (file.offset == 0) file.head.clear();
    // A writer that keeps its offset after a truncation leaves a hole at the start.
    const off_t data = lseek(file.descriptor, static_cast<off_t>(file.offset), SEEK_DATA);
    if (data < 0 && errno == ENXIO) return true;  // the end, or a hole up to the end
    if (data > static_cast<off_t>(file.offset)) {
      file.offset = static_cast<uint64_t>(data);
      file.head = ReadAt(file.descriptor, 0, std::min<uint64_t>(kMark, file.offset));
      file.tail.clear();
    }
    const ssize_t got = pread(file.descriptor, bytes.data(), std::min(bytes.size(), budget),
                              static_cast<off_t>(file.offset));
    if (got <= 0) return true;
    const std::string_view text(bytes.data(), static_cast<size_t>(got));
    budget -= text.size();
    file.offset += text.size();
    if (file.head.size() < kMark && file.head.size() + text.size() == file.offset) {
      file.head += text.substr(0, kMark - file.head.size());
    }
    file.tail.append(text.substr(text.size() - std::min(text.size(), kMark)));
    if (file.tail.size() > kMark) file.tail.erase(0, file.tail.size() - kMark);
    TakeLines(file, text, take);
  }
  struct stat about{};
  const bool is_known = fstat(file.descriptor, &about) == 0;
  const auto size = static_cast<uint64_t>(about.st_size);
  file.unread = is_known && size > file.offset ? size - file.offset : 0;
  // The head shows whether the file is truncated before its first byte is read.
  if (file.offset == 0) file.head = ReadAt(file.descriptor, 0, std::min<uint64_t>(kMark, size));
  return is_known && file.unread == 0;
}

void LogTail::TakeLines(File& file, std::string_view bytes,
                        const std::function<void(const Piece&)>& take) {
  std::string wanted;
  const auto end_line = [&](std::string_view line) {  // including the line end
    // Skip zero bytes after a hole or from a block that was never written.
    line.remove_prefix(std::min(line.find_first_not_of('\0'), line.size()));
    if (line.size() > options_.longest_line) {
      ++counts_.too_long;
    } else if (line.find(options_.wanted) == std::string_view::npos) {
      ++counts_.passed_over;
    } else {
      ++counts_.lines;
      wanted += line;
    }
  };
  while (!bytes.empty()) {
    const size_t end = bytes.find('\n');
    const std::string_view part = bytes.substr(0, end == std::string_view::npos ? end : end + 1);
    bytes.remove_prefix(part.size());
    const bool is_whole = end != std::string_view::npos;
    if (file.skips_line) {
      file.skips_line = !is_whole;
    } else if (is_whole && file.partial.empty()) {
      end_line(part);
    } else {
      file.partial += part;
      file.partial.erase(0, file.partial.find_first_not_of('\0'));
      if (is_whole) {
        end_line(file.partial);
        file.partial.clear();
      } else if (file.partial.size() > options_.longest_line) {
        ++counts_.too_long;
        file.partial.clear();
        file.skips_line = true;
      }
    }
  }
  if (!wanted.empty()) take({.log = file.log, .path = file.path, .text = wanted});
}

void LogTail::Forget(Timestamp now) {
  std::erase_if(files_, [&](const auto& entry) {
    File& file = *entry.second;
    struct stat about{};
    if (file.IsOpen()) {
      if (fstat(file.descriptor, &about) != 0) return false;
      const Duration age = now - WrittenAt(about);
      if (file.found && file.is_read && age > options_.newest_age) LetGo(file);
      if (file.found) return false;
      const Duration lost_for = now - std::max(WrittenAt(about), file.found_at);
      if (file.unread > 0 ? lost_for <= kLongLinger : age <= kLinger) return false;
    } else if (now - file.found_at <= kLinger) {
      return false;
    }
    counts_.unread_bytes += file.unread;
    if (file.IsOpen()) --open_;
    if (!file.partial.empty()) ++counts_.cut;
    return true;
  });
}

}  // namespace rocescope
