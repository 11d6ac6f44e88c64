// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/common/process/service_manager.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <cstring>

namespace rocescope {
namespace {

using testing::StartsWith;

// The service manager's socket, at an abstract address.
class Listener {
 public:
  Listener() : name_("@rocescope-test-" + std::to_string(getpid())) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path + 1, name_.data() + 1, name_.size() - 1);
    const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + name_.size());
    EXPECT_EQ(bind(socket_, reinterpret_cast<sockaddr*>(&address), length), 0);
  }
  ~Listener() { close(socket_); }

  const std::string& name() const { return name_; }
  std::string Next() {
    std::array<char, 1024> room;
    const ssize_t length = recv(socket_, room.data(), room.size(), MSG_DONTWAIT);
    return length < 0 ? "" : std::string(room.data(), static_cast<size_t>(length));
  }

 private:
  std::string name_;
  const int socket_ = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
};

// The messages are those of sd_notify(3).
TEST(ServiceManager, SendsSystemdNotifications) {
  Listener listener;
  ServiceManager manager(listener.name(), std::nullopt);
  manager.Ready("receives");
  EXPECT_EQ(listener.Next(), "READY=1\nSTATUS=receives");
  manager.Reloading();
  EXPECT_THAT(listener.Next(), StartsWith("RELOADING=1\nMONOTONIC_USEC="));
  manager.FeedWatchdog();
  EXPECT_EQ(listener.Next(), "WATCHDOG=1");
  manager.Stopping();
  EXPECT_EQ(listener.Next(), "STOPPING=1");
}

TEST(ServiceManager, DoesNothingWithoutAServiceManager) {
  ServiceManager("", std::nullopt).Ready("");
  ServiceManager("/nobody/listens/here", std::nullopt).Ready("");
  ServiceManager(std::string(200, 'x'), std::nullopt).Ready("");
}

TEST(ServiceManager, UsesTheWatchdogOfThisProcessOnly) {
  setenv("NOTIFY_SOCKET", "@x", 1);
  setenv("WATCHDOG_USEC", "30000000", 1);
  setenv("WATCHDOG_PID", std::to_string(getpid()).c_str(), 1);
  EXPECT_EQ(ServiceManager::OfEnvironment().watchdog(), std::chrono::seconds(30));
  setenv("WATCHDOG_PID", "1", 1);
  EXPECT_EQ(ServiceManager::OfEnvironment().watchdog(), std::nullopt);
  unsetenv("WATCHDOG_PID");
  setenv("WATCHDOG_USEC", "soon", 1);
  EXPECT_EQ(ServiceManager::OfEnvironment().watchdog(), std::nullopt);
  unsetenv("WATCHDOG_USEC");
  unsetenv("NOTIFY_SOCKET");
}

}  // namespace
}  // namespace rocescope
