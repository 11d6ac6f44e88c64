// SPDX-License-Identifier: BSD-3-Clause
#include "dataplane/live/udp_loop.h"

#include <array>
#include <utility>

#include "dataplane/live/pace.h"
#include "dataplane/source/wall_clock.h"

namespace rocescope {

Result<std::unique_ptr<UdpLoop>> UdpLoop::Open(const Options& options) {
  std::vector<UdpAddress> addresses = options.int_reports;
  addresses.insert(addresses.end(), options.sflow.begin(), options.sflow.end());
  auto receiver = UdpReceiver::Open({.addresses = addresses, .buffer = options.buffer});
  if (!receiver) return tl::unexpected(receiver.error());
  return std::unique_ptr<UdpLoop>(new UdpLoop(*std::move(receiver), options));
}

UdpLoop::UdpLoop(std::unique_ptr<UdpReceiver> receiver, const Options& options)
    : receiver_(std::move(receiver)),
      int_sockets_(options.int_reports.size()),
      first_tap_(options.first_tap),
      worker_({.processor = options.processor, .our_clock = true}) {}

void UdpLoop::Run(const std::atomic<bool>& stop) {
  Pace pace;
  while (!stop.load(std::memory_order_relaxed)) {
    Take(kLongestWait);
    if (pace.IsDue()) {
      worker_.SetMissed(receiver_->missed());
      worker_.RunHousekeeping(WallClock());
    }
  }
  // The limit ensures that the loop stops although datagrams keep arriving.
  for (size_t batches = receiver_->sockets() * 1024; batches > 0; --batches) {
    if (!Take(std::chrono::milliseconds(0))) break;
  }
  worker_.SetMissed(receiver_->missed());
  worker_.Finish();
}

bool UdpLoop::Take(std::chrono::milliseconds wait) {
  const std::span<RawFrame> datagrams = receiver_->Receive(wait);
  if (datagrams.empty()) return false;
  const FrameKind kind =
      datagrams.front().tap < int_sockets_ ? FrameKind::kIntReport : FrameKind::kSflow;
  for (RawFrame& datagram : datagrams) {
    datagram.tap = static_cast<uint16_t>(datagram.tap + first_tap_);
  }
  worker_.CountArrived(datagrams);
  worker_.ProcessDatagrams(kind, datagrams, receiver_->sources());
  return true;
}

}  // namespace rocescope
