// SPDX-License-Identifier: BSD-3-Clause
// Processes frames into records: decode, filter, determine the tap, account. Replay and live ports
// run this code. One object per core, no locks.
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
    FrameFilter filter;       // hosts and QPs; the source filters by time
    bool check_icrc = false;  // reads every byte of the frame
    TelemetryPorts ports;
    std::shared_ptr<const SenderCheck> telemetry_senders;  // null: any sender is accepted
    std::vector<std::string> captures;  // names of the taps, indexed by RawFrame::tap
    std::shared_ptr<TapRegistry> taps;  // shared by cores that work together; replaces `captures`
  };

  struct Counters {
    Ledger ledger;
    uint64_t roce_frames = 0;
    uint64_t pause_frames = 0;  // PAUSE and PFC
    uint64_t int_frames = 0;    // frames with INT reports
    uint64_t sflow_frames = 0;
    uint64_t cut_frames = 0;  // decoded although the capture or the switch truncated them
    uint32_t cut_at = 0;      // captured bytes of the longest truncated frame
    uint64_t icrc_valid = 0;
    uint64_t icrc_invalid = 0;
    uint64_t wire_bytes = 0;  // sum over decoded frames
    Timestamp first;          // capture time of the earliest decoded frame
    // Capture time of the latest decoded frame; both are the epoch if there are none.
    Timestamp last;
    TelemetryCounters telemetry;  // content of the telemetry frames

    // Adds the counters of another core or port.
    Counters& operator+=(const Counters& other);
  };

  explicit FrameProcessor(Options options);

  // Processes frames in order and appends the records that become due.
  void Process(std::span<const RawFrame> frames, RecordBatch& out);

  // Processes datagrams from UDP sockets: RawFrames that hold the UDP payload without headers, and
  // the source address of each. All have the given kind, which must satisfy IsTelemetry. Each
  // counts as a frame; invalid datagrams are dropped.
  void ProcessDatagrams(FrameKind kind, std::span<const RawFrame> datagrams,
                        std::span<const IpAddress> sources, RecordBatch& out);

  // Counts frames that the source's time filter excluded.
  void CountFiltered(uint64_t frames) {
    counters_.ledger.received += frames;
    counters_.ledger.filtered += frames;
  }

  // Counts frames that were received here and dropped before they were decoded.
  void CountDropped(DropReason reason, uint64_t frames) {
    counters_.ledger.received += frames;
    counters_.ledger.dropped[static_cast<size_t>(reason)] += frames;
  }

  // See FlowTable::Advance.
  void Advance(Timestamp now, RecordBatch& out) { flows_.Advance(now, out); }
  void Flush(RecordBatch& out) { flows_.Flush(out); }

  const Counters& counters() const { return counters_; }
  const FlowTable& flows() const { return flows_; }
  const TapTable& taps() const { return taps_; }
  const TelemetryReader& telemetry() const { return telemetry_; }

 private:
  // Two groups are processed at a time: few enough frames to stay in the L1 cache, enough to hide
  // memory latency.
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

  // Counters of one call of Process, kept locally until its end.
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
  RecordBatch* out_ = nullptr;  // output of the current call of Process
  Counters counters_;
  ErspanMark mark_;       // mark of the current frame
  DecodedFrame frame_{};  // the last frame that took the general decoding path
  std::array<Group, 2> groups_;
};

}  // namespace rocescope
