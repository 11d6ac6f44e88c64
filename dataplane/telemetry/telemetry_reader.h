// SPDX-License-Identifier: BSD-3-Clause
// Makes records of INT report and sFlow datagrams. One object per core, no locks. If the capture
// truncated a datagram, the part before the cut is used.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <tuple>
#include <vector>

#include "dataplane/decode/decode.h"
#include "dataplane/record/record.h"
#include "dataplane/source/filter.h"
#include "dataplane/telemetry/sender_check.h"
#include "dataplane/telemetry/sequence_follower.h"
#include "dataplane/telemetry/telemetry_counters.h"
#include "dataplane/wire/int_report.h"
#include "dataplane/wire/sflow.h"

namespace rocescope {

class TelemetryReader {
 public:
  struct Options {
    FrameFilter filter;  // hosts and QPs of the reported packets
    TelemetryPorts ports;
    // Null: any sender is accepted.
    std::shared_ptr<const SenderCheck> senders;
  };
  // Maximum number of senders whose sequence numbers are tracked. The limit protects against
  // spoofed senders.
  static constexpr size_t kMaximumSources = 4096;
  // Maximum number of refused senders that are listed.
  static constexpr size_t kMaximumRefused = 64;

  explicit TelemetryReader(Options options);

  // Takes a frame for which IsTelemetry(kind). Returns kNone, or the drop reason if not even the
  // beginning was readable or if no INT report in it was.
  DropReason Take(const DecodedFrame& frame, TapId tap, Timestamp arrival, RecordBatch& out);

  // Takes a RoCE frame that has an int_stack.
  void TakeStack(const DecodedFrame& frame, TapId tap, Timestamp arrival, RecordBatch& out);

  const TelemetryCounters& counters() const { return counters_; }
  // Sorted by kind, tap, and number or address.
  std::vector<TelemetrySource> Sources() const;
  // Refused senders, in ascending order: those with the most datagrams if there are too many.
  std::vector<RefusedSender> Refused() const;

 private:
  // What the parts of one datagram have in common.
  struct Datagram {
    TapId tap;
    Timestamp arrival;
    IpAddress source;
    bool cut;  // the capture ended before the datagram did
    RecordBatch& out;
  };

  DropReason TakeIntReports(std::span<const uint8_t> bytes, const Datagram& datagram);
  DropReason TakeReport(const wire::IntReportGroupHeader& group, wire::ByteReader& in,
                        const Datagram& datagram, bool& filtered);
  uint8_t AddStack(std::span<const uint8_t> stack, const HopRecord& like, uint8_t more,
                   const Datagram& datagram);
  void AddHop(HopRecord hop, const Datagram& datagram);

  DropReason TakeSflow(std::span<const uint8_t> bytes, const Datagram& datagram);
  DropReason WalkSflow(std::span<const uint8_t> bytes, const Datagram& datagram);
  DropReason TakeSample(uint32_t tag, std::span<const uint8_t> body, SampleRecord& sample,
                        const Datagram& datagram, bool& filtered);
  bool ReadFlowRecords(wire::ByteReader& in, uint32_t records, SampleRecord& sample);
  void TakeHeader(std::span<const uint8_t> body, SampleRecord& sample);
  DropReason TakeCounters(wire::ByteReader& in, uint32_t records, const wire::SflowSource& source,
                          const SampleRecord& sample, const Datagram& datagram);

  // Decodes the front of a packet inside a report or sample. Returns false if it is not RoCE.
  bool ReadPacket(LinkType link_type, std::span<const uint8_t> bytes, TelemetryPacket& packet);
  bool Filters(const TelemetryPacket& packet) const;
  // Return kNone or kUnknownSender.
  DropReason CheckInt(uint32_t node_id, const Datagram& datagram);
  DropReason CheckSflow(const IpAddress& agent, const Datagram& datagram);
  DropReason Refuse(bool is_sflow, uint32_t node_id, const IpAddress& agent,
                    const IpAddress& source);
  void Follow(SequenceFollower* follower, uint32_t sequence, uint32_t mask);

  using SflowKey = std::tuple<TapId, IpAddress, uint32_t>;
  template <typename Key>
  SequenceFollower* FollowerOf(std::map<Key, SequenceFollower>& followers, const Key& key);

  Options options_;
  bool chooses_;  // the filter has hosts or queue pairs
  TelemetryCounters counters_;
  DecodedFrame packet_{};  // the packet inside the current report or sample
  using IntKey = std::tuple<TapId, uint32_t, uint8_t>;
  std::map<IntKey, SequenceFollower> int_followers_;
  std::map<SflowKey, SequenceFollower> sflow_followers_;
  // Kind, node ID, agent and source, with the number of refused datagrams.
  std::map<std::tuple<bool, uint32_t, IpAddress, IpAddress>, uint64_t> refused_;
};

}  // namespace rocescope
