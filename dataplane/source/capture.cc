// SPDX-License-Identifier: BSD-3-Clause
#include "dataplane/source/capture.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "dataplane/source/decompress.h"
#include "dataplane/source/libpcap_reader.h"
#include "dataplane/source/pcap_reader.h"

namespace rocescope {
namespace {

using Head = std::span<const uint8_t>;

struct Magic {
  std::string_view bytes;
  std::string_view meaning;
};

using namespace std::string_view_literals;

// The formats that libpcap reads, apart from plain pcap.
constexpr std::array kLibpcapMagics = {
    "\x0a\x0d\x0d\x0a"sv,                        // pcapng
    "\xa1\xb2\xc3\xd4"sv, "\xd4\xc3\xb2\xa1"sv,  // pcap of another version than 2.4
    "\xa1\xb2\x3c\x4d"sv, "\x4d\x3c\xb2\xa1"sv,  // the same with nanoseconds
    "\xa1\xb2\xcd\x34"sv, "\x34\xcd\xb2\xa1"sv,  // Kuznetzov's variant
    "\x1c\x00\x01\xac"sv, "\xac\x01\x00\x1c"sv,  // IXIA hardware and software
    "\x1c\x00\x00\xac"sv, "\xac\x00\x00\x1c"sv,
};

// Other formats that users may pass, and what to do about them.
constexpr std::array kForeignMagics = {
    Magic{.bytes = "BZh"sv, .meaning = "is compressed with bzip2: pipe it through `bzip2 -dc`"},
    Magic{.bytes = "\xfd"
                   "7zXZ"sv,
          .meaning = "is compressed with xz: pipe it through `xz -dc`"},
    Magic{.bytes = "\x04\x22\x4d\x18"sv,
          .meaning = "is compressed with lz4: pipe it through `lz4 -dc`"},
    Magic{.bytes = "PK\x03\x04"sv, .meaning = "is a zip archive: unpack it first"},
    Magic{.bytes = "\x1f\x8b"sv, .meaning = "is compressed twice: decompress it once"},
    Magic{.bytes = "\x28\xb5\x2f\xfd"sv, .meaning = "is compressed twice: decompress it once"},
    Magic{.bytes = "snoop\0\0\0"sv,
          .meaning = "is a snoop capture: convert it with `editcap -F pcap IN OUT`"},
};

bool BeginsWith(Head head, std::string_view magic) {
  return head.size() >= magic.size() &&
         std::equal(magic.begin(), magic.end(), head.begin(),
                    [](char a, uint8_t b) { return static_cast<uint8_t>(a) == b; });
}

Error NotACapture(Head head, const std::string& name) {
  for (const Magic& magic : kForeignMagics) {
    if (BeginsWith(head, magic.bytes)) {
      return {.code = ErrorCode::kInvalidArgument,
              .message = fmt::format("{}: {}", name, magic.meaning)};
    }
  }
  return {.code = ErrorCode::kInvalidArgument,
          .message = fmt::format("{}: is not a capture: expected pcap or pcapng, uncompressed or "
                                 "compressed with gzip or zstd, found leading bytes {:02x}",
                                 name, fmt::join(head, " "))};
}

// Adds a decompressor if the content requires one.
Result<std::unique_ptr<PeekStream>> Decompressed(std::unique_ptr<ByteStream> raw,
                                                 const std::string& name) {
  auto stream = std::make_unique<PeekStream>(std::move(raw));
  auto head = stream->Peek(4);
  if (!head) return tl::unexpected(head.error());
  Result<std::unique_ptr<ByteStream>> inner;
  if (LooksLikeGzip(*head)) {
    inner = MakeGzipStream(std::move(stream), name);
  } else if (LooksLikeZstd(*head)) {
    inner = MakeZstdStream(std::move(stream), name);
  } else {
    return stream;
  }
  if (!inner) return tl::unexpected(inner.error());
  return std::make_unique<PeekStream>(std::move(*inner));
}

}  // namespace

void NoteInterruption(const std::string& name, CaptureStatistics& statistics) {
  ++statistics.damaged_tails;
  statistics.notes.push_back(
      fmt::format("{}: reading was interrupted by a signal; the frames before it were read", name));
}

void BadTimes::AddTo(CaptureStatistics& statistics, const std::string& name,
                     std::string_view corrected) const {
  if (count_ == 0) return;
  statistics.bad_times += count_;
  statistics.notes.push_back(
      fmt::format("{}: {} frames have an impossible capture time, the first one is frame {}: {}",
                  name, count_, first_, corrected));
}

Result<std::unique_ptr<CaptureSource>> OpenCapture(std::unique_ptr<ByteStream> stream,
                                                   std::string name,
                                                   const CaptureOptions& options) {
  auto plain = Decompressed(std::move(stream), name);
  if (!plain) return tl::unexpected(plain.error());
  auto head = (*plain)->Peek(8);
  if (!head) return tl::unexpected(head.error());
  if (head->empty()) {
    std::string note = (*plain)->EndNote();
    return MakeError(ErrorCode::kInvalidArgument,
                     fmt::format("{}: is empty: expected a pcap or pcapng capture{}{}", name,
                                 note.empty() ? "" : "; ", note));
  }
  if (LooksLikePcap(*head)) return OpenPcap(std::move(*plain), std::move(name), options);
  const bool for_libpcap = std::any_of(kLibpcapMagics.begin(), kLibpcapMagics.end(),
                                       [&](auto magic) { return BeginsWith(*head, magic); });
  if (for_libpcap) return OpenThroughLibpcap(std::move(*plain), std::move(name), options);
  return tl::unexpected(NotACapture(*head, name));
}

Result<std::unique_ptr<CaptureSource>> OpenCapture(const std::string& path,
                                                   const CaptureOptions& options) {
  auto stream = OpenFileStream(path);
  if (!stream) return tl::unexpected(stream.error());
  return OpenCapture(std::move(*stream), CaptureDisplayName(path), options);
}

std::string CaptureDisplayName(const std::string& path) {
  return path == kStandardInputPath ? "standard input" : path;
}

}  // namespace rocescope
