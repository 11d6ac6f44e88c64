// SPDX-License-Identifier: BSD-3-Clause
// Frames per CPU second from a pcap file in the page cache: this folder's reader, libpcap's loop,
// and a memory-mapped file. Each accesses the first bytes of every frame, as a decoder would;
// otherwise the mapped file would appear to cost nothing.
#include <benchmark/benchmark.h>
#include <fcntl.h>
#include <pcap/pcap.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "dataplane/source/capture.h"
#include "dataplane/source/merge.h"
#include "tests/support/pcap_writer.h"

namespace rocescope {
namespace {

constexpr int kFrames = 3'000'000;
constexpr uint32_t kSnapLength = 128;

// The file exists until the program ends.
class CaptureFile {
 public:
  CaptureFile() {
    char path[] = "/tmp/rocescope-capture-bench-XXXXXX";
    const int descriptor = mkstemp(path);
    if (descriptor < 0) std::abort();
    path_ = path;
    FILE* out = fdopen(descriptor, "wb");
    const test::CaptureFormat format{.snap_length = kSnapLength};
    std::vector<uint8_t> bytes;
    test::AppendPcapHeader(bytes, format);
    const std::vector<uint8_t> payload(kSnapLength, 0x5a);
    for (int i = 0; i < kFrames; ++i) {
      // One in four is a short packet, like an ACK.
      const size_t length = i % 4 == 3 ? 62 : kSnapLength;
      test::AppendPcapRecord(bytes, format, int64_t{i} * 1000, std::span(payload).first(length),
                             length == kSnapLength ? 4170 : 62);
      if (bytes.size() > (1 << 20) || i + 1 == kFrames) {
        if (std::fwrite(bytes.data(), 1, bytes.size(), out) != bytes.size()) std::abort();
        bytes.clear();
      }
    }
    std::fclose(out);
  }
  ~CaptureFile() { unlink(path_.c_str()); }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

const std::string& CapturePath() {
  static const CaptureFile file;
  return file.path();
}

void SetRate(benchmark::State& state) {
  state.counters["frames_per_cpu_second"] =
      benchmark::Counter(double{kFrames}, benchmark::Counter::kIsIterationInvariantRate);
}

// Bytes 12 to 19 and 54 to 61 of a frame: EtherType and BTH, usually in two cache lines.
uint64_t Touch(const uint8_t* bytes) {
  uint64_t a;
  uint64_t b;
  std::memcpy(&a, bytes + 12, sizeof a);
  std::memcpy(&b, bytes + 54, sizeof b);
  return a ^ b;
}

void Drain(benchmark::State& state, CaptureSource& source) {
  std::vector<RawFrame> batch(kBatchFrames);
  uint64_t seen = 0;
  uint64_t sum = 0;
  while (true) {
    const Result<size_t> count = source.ReadBatch(batch);
    if (!count || *count == 0) break;
    for (size_t i = 0; i < *count; ++i) sum += Touch(batch[i].bytes.data());
    seen += *count;
  }
  benchmark::DoNotOptimize(sum);
  if (seen % kFrames != 0) state.SkipWithError("frames are missing");
}

void OwnReader(benchmark::State& state) {
  CapturePath();  // written before timing starts
  const CaptureOptions options{.block_size = static_cast<size_t>(state.range(0)) << 10};
  for (auto _ : state) {
    auto source = OpenCapture(CapturePath(), options);
    Drain(state, **source);
  }
  SetRate(state);
}
BENCHMARK(OwnReader)
    ->ArgName("block_kib")
    ->RangeMultiplier(4)
    ->Range(16, 4096)
    ->Unit(benchmark::kMillisecond);

void LibpcapLoop(benchmark::State& state) {
  for (auto _ : state) {
    char error[PCAP_ERRBUF_SIZE];
    pcap_t* handle = pcap_open_offline_with_tstamp_precision(CapturePath().c_str(),
                                                             PCAP_TSTAMP_PRECISION_NANO, error);
    pcap_pkthdr* header = nullptr;
    const u_char* bytes = nullptr;
    uint64_t sum = 0;
    while (pcap_next_ex(handle, &header, &bytes) == 1) sum += Touch(bytes);
    benchmark::DoNotOptimize(sum);
    pcap_close(handle);
  }
  SetRate(state);
}
BENCHMARK(LibpcapLoop)->Unit(benchmark::kMillisecond);

// A memory-mapped reader: the same batches without a copy, but with page faults.
void MappedWalk(benchmark::State& state) {
  for (auto _ : state) {
    const int descriptor = open(CapturePath().c_str(), O_RDONLY);
    const auto size = static_cast<size_t>(lseek(descriptor, 0, SEEK_END));
    auto* file = static_cast<uint8_t*>(mmap(nullptr, size, PROT_READ, MAP_SHARED, descriptor, 0));
    madvise(file, size, MADV_SEQUENTIAL);
    std::vector<RawFrame> batch(kBatchFrames);
    uint64_t sum = 0;
    size_t at = 24;
    while (at < size) {
      size_t count = 0;
      for (; count < batch.size() && at + 16 <= size; ++count) {
        uint32_t header[4];
        std::memcpy(header, file + at, sizeof header);
        batch[count] = {
            .bytes = {file + at + 16, header[2]},
            .original_length = header[3],
            .timestamp = FromNanoseconds(header[0] * int64_t{1'000'000'000} + header[1])};
        at += 16 + header[2];
      }
      for (size_t i = 0; i < count; ++i) sum += Touch(batch[i].bytes.data());
    }
    benchmark::DoNotOptimize(sum);
    munmap(file, size);
    close(descriptor);
  }
  SetRate(state);
}
BENCHMARK(MappedWalk)->Unit(benchmark::kMillisecond);

// The same file two and three times: every frame has an equal in another file, which is the worst
// case of the merge.
void Merged(benchmark::State& state) {
  for (auto _ : state) {
    const std::vector<TapFile> files(static_cast<size_t>(state.range(0)), {.path = CapturePath()});
    auto source = OpenCaptures(files);
    Drain(state, **source);
  }
  state.counters["frames_per_cpu_second"] =
      benchmark::Counter(double{kFrames} * static_cast<double>(state.range(0)),
                         benchmark::Counter::kIsIterationInvariantRate);
}
BENCHMARK(Merged)->ArgName("files")->DenseRange(1, 3)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace rocescope
