// SPDX-License-Identifier: BSD-3-Clause
// Puts an sFlow datagram together: the numbers of samples and records, and all lengths, follow from
// what is added.
//
//   SflowWriter writer(room, {.agent = agent, .sequence = 7});
//   writer.BeginSample(kSflowFlowSample, SflowFlowSample{.sequence = 1, .sampling_rate = 4096});
//   writer.AddRecord(kSflowSampledHeader, SflowSampledHeader{.frame_length = 1514, .octets =
//   front}); send(writer.Finish());
#pragma once

#include <cstdint>
#include <span>

#include "dataplane/wire/sflow.h"
#include "dataplane/wire/writer.h"

namespace rocescope::wire {

class SflowWriter {
 public:
  // `room` must outlive the writer; header.samples is counted here.
  constexpr SflowWriter(std::span<uint8_t> room, const SflowDatagramHeader& header)
      : room_(room), out_(room) {
    Write(out_, header);
    samples_at_ = out_.offset() - 4;
  }

  // `Sample` is one of sflow.h's that fits the tag; its number of records is counted here.
  template <typename Sample>
  constexpr void BeginSample(uint32_t tag, const Sample& sample) {
    EndSample();
    Write(out_, SflowBlock{.tag = tag});
    sample_begin_ = out_.offset();
    Write(out_, sample);
    records_at_ = out_.offset() - 4;
    records_ = 0;
    ++samples_;
  }

  // To the sample begun last; `Record` is one of sflow_*_record.h's that fits the tag.
  template <typename Record>
  constexpr void AddRecord(uint32_t tag, const Record& record) {
    Write(out_, SflowBlock{.tag = tag});
    const size_t begin = out_.offset();
    Write(out_, record);
    out_.PatchU32(begin - 4, static_cast<uint32_t>(out_.offset() - begin));
    ++records_;
  }

  // So many octets are taken; of use to begin a new datagram before one gets too long.
  constexpr size_t size() const { return out_.offset(); }

  // The datagram, or nothing if `room` was too small for it.
  constexpr std::span<const uint8_t> Finish() {
    EndSample();
    out_.PatchU32(samples_at_, samples_);
    if (!out_.ok()) return {};
    return room_.first(out_.offset());
  }

 private:
  constexpr void EndSample() {
    if (sample_begin_ == 0) return;
    out_.PatchU32(sample_begin_ - 4, static_cast<uint32_t>(out_.offset() - sample_begin_));
    out_.PatchU32(records_at_, records_);
    sample_begin_ = 0;
  }

  std::span<uint8_t> room_;
  ByteWriter out_;
  size_t samples_at_ = 0;
  size_t sample_begin_ = 0;  // 0: none is open
  size_t records_at_ = 0;
  uint32_t samples_ = 0;
  uint32_t records_ = 0;
};

}  // namespace rocescope::wire
