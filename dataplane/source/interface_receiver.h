// SPDX-License-Identifier: BSD-3-Clause
// Receives frames from a kernel network interface through libpcap.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "base/result.h"
#include "dataplane/decode/frame.h"

namespace rocescope {

class InterfaceReceiver {
 public:
  struct Options {
    std::string interface;
    std::string filter;   // a pcap filter expression; empty: all frames
    uint32_t snap = 256;  // bytes captured of each frame
    bool promiscuous = true;
    // Size of the kernel's receive buffer in bytes, at most 2 GiB.
    uint64_t buffer = uint64_t{64} << 20;
    uint16_t tap = 0;
  };
  static constexpr size_t kBatch = 256;  // frames per call

  // The error names the interface, the cause and what to do. Causes: the interface does not exist,
  // capturing is not permitted, the link layer is not supported, or the filter is invalid.
  static Result<std::unique_ptr<InterfaceReceiver>> Open(const Options& options);
  ~InterfaceReceiver();

  // Waits at most `wait` for frames and returns those that arrived, or none. They are valid until
  // the next call. Returns an error if the interface disappeared or went down for good.
  Result<std::span<const RawFrame>> Receive(std::chrono::milliseconds wait);

  // Frames that the kernel or the interface dropped because its buffer was full.
  uint64_t Missed();

  const std::string& name() const;

 private:
  struct Handle;
  explicit InterfaceReceiver(std::unique_ptr<Handle> handle);

  std::unique_ptr<Handle> handle_;
};

}  // namespace rocescope
