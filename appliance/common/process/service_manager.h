// SPDX-License-Identifier: BSD-3-Clause
// What a service tells systemd by the socket that $NOTIFY_SOCKET names: sd_notify(3), whose
// protocol is a datagram of lines and is stable.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

namespace rocescope {

class ServiceManager {
 public:
  // As the environment says; it is read once. Without a manager all calls do nothing.
  static ServiceManager OfEnvironment();
  // `socket` as $NOTIFY_SOCKET has it: a path, or @name of an abstract one; empty: no manager.
  ServiceManager(std::string socket, std::optional<std::chrono::microseconds> watchdog);

  void Ready(std::string_view status);
  void Reloading();  // Ready ends it
  void Stopping();
  void FeedWatchdog();

  // The manager ends a service that has not fed it for so long; unset: it does not look.
  std::optional<std::chrono::microseconds> watchdog() const { return watchdog_; }

 private:
  // Lost where the manager does not listen: it is told again, or has gone.
  void Send(std::string_view text);

  std::string socket_;
  std::optional<std::chrono::microseconds> watchdog_;
};

}  // namespace rocescope
