// SPDX-License-Identifier: BSD-3-Clause
// Reads a capture file of any content twice: at once, and in small blocks from a slow pipe. Both
// must terminate and agree, and every span must stay inside the input (AddressSanitizer checks the
// bytes).
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "dataplane/source/capture.h"

namespace rocescope {
namespace {

// Compressed input may expand a thousandfold. This takes time but is not a defect.
constexpr uint64_t kMaxFrames = 20'000;

class InputStream final : public ByteStream {
 public:
  InputStream(std::span<const uint8_t> input, size_t chunk) : input_(input), chunk_(chunk) {}

  Result<size_t> Read(std::span<uint8_t> out) override {
    const size_t count = std::min({out.size(), chunk_, input_.size()});
    if (count > 0) std::memcpy(out.data(), input_.data(), count);
    input_ = input_.subspan(count);
    return count;
  }

 private:
  std::span<const uint8_t> input_;
  size_t chunk_;
};

struct Outcome {
  uint64_t frames = 0;
  uint64_t digest = 0;
  std::string end;  // the error or the notes

  friend bool operator==(const Outcome&, const Outcome&) = default;
};

Outcome ReadCapture(std::span<const uint8_t> input, size_t chunk, size_t block_size) {
  auto source =
      OpenCapture(std::make_unique<InputStream>(input, chunk), "input", {.block_size = block_size});
  if (!source) return {.end = source.error().message};
  Outcome outcome;
  std::vector<RawFrame> batch(kBatchFrames);
  while (outcome.frames < kMaxFrames) {
    const auto count = (*source)->ReadBatch(batch);
    if (!count) outcome.end = count.error().message;
    if (!count || *count == 0) break;
    for (const RawFrame& frame : std::span(batch).first(*count)) {
      if (outcome.frames == kMaxFrames) break;
      ++outcome.frames;
      if (frame.original_length < frame.bytes.size()) std::abort();
      outcome.digest = outcome.digest * 31 + frame.original_length;
      outcome.digest = outcome.digest * 31 + static_cast<uint64_t>(ToNanoseconds(frame.timestamp));
      for (const uint8_t octet : frame.bytes) outcome.digest = outcome.digest * 31 + octet;
    }
  }
  if (outcome.frames < kMaxFrames) {
    const CaptureStatistics statistics = (*source)->Statistics();
    if (statistics.frames != outcome.frames) std::abort();
    for (const std::string& note : statistics.notes) outcome.end += note;
  }
  return outcome;
}

}  // namespace
}  // namespace rocescope

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::span<const uint8_t> input(data, size);
  const auto whole = rocescope::ReadCapture(input, SIZE_MAX, size_t{1} << 20);
  const auto pieces = rocescope::ReadCapture(input, 777, 4096);
  if (!(whole == pieces)) std::abort();
  return 0;
}
