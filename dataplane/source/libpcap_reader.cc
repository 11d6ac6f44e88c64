// SPDX-License-Identifier: BSD-3-Clause
#include "dataplane/source/libpcap_reader.h"

#include <fmt/format.h>
#include <pcap/pcap.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <optional>
#include <string_view>
#include <utility>

#include "dataplane/source/link_type.h"

namespace rocescope {
namespace {

// Wraps a ByteStream in a FILE for libpcap. Stores what a FILE cannot represent: the Error and the
// offset.
class StreamFile {
 public:
  explicit StreamFile(std::unique_ptr<ByteStream> stream) : stream_(std::move(stream)) {}

  // The FILE refers to this object, which must outlive it.
  FILE* Open() {
    FILE* file = fopencookie(this, "r",
                             {.read = &Read, .write = nullptr, .seek = nullptr, .close = nullptr});
    // Without a buffer in the FILE, offset_ is exactly the position up to which libpcap has read.
    if (file != nullptr) setvbuf(file, nullptr, _IONBF, 0);
    return file;
  }

  uint64_t Offset() const { return offset_; }
  const std::optional<Error>& ReadError() const { return error_; }
  std::string EndNote() const { return ended_ ? stream_->EndNote() : std::string(); }
  bool IsInterrupted() const { return ended_ && stream_->IsInterrupted(); }

 private:
  static ssize_t Read(void* cookie, char* out, size_t size) {
    return static_cast<StreamFile*>(cookie)->Read(reinterpret_cast<uint8_t*>(out), size);
  }

  ssize_t Read(uint8_t* out, size_t size) {
    if (begin_ == end_ && !ended_ && !error_) {
      auto count = stream_->Read(buffer_);
      if (!count) {
        error_ = count.error();
      } else {
        begin_ = 0;
        end_ = *count;
        ended_ = *count == 0;
      }
    }
    if (error_) {
      errno = EIO;
      return -1;
    }
    const size_t count = std::min(size, end_ - begin_);
    std::memcpy(out, buffer_.data() + begin_, count);
    begin_ += count;
    offset_ += count;
    return static_cast<ssize_t>(count);
  }

