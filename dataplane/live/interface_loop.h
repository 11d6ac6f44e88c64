// SPDX-License-Identifier: BSD-3-Clause
// A thread's work: frames from an interface of the kernel into records.
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

  // Until `stop` is set, or the interface fails, whose error that is; hands over all records, for
  // which it waits: the reader must go on until Run has returned.
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
