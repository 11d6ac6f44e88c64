// SPDX-License-Identifier: BSD-3-Clause
// Mbufs as the dataplane's frames: a view of the first segment, or a copy where there are several.
#pragma once

#include <rte_mbuf.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>

#include "dataplane/decode/frame.h"
#include "dataplane/source/capture.h"

namespace rocescope {

class FrameGatherer {
 public:
  FrameGatherer() : scratch_(new uint8_t[kScratch]) {}

  // Makes frames of the first of `mbufs`, as many as `out` and the space for copies take, at least
  // one; returns how many. They live as long as the mbufs, and until the next call. Time and tap
  // are the caller's to fill.
  size_t Gather(std::span<rte_mbuf* const> mbufs, std::span<RawFrame> out) {
    size_t used = 0;
    size_t count = 0;
    const size_t most = std::min(mbufs.size(), out.size());
    for (; count < most; ++count) {
      const rte_mbuf& mbuf = *mbufs[count];
      RawFrame& frame = out[count];
      frame.original_length = mbuf.pkt_len;
      frame.link_type = LinkType::kEthernet;
      frame.settled_tap = RawFrame::kNotSettled;
      if (mbuf.nb_segs == 1) [[likely]] {
        frame.bytes = {rte_pktmbuf_mtod(&mbuf, const uint8_t*), mbuf.data_len};
        continue;
      }
      const uint32_t length = std::min<uint32_t>(mbuf.pkt_len, kScratch);
      if (used + length > kScratch) break;  // the first always has room
      const auto* bytes =
          static_cast<const uint8_t*>(rte_pktmbuf_read(&mbuf, 0, length, &scratch_[used]));
      frame.bytes = {bytes, bytes == nullptr ? 0 : length};
      used += length;
      ++linearised_;
    }
    return count;
  }

  uint64_t linearised() const { return linearised_; }

 private:
  static constexpr size_t kScratch = kMaxCapturedLength;

  std::unique_ptr<uint8_t[]> scratch_;
  uint64_t linearised_ = 0;
};

}  // namespace rocescope
