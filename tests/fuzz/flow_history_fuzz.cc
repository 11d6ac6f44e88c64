// SPDX-License-Identifier: BSD-3-Clause
// recording/history.columns: a damaged history is an error that names the file, and a history that
// was read has counters at all times. Byte 0: 0 to 127, the rest is a file; otherwise the content
// of the only block, which this program compresses.
#include <zstd.h>

#include <chrono>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "sim/flow/flow_counters.h"
#include "sim/flow/history_file.h"
#include "tests/fuzz/require.h"
#include "topology/generate.h"

namespace rocescope {
namespace {

const topology::Fabric& TheFabric() {
  static const topology::Fabric fabric =
      topology::Generate({.shape = topology::Shape::kStar, .hosts = 2}).value();
  return fabric;
}

std::string FileOf(std::span<const uint8_t> input) {
  if (input.empty() || input[0] < 128) {
    return input.empty() ? std::string() : std::string(input.begin() + 1, input.end());
  }
  std::string frame(ZSTD_compressBound(input.size()), '\0');
  const std::unique_ptr<ZSTD_CCtx, size_t (*)(ZSTD_CCtx*)> zstd(ZSTD_createCCtx(), ZSTD_freeCCtx);
  ZSTD_CCtx_setParameter(zstd.get(), ZSTD_c_checksumFlag, 1);
  frame.resize(
      ZSTD_compress2(zstd.get(), frame.data(), frame.size(), input.data() + 1, input.size() - 1));
  std::string file("\x89ROCHIS\x02");
  for (size_t i = 0; i < 4; ++i) file += static_cast<char>(frame.size() >> 8 * i);
  return file + frame;
}

}  // namespace
}  // namespace rocescope

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace rocescope;
  const auto read = sim::ParseHistory(FileOf({data, size}), "fuzz", TheFabric());
  if (!read) {
    Require(read.error().message.starts_with("fuzz: "), "an error names the file");
    return 0;
  }
  sim::FlowCounters counters((*read)->history, (*read)->epoch);
  for (uint32_t i = 0; i < counters.entities().size(); ++i) {
    std::vector<uint64_t> values(counters.entities()[i].metrics.size());
    Timestamp before = counters.begin();
    for (int part = 0; part <= 4; ++part) {
      const Timestamp time = counters.begin() + (counters.end() - counters.begin()) / 4 * part;
      counters.Read(i, before, time, values);
      before = time;
    }
  }
  return 0;
}
