// SPDX-License-Identifier: BSD-3-Clause
// Accepts TCP connections for gRPC. The listener of gRPC 1.51 ends for good when an accept fails,
// for example because all file descriptors are in use.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>

#include "appliance/common/config/listen_address.h"
#include "base/result.h"

namespace rocescope {

class Acceptor {
 public:
  // Takes ownership of a connected, non-blocking socket.
  using Take = std::function<void(int socket)>;

  // Binds and listens. Connections wait in the kernel until Start. `refused` counts connections
  // that are closed at once because few file descriptors are left; it must outlive the acceptor.
  // The message of the error is that of the operating system.
  static Result<std::unique_ptr<Acceptor>> Listen(const ListenAddress& where,
                                                  std::atomic<uint64_t>& refused);
  ~Acceptor();

  // Passes connections to `take` on a thread of its own, until Stop. Call it once.
  void Start(Take take);
  // May be called repeatedly.
  void Stop();

  // The address, with the port that the kernel chose.
  const ListenAddress& where() const;

 private:
  struct Parts;
  explicit Acceptor(std::unique_ptr<Parts> parts);

  std::unique_ptr<Parts> parts_;
};

// How many file descriptors of `limit` are not used for connections of gRPC, so that HTTP, files
// and sources still work when clients open as many connections as they can.
uint64_t ReservedDescriptors(uint64_t limit);

}  // namespace rocescope
