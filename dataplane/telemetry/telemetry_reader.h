// SPDX-License-Identifier: BSD-3-Clause
// From datagrams of INT reports and of sFlow to records. One object a core, no locks. Where the
// capture cut a datagram, what lies in front of the cut is still taken.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <tuple>
#include <vector>

#include "dataplane/decode/decode.h"
#include "dataplane/record/record.h"
#include "dataplane/source/filter.h"
#include "dataplane/telemetry/sequence_follower.h"
#include "dataplane/telemetry/telemetry_counters.h"
#include "dataplane/wire/int_report.h"
#include "dataplane/wire/sflow.h"

namespace rocescope {

class TelemetryReader {
 public:
  struct Options {
    FrameFilter filter;  // hosts and QPs, of the packets that are told about
    TelemetryPorts ports;
  };
  // Senders whose sequence numbers are followed; strangers could pretend to be more.
  static constexpr size_t kMaximumSources = 4096;

  explicit TelemetryReader(Options options);

  // A frame whose kind IsTelemetry. Why it could not be read: not even its beginning, or nothing
  // that INT reports in it; kNone: it was.
  DropReason Take(const DecodedFrame& frame, TapId tap, Timestamp arrival, RecordBatch& out);

  // A RoCE frame that has an int_stack.
  void TakeStack(const DecodedFrame& frame, TapId tap, Timestamp arrival, RecordBatch& out);

  const TelemetryCounters& counters() const { return counters_; }
  // By kind, tap and number or address.
  std::vector<TelemetrySource> Sources() const;

 private:
  // What the parts of one datagram have in common.
  struct Datagram {
    TapId tap;
    Timestamp arrival;
    bool cut;  // the capture ended before it did
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

  // Decodes the front of a packet that a report or sample holds; false if it is no RoCE.
  bool ReadPacket(LinkType link_type, std::span<const uint8_t> bytes, TelemetryPacket& packet);
  bool Filters(const TelemetryPacket& packet) const;
  void Follow(SequenceFollower* follower, uint32_t sequence, uint32_t mask);

  using SflowKey = std::tuple<TapId, IpAddress, uint32_t>;
  template <typename Key>
  SequenceFollower* FollowerOf(std::map<Key, SequenceFollower>& followers, const Key& key);

  Options options_;
  bool chooses_;  // by host or queue pair
  TelemetryCounters counters_;
  DecodedFrame packet_{};  // inside the report or sample at hand
  using IntKey = std::tuple<TapId, uint32_t, uint8_t>;
  std::map<IntKey, SequenceFollower> int_followers_;
  std::map<SflowKey, SequenceFollower> sflow_followers_;
};

}  // namespace rocescope
