// SPDX-License-Identifier: BSD-3-Clause
// Frames from an interface of the kernel, through libpcap.
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
    std::string filter;   // libpcap's language; empty: everything
    uint32_t snap = 256;  // octets taken of a frame
    bool promiscuous = true;
    uint64_t buffer = uint64_t{64} << 20;  // octets in the kernel, at most 2 GiB
    uint16_t tap = 0;
  };
  static constexpr size_t kBatch = 256;  // frames at a time

  // The error names the interface, what is wrong with it, and what to do: it is not there, may not
  // be captured from, has a link layer that is not decoded; or what is wrong with the filter.
  static Result<std::unique_ptr<InterfaceReceiver>> Open(const Options& options);
  ~InterfaceReceiver();

  // Waits for frames, so long at most, and returns some of them, which stay until the next call;
  // none if none came. The error: the interface is gone, or went down for good.
  Result<std::span<const RawFrame>> Receive(std::chrono::milliseconds wait);

  // That the kernel, or the interface itself, had no room for.
  uint64_t Missed();

  const std::string& name() const;

 private:
  struct Handle;
  explicit InterfaceReceiver(std::unique_ptr<Handle> handle);

  std::unique_ptr<Handle> handle_;
};

}  // namespace rocescope
