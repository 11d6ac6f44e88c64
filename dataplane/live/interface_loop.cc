// SPDX-License-Identifier: BSD-3-Clause
#include "dataplane/live/interface_loop.h"

#include <utility>

#include "dataplane/live/pace.h"
#include "dataplane/source/wall_clock.h"

namespace rocescope {

Result<std::unique_ptr<InterfaceLoop>> InterfaceLoop::Open(const Options& options) {
  auto receiver = InterfaceReceiver::Open(options.interface);
  if (!receiver) return tl::unexpected(receiver.error());
  return std::unique_ptr<InterfaceLoop>(new InterfaceLoop(*std::move(receiver), options));
}

InterfaceLoop::InterfaceLoop(std::unique_ptr<InterfaceReceiver> receiver, const Options& options)
    : receiver_(std::move(receiver)),
      worker_({.processor = options.processor, .our_clock = true}) {}

Status InterfaceLoop::Run(const std::atomic<bool>& stop) {
  Pace pace;
  Status ended;
  while (!stop.load(std::memory_order_relaxed)) {
    const Result<std::span<const RawFrame>> frames = receiver_->Receive(kLongestWait);
    if (!frames) {
      ended = tl::unexpected(frames.error());
      break;
    }
    if (!frames->empty()) {
      worker_.CountArrived(*frames);
      worker_.Process(*frames);
    }
    if (pace.IsDue()) {
      worker_.SetMissed(receiver_->Missed());
      worker_.RunHousekeeping(WallClock());
    }
  }
  worker_.SetMissed(receiver_->Missed());
  worker_.Finish();
  return ended;
}

}  // namespace rocescope
