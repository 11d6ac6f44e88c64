// SPDX-License-Identifier: BSD-3-Clause
// Capture files as a source of frame batches: pcap and pcapng, uncompressed, gzip or zstd, from a
// file or a pipe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "dataplane/decode/frame.h"
#include "dataplane/source/byte_stream.h"

namespace rocescope {

inline constexpr std::string_view kStandardInputPath = "-";

// Maximum captured length of a frame in bytes (libpcap's MAXIMUM_SNAPLEN).
inline constexpr uint32_t kMaxCapturedLength = 262144;

// Recommended batch size: the RawFrames fit into the L1 cache.
inline constexpr size_t kBatchFrames = 256;

struct CaptureStatistics {
  uint64_t frames = 0;
  uint64_t captured_bytes = 0;  // bytes of the frames, without the file's own headers
  // Files with a truncated end whose preceding frames are all good, and files that were not read to
  // their end.
  uint64_t damaged_tails = 0;
  uint64_t bad_times = 0;          // frames with an impossible time, which was corrected
  std::vector<std::string> notes;  // one sentence for each of these files, with its name

  bool HasDamage() const { return damaged_tails > 0 || bad_times > 0; }
};

// For readers: counts the frames of a file with impossible times.
class BadTimes {
 public:
  // `frame` is the number of the frame in its file, from 1.
  void Count(uint64_t frame) {
    if (count_++ == 0) first_ = frame;
  }
  // Adds the count and a note that says how the times were `corrected`.
  void AddTo(CaptureStatistics& statistics, const std::string& name,
             std::string_view corrected) const;

 private:
  uint64_t count_ = 0;
  uint64_t first_ = 0;
};

// For readers: counts and notes a file whose reading was ended (ByteStream::IsInterrupted).
void NoteInterruption(const std::string& name, CaptureStatistics& statistics);

// Returns the frames in file order. Used by one thread; one virtual call per batch.
class CaptureSource {
 public:
  virtual ~CaptureSource() = default;

  // Fills the front of `out` (not empty) with the next frames and returns their number: it can be
  // less than out.size(), and is 0 only at the end. The spans are valid until the next call. Blocks
  // if a pipe has no data. Frames before a damaged record are delivered first; then every call
  // returns the error.
  virtual Result<size_t> ReadBatch(std::span<RawFrame> out) = 0;

  // The path, or "standard input", for messages.
  virtual const std::string& name() const = 0;

  // Statistics so far; complete once ReadBatch has returned 0 or an error.
  virtual CaptureStatistics Statistics() const = 0;
};

struct CaptureOptions {
  uint16_t tap = 0;  // copied into every frame
  // Bytes read at a time, and approximately the memory per open file. More than 1 MiB is not faster
  // (capture_bench.cc).
  size_t block_size = size_t{1} << 20;
};

// Opens `path` ("-" is standard input). The content determines the format; the file extension is
// ignored.
Result<std::unique_ptr<CaptureSource>> OpenCapture(const std::string& path,
                                                   const CaptureOptions& options = {});

// The same for another byte stream; `name` is used in messages.
Result<std::unique_ptr<CaptureSource>> OpenCapture(std::unique_ptr<ByteStream> stream,
                                                   std::string name,
                                                   const CaptureOptions& options = {});

std::string CaptureDisplayName(const std::string& path);

}  // namespace rocescope