  std::unique_ptr<ByteStream> stream_;
  std::array<uint8_t, size_t{64} << 10> buffer_;
  size_t begin_ = 0;
  size_t end_ = 0;
  uint64_t offset_ = 0;
  bool ended_ = false;
  std::optional<Error> error_;
};

bool Contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

Error Explain(const std::string& name, const StreamFile& file, std::string_view libpcap_says) {
  if (const auto& error = file.ReadError()) return *error;
  std::string message =
      fmt::format("{}: cannot read near byte {}: {}", name, file.Offset(), libpcap_says);
  if (Contains(libpcap_says, "different from the type")) {
    message +=
        "; all interfaces of a capture must have the same link type: extract one interface with "
        "`tshark -r IN -Y frame.interface_id==0 -w ONE.pcapng` and "
        "`editcap -F nsecpcap -T ether ONE.pcapng OUT.pcap`";
  } else if (Contains(libpcap_says, "different from the snapshot length")) {
    message +=
        "; all interfaces of a capture must have the same snapshot length: convert it with "
        "`editcap -F nsecpcap IN OUT`";
  }
  return {.code = ErrorCode::kInvalidArgument, .message = std::move(message)};
}

// pcapng timestamps have 64 bits and any unit. Returns nullopt for a time before 1970 or after
// kLatestTime.
std::optional<Timestamp> TimestampOf(const timeval& time) {
  int64_t ns = 0;
  if (__builtin_mul_overflow(int64_t{time.tv_sec}, int64_t{1'000'000'000}, &ns) ||
      __builtin_add_overflow(ns, int64_t{time.tv_usec}, &ns)) {
    return std::nullopt;
  }
  const Timestamp exact = FromNanoseconds(ns);
  return WithinBounds(exact) == exact ? std::optional(exact) : std::nullopt;
}

class LibpcapReader final : public CaptureSource {
 public:
  LibpcapReader(std::unique_ptr<StreamFile> file, pcap_t* handle, std::string name,
                LinkType link_type, const CaptureOptions& options)
      : file_(std::move(file)),
        handle_(handle),
        name_(std::move(name)),
        link_type_(link_type),
        tap_(options.tap),
        arena_(new uint8_t[kArenaSize]) {}
  ~LibpcapReader() override { pcap_close(handle_); }
  LibpcapReader(const LibpcapReader&) = delete;
  LibpcapReader& operator=(const LibpcapReader&) = delete;

  // Copies the frames, because libpcap overwrites them at its next call.
  Result<size_t> ReadBatch(std::span<RawFrame> out) override {
    size_t count = 0;
    size_t used = 0;
    while (!finished_ && count < out.size() && kArenaSize - used >= kMaxCapturedLength) {
      pcap_pkthdr* header = nullptr;
      const u_char* bytes = nullptr;
      const int verdict = pcap_next_ex(handle_, &header, &bytes);
      if (verdict != 1) {
        Finish(verdict);
        break;
      }
      ++read_;
      const std::optional<Timestamp> time = TimestampOf(header->ts);
      if (!time) bad_times_.Count(read_);
      if (!time && !last_) continue;
      last_ = time ? time : last_;
      const uint32_t captured = std::min(header->caplen, kMaxCapturedLength);
      std::memcpy(arena_.get() + used, bytes, captured);
      out[count++] = {.bytes = {arena_.get() + used, captured},
                      .original_length = std::max(header->len, captured),
                      .link_type = link_type_,
                      .timestamp = last_.value_or(kEarliestTime),
                      .tap = tap_};
      used += captured;
    }
    statistics_.frames += count;
    statistics_.captured_bytes += used;
    if (count == 0 && error_) return tl::unexpected(*error_);
    return count;
  }

  const std::string& name() const override { return name_; }
  CaptureStatistics Statistics() const override {
    CaptureStatistics statistics = statistics_;
    bad_times_.AddTo(statistics, name_,
                     "the time of the frame before is used, or the frame is skipped if there is "
                     "none; valid times are from 1970 to 2116");
    return statistics;
  }

 private:
  static constexpr size_t kArenaSize = 2 * size_t{kMaxCapturedLength};

  void Finish(int verdict) {
    finished_ = true;
    const std::string_view says = verdict == PCAP_ERROR ? pcap_geterr(handle_) : "";
    const std::string stream_note = file_->EndNote();
    if (verdict == PCAP_ERROR && (file_->ReadError() || !Contains(says, "truncated"))) {
      error_ = Explain(name_, *file_, says);
    } else if (file_->IsInterrupted()) {
      NoteInterruption(name_, statistics_);
    } else if (verdict == PCAP_ERROR || !stream_note.empty()) {
      ++statistics_.damaged_tails;
      statistics_.notes.push_back(
          fmt::format("{}: truncated at byte {}: {}{}{}", name_, file_->Offset(), says,
                      says.empty() || stream_note.empty() ? "" : ": ", stream_note));
    }
  }

  std::unique_ptr<StreamFile> file_;  // must outlive handle_, which reads from it
  pcap_t* handle_;
  std::string name_;
  LinkType link_type_;
  uint16_t tap_;
  std::unique_ptr<uint8_t[]> arena_;
  bool finished_ = false;
  std::optional<Error> error_;
  CaptureStatistics statistics_;
  uint64_t read_ = 0;              // frames in the file so far
  std::optional<Timestamp> last_;  // the last valid time
  BadTimes bad_times_;
};

}  // namespace

Result<std::unique_ptr<CaptureSource>> OpenThroughLibpcap(std::unique_ptr<ByteStream> stream,
                                                          std::string name,
                                                          const CaptureOptions& options) {
  auto file = std::make_unique<StreamFile>(std::move(stream));
  FILE* handle_file = file->Open();
  if (handle_file == nullptr) {
    return MakeError(ErrorCode::kResourceExhausted, name + ": out of memory");
  }
  char says[PCAP_ERRBUF_SIZE] = "";
  pcap_t* handle =
      pcap_fopen_offline_with_tstamp_precision(handle_file, PCAP_TSTAMP_PRECISION_NANO, says);
  if (handle == nullptr) {
    fclose(handle_file);  // libpcap closes the file only if opening it succeeded
    return tl::unexpected(Explain(name, *file, says));
  }
  auto link_type = LinkTypeFromNumber(pcap_datalink(handle), name);
  if (!link_type) {
    pcap_close(handle);
    return tl::unexpected(link_type.error());
  }
  return std::make_unique<LibpcapReader>(std::move(file), handle, std::move(name), *link_type,
                                         options);
}

}  // namespace rocescope
