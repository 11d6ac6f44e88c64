// SPDX-License-Identifier: BSD-3-Clause
// An endless sequence of frames as the mirrors of a large fabric (that of EngineLoad) send them:
// interleaved connections with messages of WRITEs and their ACKs, in sequence. Some NICs are
// overloaded: their packets are CE-marked, and their leaves report the queue with INT.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "tests/perf/engine_load.h"

namespace rocescope::perf {

class MirrorTraffic {
 public:
  static constexpr size_t kLongest = 192;  // bytes of a frame

  // `churn` connections per second are replaced by connections with other queue pairs, job by job.
  MirrorTraffic(const EngineLoad& load, double churn);

  // Writes the next frame at `now_ns` (the switch clocks) and returns its length.
  size_t Next(int64_t now_ns, uint8_t* frame);

 private:
  enum Kind : uint8_t { kFirst, kMiddle, kLast, kAcknowledge, kKinds };
  static constexpr uint32_t kMessage = 16;   // packets per message
  static constexpr uint32_t kTogether = 32;  // interleaved connections

  struct Template {
    uint8_t length = 0;
    std::array<uint8_t, kLongest> bytes{};
  };
  struct Connection {
    std::array<Template, kKinds> frames;
    uint32_t psn = 0;
    uint32_t message_sequence = 0;
    uint32_t generation = 0;
    bool marked = false;
    uint32_t session = 0;  // index into sequences_
  };

  void Make(uint32_t index);
  size_t WriteReport(uint32_t index, int64_t now_ns, uint8_t* frame);
  void Replace(int64_t now_ns);

  const EngineLoad& load_;
  double churn_;
  std::vector<Connection> connections_;
  std::vector<uint32_t> sequences_;  // by switch mirror
  std::vector<uint32_t> report_sequences_;
  std::optional<uint32_t> report_of_;  // connection of the previous packet
  uint32_t group_ = 0;                 // its first connection
  uint32_t in_group_ = 0;
  uint32_t packet_ = 0;  // index in the message; kMessage: its ACK
  int64_t began_ns_ = 0;
  uint64_t replaced_ = 0;
};

}  // namespace rocescope::perf
