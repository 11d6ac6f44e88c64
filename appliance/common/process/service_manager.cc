// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/common/process/service_manager.h"

#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include <charconv>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <utility>

namespace rocescope {
namespace {

std::string Environment(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

std::optional<int64_t> NumberOf(const std::string& text) {
  int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || number <= 0) return std::nullopt;
  return number;
}

}  // namespace

ServiceManager ServiceManager::OfEnvironment() {
  std::optional<std::chrono::microseconds> watchdog;
  const std::string process = Environment("WATCHDOG_PID");
  if (process.empty() || NumberOf(process) == int64_t{getpid()}) {
    if (const auto length = NumberOf(Environment("WATCHDOG_USEC"))) watchdog.emplace(*length);
  }
  return {Environment("NOTIFY_SOCKET"), watchdog};
}

ServiceManager::ServiceManager(std::string socket,
                               std::optional<std::chrono::microseconds> watchdog)
    : socket_(std::move(socket)), watchdog_(watchdog) {}

void ServiceManager::Ready(std::string_view status) {
  Send(fmt::format("READY=1\nSTATUS={}", status));
}

void ServiceManager::Reloading() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  Send(fmt::format("RELOADING=1\nMONOTONIC_USEC={}",
                   int64_t{now.tv_sec} * 1'000'000 + now.tv_nsec / 1000));
}

void ServiceManager::Stopping() { Send("STOPPING=1"); }

void ServiceManager::FeedWatchdog() { Send("WATCHDOG=1"); }

void ServiceManager::Send(std::string_view text) {
  sockaddr_un address{};
  if (socket_.size() < 2 || socket_.size() >= sizeof address.sun_path) return;
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, socket_.data(), socket_.size());
  if (socket_.front() == '@') address.sun_path[0] = '\0';
  const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + socket_.size());
  const int sender = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (sender < 0) return;
  sendto(sender, text.data(), text.size(), MSG_NOSIGNAL, reinterpret_cast<sockaddr*>(&address),
         length);
  close(sender);
}

}  // namespace rocescope
