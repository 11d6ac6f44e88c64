// SPDX-License-Identifier: BSD-3-Clause
// The loop of a thread that receives INT reports and sFlow from UDP sockets and makes records of
// them.
#pragma once

#include <atomic>
#include <memory>
#include <vector>

#include "base/result.h"
#include "dataplane/pipeline/frame_worker.h"
#include "dataplane/source/udp_receiver.h"

namespace rocescope {

class UdpLoop {
 public:
  struct Options {
    std::vector<UdpAddress> int_reports;
    std::vector<UdpAddress> sflow;
    uint64_t buffer = uint64_t{16} << 20;  // receive buffer of each socket in bytes
    FrameProcessor::Options processor;
    // Number of the first socket's tap; sockets of INT reports are numbered before those of sFlow.
    uint16_t first_tap = 0;
  };

  static Result<std::unique_ptr<UdpLoop>> Open(const Options& options);

  // Runs until `stop` is set, then processes the datagrams that have already arrived and hands over
  // all records. It waits for the reader, which must therefore take records until Run has returned.
  void Run(const std::atomic<bool>& stop);

  const FrameWorker& worker() const { return worker_; }
  FrameWorker& worker() { return worker_; }
  const UdpReceiver& receiver() const { return *receiver_; }

 private:
  UdpLoop(std::unique_ptr<UdpReceiver> receiver, const Options& options);
  bool Take(std::chrono::milliseconds wait);

  std::unique_ptr<UdpReceiver> receiver_;
  const size_t int_sockets_;
  const uint16_t first_tap_;
  FrameWorker worker_;
};

}  // namespace rocescope
