// SPDX-License-Identifier: BSD-3-Clause
// Helpers of this folder's tests: a byte stream in memory, and reading a source to its end.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "dataplane/source/capture.h"
#include "tests/support/pcap_writer.h"

namespace rocescope::test {

// Delivers at most `chunk` bytes per read, like a pipe.
class MemoryStream final : public ByteStream {
 public:
  explicit MemoryStream(std::vector<uint8_t> bytes, size_t chunk = SIZE_MAX)
      : bytes_(std::move(bytes)), chunk_(chunk) {}

  Result<size_t> Read(std::span<uint8_t> out) override {
    const size_t count = std::min({out.size(), chunk_, bytes_.size() - at_});
    if (count > 0) std::memcpy(out.data(), bytes_.data() + at_, count);
    at_ += count;
    return count;
  }

 private:
  std::vector<uint8_t> bytes_;
  size_t chunk_;
  size_t at_ = 0;
};

struct SeenFrame {
  int64_t time_ns = 0;
  uint32_t original_length = 0;
  uint16_t tap = 0;
  LinkType link_type = LinkType::kEthernet;
  std::vector<uint8_t> bytes;

  friend bool operator==(const SeenFrame&, const SeenFrame&) = default;
};

struct Reading {
  std::vector<SeenFrame> frames;
  std::string error;  // empty at a regular end
  CaptureStatistics statistics;
};

inline Reading ReadAll(CaptureSource& source, size_t batch_size = kBatchFrames) {
  Reading reading;
  std::vector<RawFrame> batch(batch_size);
  while (true) {
    const Result<size_t> count = source.ReadBatch(batch);
    if (!count) reading.error = count.error().message;
    if (!count || *count == 0) break;
    for (const RawFrame& frame : std::span(batch).first(*count)) {
      reading.frames.push_back({.time_ns = ToNanoseconds(frame.timestamp),
                                .original_length = frame.original_length,
                                .tap = frame.tap,
                                .link_type = frame.link_type,
                                .bytes = {frame.bytes.begin(), frame.bytes.end()}});
    }
  }
  reading.statistics = source.Statistics();
  return reading;
}

inline Reading ReadFile(std::vector<uint8_t> file, const CaptureOptions& options = {},
                        size_t chunk = SIZE_MAX) {
  auto source =
      OpenCapture(std::make_unique<MemoryStream>(std::move(file), chunk), "test.pcap", options);
  if (!source) return {.error = source.error().message};
  return ReadAll(**source);
}

// `count` frames of different lengths and content, 1 us apart.
inline std::vector<CapturedFrame> SomeFrames(size_t count) {
  std::vector<CapturedFrame> frames;
  for (size_t i = 0; i < count; ++i) {
    const size_t length = 60 + i * 37 % 300;
    frames.push_back({.time_ns = 1'700'000'000'000'000'000 + static_cast<int64_t>(i) * 1000,
                      .bytes = std::vector<uint8_t>(length, static_cast<uint8_t>(i)),
                      .original_length = static_cast<uint32_t>(length + i % 3 * 1000)});
  }
  return frames;
}

inline std::vector<SeenFrame> AsSeen(std::span<const CapturedFrame> frames) {
  std::vector<SeenFrame> seen;
  for (const CapturedFrame& frame : frames) {
    seen.push_back(
        {.time_ns = frame.time_ns, .original_length = frame.original_length, .bytes = frame.bytes});
  }
  return seen;
}

}  // namespace rocescope::test
