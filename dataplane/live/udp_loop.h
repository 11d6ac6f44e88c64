// SPDX-License-Identifier: BSD-3-Clause
// A thread's work: INT reports and sFlow from UDP sockets into records.
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
    uint64_t buffer = uint64_t{16} << 20;  // of each socket, in the kernel
    FrameProcessor::Options processor;
    uint16_t first_tap = 0;  // the sockets', those of INT reports first, are numbered from here on
  };

  static Result<std::unique_ptr<UdpLoop>> Open(const Options& options);

  // Until `stop` is set; then takes what has arrived, and hands over all records, for which it
  // waits: the reader must go on until Run has returned.
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
