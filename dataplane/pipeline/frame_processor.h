// SPDX-License-Identifier: BSD-3-Clause
// A frame's way from a source to records: decode, filter, name the tap, account. A replay and a
// live port run this same code; one object a core, no locks.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "dataplane/decode/frame.h"
#include "dataplane/flow/flow_table.h"
#include "dataplane/pipeline/tap_table.h"
#include "dataplane/record/ledger.h"
#include "dataplane/record/record.h"
#include "dataplane/source/filter.h"
#include "dataplane/telemetry/telemetry_reader.h"

namespace rocescope {

class FrameProcessor {
 public:
  struct Options {
    FlowTable::Options flow_table;
    FrameFilter filter;       // hosts and QPs; times are the source's matter
    bool check_icrc = false;  // costs a pass over every octet
    TelemetryPorts ports;
    std::vector<std::string> captures;  // names of the taps that RawFrame::tap counts
    std::shared_ptr<TapRegistry> taps;  // of cores that work together, in place of `captures`
  };

  struct Counters {
    Ledger ledger;
    uint64_t roce_frames = 0;
    uint64_t pause_frames = 0;  // PAUSE and PFC
    uint64_t int_frames = 0;    // of INT reports
    uint64_t sflow_frames = 0;
    uint64_t cut_frames = 0;  // decoded, though the capture or the switch cut them
    uint32_t cut_at = 0;      // captured octets of the longest of them
    uint64_t icrc_valid = 0;
    uint64_t icrc_invalid = 0;
    uint64_t wire_bytes = 0;      // of decoded frames
    Timestamp first;              // capture times of the decoded frames: earliest and latest,
    Timestamp last;               // the epoch if there are none
    TelemetryCounters telemetry;  // what was in those frames

    // Those of another core, or of another port.
    Counters& operator+=(const Counters& other);
  };

  explicit FrameProcessor(Options options);

  // Takes frames in order; appends the records that fall due.
  void Process(std::span<const RawFrame> frames, RecordBatch& out);

  // Datagrams that came by sockets of ours: RawFrames of what UDP carried, without headers, all of
  // this kind, which IsTelemetry. Each counts as a frame; what is no
  // such datagram is dropped.
  void ProcessDatagrams(FrameKind kind, std::span<const RawFrame> datagrams, RecordBatch& out);

  // Frames that the source's time filter left out.
  void CountFiltered(uint64_t frames) {
    counters_.ledger.received += frames;
    counters_.ledger.filtered += frames;
  }

  // Frames that were received here and given up before anything looked at them.
  void CountDropped(DropReason reason, uint64_t frames) {
    counters_.ledger.received += frames;
    counters_.ledger.dropped[static_cast<size_t>(reason)] += frames;
  }

  // See FlowTable.
  void Advance(Timestamp now, RecordBatch& out) { flows_.Advance(now, out); }
  void Flush(RecordBatch& out) { flows_.Flush(out); }

  const Counters& counters() const { return counters_; }
  const FlowTable& flows() const { return flows_; }
  const TapTable& taps() const { return taps_; }
  const TelemetryReader& telemetry() const { return telemetry_; }

 private:
  // Two groups are under way at a time: few enough frames to stay in the first-level cache, enough
  // for memory to answer meanwhile.
  static constexpr size_t kGroup = 8;

  struct Slot {
    RocePacket packet;
    FlowTable::Place place;
    TapTable::Resolution sighted;
    const RawFrame* raw;
  };
  struct Group {
    std::array<Slot, kGroup> slots;
    size_t count = 0;
  };

  // What a call of Process counts, kept at hand until its end.
  struct Tally {
    uint64_t decoded = 0;
    uint64_t wire_bytes = 0;
    uint64_t cut_frames = 0;
    uint32_t cut_at = 0;
    Timestamp first = Timestamp::max();
    Timestamp last = Timestamp::min();
  };

  [[gnu::always_inline]] inline bool Read(const RawFrame& raw, Slot& slot, Tally& tally);
  [[gnu::always_inline]] static inline void Count(const RawFrame& raw, const RocePacket& packet,
                                                  Tally& tally);
  void Add(const Tally& tally);
  bool Walk(const RawFrame& raw, RocePacket& packet);
  bool TakeWalked(const RawFrame& raw, TapId tap);
  void Account(const Group& group, RecordBatch& out);
  void NoteManagement(const Slot& slot, RecordBatch& out);

  const Options options_;
  const bool walks_always_;
  FlowTable flows_;
  TapTable taps_;
  TelemetryReader telemetry_;
  RecordBatch* out_ = nullptr;  // of the call of Process at hand
  Counters counters_;
  ErspanMark mark_;       // of the frame at hand
  DecodedFrame frame_{};  // the last one that took the long walk
  std::array<Group, 2> groups_;
};

}  // namespace rocescope
