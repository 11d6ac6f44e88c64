// SPDX-License-Identifier: BSD-3-Clause
// Builds an sFlow datagram. The numbers of samples and records and all lengths follow from what is
// added.
//
//   SflowWriter writer(buffer, {.agent = agent, .sequence = 7});
//   writer.BeginSample(kSflowFlowSample, SflowFlowSample{.sequence = 1, .sampling_rate = 4096});
//   writer.AddRecord(kSflowSampledHeader,
//                    SflowSampledHeader{.frame_length = 1514, .bytes = first_bytes_of_packet});
//   send(writer.Finish());
#pragma once

#include <cstdint>
#include <span>

#include "dataplane/wire/sflow.h"
#include "dataplane/wire/writer.h"

namespace rocescope::wire {

class SflowWriter {
 public:
  // `room` must outlive the writer. The writer sets header.samples.
  constexpr SflowWriter(std::span<uint8_t> room, const SflowDatagramHeader& header)
      : room_(room), out_(room) {
    Write(out_, header);
    samples_at_ = out_.offset() - 4;
  }

  // Begins a sample. `Sample` must be the struct in sflow.h that fits the tag. The writer sets its
  // number of records.
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

  // Adds a record to the current sample. `Record` must be the struct in sflow_*_record.h that fits
  // the tag.
  template <typename Record>
  constexpr void AddRecord(uint32_t tag, const Record& record) {
    Write(out_, SflowBlock{.tag = tag});
    const size_t begin = out_.offset();
    Write(out_, record);
    out_.PatchU32(begin - 4, static_cast<uint32_t>(out_.offset() - begin));
    ++records_;
  }

  // Bytes written so far, to begin a new datagram before this one gets too long.
  constexpr size_t size() const { return out_.offset(); }

  // Returns the datagram, or nothing if `room` was too small.
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
  size_t sample_begin_ = 0;  // 0: no sample is open
  size_t records_at_ = 0;
  uint32_t samples_ = 0;
  uint32_t records_ = 0;
};

}  // namespace rocescope::wire
