// SPDX-License-Identifier: BSD-3-Clause
// Capture files as a pull of frame batches: pcap and pcapng, plain, gzip or zstd, file or pipe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "dataplane/decode/frame.h"
#include "dataplane/source/byte_stream.h"

namespace rocescope {

inline constexpr std::string_view kStandardInputPath = "-";

// The longest frame that a capture may hold: libpcap's MAXIMUM_SNAPLEN, in octets.
inline constexpr uint32_t kMaxCapturedLength = 262144;

// A good size for the batches that a caller asks for: the RawFrames stay in the L1 cache.
inline constexpr size_t kBatchFrames = 256;

struct CaptureStatistics {
  uint64_t frames = 0;
  uint64_t captured_bytes = 0;     // of the frames, without the file's own headers
  uint64_t damaged_tails = 0;      // files that ended early though all before it was good
  std::vector<std::string> notes;  // one sentence per damaged tail, naming the file
};

// Frames in the order of the file. One thread; one virtual call a batch.
class CaptureSource {
 public:
  virtual ~CaptureSource() = default;

  // Fills the front of `out` (not empty) with the next frames and returns how many: possibly fewer
  // than fit, 0 only at the end. Their spans stay valid until the next call. Waits where a pipe has
  // nothing yet. Frames before a damage are delivered first; then every call returns the error.
  virtual Result<size_t> ReadBatch(std::span<RawFrame> out) = 0;

  // As messages name it: the path, or "standard input".
  virtual const std::string& name() const = 0;

  // So far; complete once ReadBatch has returned 0 or an error.
  virtual CaptureStatistics Statistics() const = 0;
};

struct CaptureOptions {
  uint16_t tap = 0;  // put into every frame
  // Bytes read at a time, and about what an open file costs in memory. More than 1 MiB gains
  // nothing (capture_bench.cc).
  size_t block_size = size_t{1} << 20;
};

// Opens `path` ("-" is standard input) by its content; the name's extension does not matter.
Result<std::unique_ptr<CaptureSource>> OpenCapture(const std::string& path,
                                                   const CaptureOptions& options = {});

// The same for octets from elsewhere; `name` goes into messages.
Result<std::unique_ptr<CaptureSource>> OpenCapture(std::unique_ptr<ByteStream> stream,
                                                   std::string name,
                                                   const CaptureOptions& options = {});

std::string CaptureDisplayName(const std::string& path);

}  // namespace rocescope
