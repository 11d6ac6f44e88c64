// SPDX-License-Identifier: BSD-3-Clause
#include "dataplane/source/merge.h"

#include <fmt/format.h>

#include <algorithm>
#include <compare>
#include <optional>
#include <utility>

namespace rocescope {
namespace {

// A source and the part of its batch that was not delivered yet.
struct Lane {
  std::unique_ptr<CaptureSource> source;
  std::vector<RawFrame> batch;
  size_t begin = 0;
  size_t end = 0;
};

// The time of a lane's next frame. Compares by time, then by the order of the sources.
struct Due {
  Timestamp time;
  uint32_t lane = 0;

  friend auto operator<=>(const Due&, const Due&) = default;
};

class MergedCapture final : public CaptureSource {
 public:
  explicit MergedCapture(std::vector<std::unique_ptr<CaptureSource>> sources)
      : name_(fmt::format("{} captures", sources.size())) {
    for (auto& source : sources) {
      empty_.push_back(static_cast<uint32_t>(lanes_.size()));
      lanes_.push_back({.source = std::move(source), .batch = std::vector<RawFrame>(kBatchFrames)});
    }
  }

  Result<size_t> ReadBatch(std::span<RawFrame> out) override {
    Refill();
    size_t count = 0;
    // Stops when a lane is empty, because reading on would invalidate the spans that were just
    // returned.
    while (count < out.size() && empty_.empty() && !heap_.empty()) {
      Lane& lane = lanes_[heap_[0].lane];
      const std::optional<Due> next = RunnerUp();
      Due due = heap_[0];
      do {
        out[count++] = lane.batch[lane.begin++];
        if (lane.begin == lane.end) break;
        due.time = lane.batch[lane.begin].timestamp;
      } while (count < out.size() && (!next || due < *next));
      if (lane.begin == lane.end) {
        empty_.push_back(due.lane);
        heap_[0] = heap_.back();
        heap_.pop_back();
      } else {
        heap_[0] = due;
      }
      SiftDown();
    }
    if (count == 0 && error_) return tl::unexpected(*error_);
    return count;
  }

  const std::string& name() const override { return name_; }

  CaptureStatistics Statistics() const override {
    CaptureStatistics sum;
    for (const Lane& lane : lanes_) {
      CaptureStatistics one = lane.source->Statistics();
      sum.frames += one.frames - (lane.end - lane.begin);
      sum.captured_bytes += one.captured_bytes;
      for (size_t i = lane.begin; i < lane.end; ++i) {
        sum.captured_bytes -= lane.batch[i].bytes.size();
      }
      sum.damaged_tails += one.damaged_tails;
      sum.bad_times += one.bad_times;
      std::move(one.notes.begin(), one.notes.end(), std::back_inserter(sum.notes));
    }
    return sum;
  }

 private:
  void Refill() {
    for (const uint32_t index : empty_) {
      Lane& lane = lanes_[index];
      auto count = lane.source->ReadBatch(lane.batch);
      lane.begin = 0;
      lane.end = count ? *count : 0;
      if (!count && !error_) error_ = count.error();
      if (lane.end == 0) continue;
      heap_.push_back({.time = lane.batch[0].timestamp, .lane = index});
      std::push_heap(heap_.begin(), heap_.end(), std::greater<>());
    }
    empty_.clear();
  }

  // The second earliest is one of the root's two children.
  std::optional<Due> RunnerUp() const {
    if (heap_.size() < 2) return std::nullopt;
    return heap_.size() == 2 ? heap_[1] : std::min(heap_[1], heap_[2]);
  }

  // Restores the heap property after its root changed.
  void SiftDown() {
    size_t at = 0;
    while (true) {
      size_t child = 2 * at + 1;
      if (child >= heap_.size()) return;
      if (child + 1 < heap_.size() && heap_[child + 1] < heap_[child]) ++child;
      if (heap_[at] < heap_[child]) return;
      std::swap(heap_[at], heap_[child]);
      at = child;
    }
  }

  std::string name_;
  std::vector<Lane> lanes_;
  std::vector<Due> heap_;        // the lanes that have a frame, as a heap with the earliest first
  std::vector<uint32_t> empty_;  // lanes to refill before the next batch
  std::optional<Error> error_;
};

}  // namespace

std::unique_ptr<CaptureSource> MergeCaptures(std::vector<std::unique_ptr<CaptureSource>> sources) {
  if (sources.size() == 1) return std::move(sources[0]);
  return std::make_unique<MergedCapture>(std::move(sources));
}

Result<std::unique_ptr<CaptureSource>> OpenCaptures(std::span<const TapFile> files) {
  CaptureOptions options;
  // Limits the memory, which is per file.
  if (files.size() > 16) options.block_size = size_t{64} << 10;
  std::vector<std::unique_ptr<CaptureSource>> sources;
  for (const TapFile& file : files) {
    options.tap = file.tap;
    auto source = OpenCapture(file.path, options);
    if (!source) return tl::unexpected(source.error());
    sources.push_back(std::move(*source));
  }
  return MergeCaptures(std::move(sources));
}

}  // namespace rocescope
