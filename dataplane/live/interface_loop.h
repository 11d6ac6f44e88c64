// SPDX-License-Identifier: BSD-3-Clause
// The loop of a thread that receives frames from a kernel network interface and makes records of
// them.
#pragma once

#include <atomic>
#include <memory>
#include <string>

#include "base/result.h"
#include "dataplane/pipeline/frame_worker.h"
#include "dataplane/source/interface_receiver.h"

namespace rocescope {

class InterfaceLoop {
 public:
  struct Options {
    InterfaceReceiver::Options interface;
    FrameProcessor::Options processor;
  };

  static Result<std::unique_ptr<InterfaceLoop>> Open(const Options& options);

  // Runs until `stop` is set or the interface fails; returns the failure. Before returning it hands
  // over all records and waits for the reader, which must therefore take records until Run has
  // returned.
  Status Run(const std::atomic<bool>& stop);

  const FrameWorker& worker() const { return worker_; }
  FrameWorker& worker() { return worker_; }
  const std::string& name() const { return receiver_->name(); }

 private:
  InterfaceLoop(std::unique_ptr<InterfaceReceiver> receiver, const Options& options);

  std::unique_ptr<InterfaceReceiver> receiver_;
  FrameWorker worker_;
};

}  // namespace rocescope
