// SPDX-License-Identifier: BSD-3-Clause
// Where reports, datagrams and samples went.
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
  Ledger samples;              // of sFlow: flow, counter and discarded packet samples
  uint64_t int_datagrams = 0;  // each has one report or more
  uint64_t int_stacks = 0;     // RoCE packets that carried INT themselves
  uint64_t hop_records = 0;
  uint64_t sample_records = 0;
  uint64_t counter_records = 0;
  uint64_t packets_unknown = 0;  // reports and samples that tell of no RoCE packet
  uint64_t records_skipped = 0;  // records inside samples that rocescope does not read
  uint64_t untracked = 0;  // datagrams whose sender's losses are not followed: too many senders

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

// Who sent telemetry by a capture or port, and what of it got lost on the way.
struct TelemetrySource {
  bool is_sflow = false;
  TapId tap = 0;
  uint32_t node_id = 0;     // INT
  uint8_t hardware_id = 0;  // INT
  IpAddress agent;          // sFlow
  uint32_t sub_agent = 0;   // sFlow
  uint64_t datagrams = 0;
  uint64_t lost = 0;     // datagrams, by gaps in their numbers, less what came late
  uint64_t repeats = 0;  // datagrams with the same number as the one before
  // In steps of about a second, by the clock of who receives (FrameWorker::LastSenders).
  Timestamp last_received{};
};

}  // namespace rocescope
