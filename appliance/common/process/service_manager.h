// SPDX-License-Identifier: BSD-3-Clause
// Notifies systemd through the socket that $NOTIFY_SOCKET names (sd_notify(3), a stable protocol of
// text datagrams).
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

namespace rocescope {

class ServiceManager {
 public:
  // Reads the environment once. Without a service manager, all calls have no effect.
  static ServiceManager OfEnvironment();
  // `socket` has the format of $NOTIFY_SOCKET: a path, or @name for an abstract socket. Empty: no
  // service manager.
  ServiceManager(std::string socket, std::optional<std::chrono::microseconds> watchdog);

  void Ready(std::string_view status);
  void Reloading();  // Ready ends the reloading state
  void Stopping();
  void FeedWatchdog();

  // The service manager kills a service that does not notify it for this long. Unset: no watchdog.
  std::optional<std::chrono::microseconds> watchdog() const { return watchdog_; }

 private:
  // A datagram that the service manager does not receive is lost. The state is sent again later.
  void Send(std::string_view text);

  std::string socket_;
  std::optional<std::chrono::microseconds> watchdog_;
};

}  // namespace rocescope
