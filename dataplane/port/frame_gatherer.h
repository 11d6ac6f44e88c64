// SPDX-License-Identifier: BSD-3-Clause
// Mbufs as the dataplane's frames: a view of the first segment, or a copy where there are several.
// The copy is of the whole frame: whether a packet was cut, and with it the ledger, the report and
// the iCRC, goes by its last octet.
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

  // Enough for the headers of any frame that networks have: three tunnels and their options.
  static constexpr size_t kHeaders = 1024;

  // Makes frames of as many of `mbufs` as `out` takes; returns how many. Of frames in several
  // pieces they have the first kHeaders octets alone, until Complete. They live as long as the
  // mbufs, and until the next call. Time and tap are the caller's to fill.
  size_t View(std::span<rte_mbuf* const> mbufs, std::span<RawFrame> out) {
    const size_t count = std::min({mbufs.size(), out.size(), kScratch / kHeaders});
    size_t used = 0;
    all_whole_ = true;
    for (size_t i = 0; i < count; ++i) {
      const rte_mbuf& mbuf = *mbufs[i];
      RawFrame& frame = out[i];
      frame.original_length = mbuf.pkt_len;
      frame.link_type = LinkType::kEthernet;
      frame.settled_tap = RawFrame::kUnresolved;
      frame.bytes = {rte_pktmbuf_mtod(&mbuf, const uint8_t*), mbuf.data_len};
      if (mbuf.nb_segs == 1) [[likely]]
        continue;
      all_whole_ = false;
      used += Copy(mbuf, kHeaders, used, frame);
    }
    return count;
  }

  // Gives `frames`, all or some of those that View made last, all of their octets; returns for how
  // many of the first the space for copies sufficed, at least one.
  size_t Complete(std::span<rte_mbuf* const> mbufs, std::span<RawFrame> frames) {
    if (all_whole_) [[likely]]
      return frames.size();
    size_t used = 0;
    size_t count = 0;
    for (; count < frames.size(); ++count) {
      const rte_mbuf& mbuf = *mbufs[count];
      if (mbuf.nb_segs == 1) continue;
      if (used + std::min<size_t>(mbuf.pkt_len, kScratch) > kScratch) break;
      used += Copy(mbuf, kScratch, used, frames[count]);
      ++linearised_;
    }
    return count;
  }

  // Frames of several pieces that were made whole.
  uint64_t linearised() const { return linearised_; }

 private:
  static constexpr size_t kScratch = kMaxCapturedLength;

  // At most `most` octets to `to` in the space for copies; returns how many.
  size_t Copy(const rte_mbuf& mbuf, size_t most, size_t to, RawFrame& frame) {
    const auto length = static_cast<uint32_t>(std::min<size_t>(mbuf.pkt_len, most));
    const auto* bytes =
        static_cast<const uint8_t*>(rte_pktmbuf_read(&mbuf, 0, length, &scratch_[to]));
    frame.bytes = {bytes, bytes == nullptr ? 0 : length};
    return length;
  }

  std::unique_ptr<uint8_t[]> scratch_;
  bool all_whole_ = true;
  uint64_t linearised_ = 0;
};

}  // namespace rocescope
