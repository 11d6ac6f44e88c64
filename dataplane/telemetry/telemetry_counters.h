// SPDX-License-Identifier: BSD-3-Clause
// Counters of INT reports, datagrams and samples.
#pragma once

#include <cstdint>
#include <vector>

#include "base/address.h"
#include "dataplane/record/ledger.h"
#include "dataplane/record/record.h"

namespace rocescope {

struct TelemetryCounters {
  Ledger int_reports;
  Ledger sflow_datagrams;
  Ledger samples;              // sFlow samples: flow, counter and discarded packet samples
  uint64_t int_datagrams = 0;  // each contains one or more reports
  uint64_t int_stacks = 0;     // RoCE packets that carried INT metadata
  uint64_t hop_records = 0;
  uint64_t sample_records = 0;
  uint64_t counter_records = 0;
  uint64_t packets_unknown = 0;  // reports and samples whose packet is not RoCE
  uint64_t records_skipped = 0;  // records inside samples that rocescope does not read
  // Datagrams of senders whose losses are not tracked because there are too many senders.
  uint64_t untracked = 0;

  TelemetryCounters& operator+=(const TelemetryCounters& other) {
    int_reports += other.int_reports;
    sflow_datagrams += other.sflow_datagrams;
    samples += other.samples;
    int_datagrams += other.int_datagrams;
    int_stacks += other.int_stacks;
    hop_records += other.hop_records;
    sample_records += other.sample_records;
    counter_records += other.counter_records;
    packets_unknown += other.packets_unknown;
    records_skipped += other.records_skipped;
    untracked += other.untracked;
    return *this;
  }
};

// A sender of telemetry at a capture or port, and what was lost on the way from it.
struct TelemetrySource {
  bool is_sflow = false;
  TapId tap = 0;
  uint32_t node_id = 0;     // INT only
  uint8_t hardware_id = 0;  // INT only
  IpAddress agent;          // sFlow only
  uint32_t sub_agent = 0;   // sFlow only
  uint64_t datagrams = 0;
  // Lost datagrams according to gaps in their numbers, less those that arrived late.
  uint64_t lost = 0;
  uint64_t repeats = 0;  // datagrams with the same number as the one before
  // With a resolution of about one second, by the receiver's clock (FrameWorker::LastSenders).
  Timestamp last_received{};
};

// A sender whose INT reports or sFlow datagrams were refused (sender_check.h).
struct RefusedSender {
  bool is_sflow = false;
  IpAddress source;      // address in the IP header
  uint32_t node_id = 0;  // INT only
  IpAddress agent;       // sFlow only
  uint64_t datagrams = 0;
  Timestamp last_received{};  // as in TelemetrySource
};

}  // namespace rocescope
