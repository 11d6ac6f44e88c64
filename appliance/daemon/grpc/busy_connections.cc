// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/daemon/grpc/busy_connections.h"

#include <arpa/inet.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstddef>
#include <functional>
#include <optional>
#include <utility>

namespace rocescope {
namespace {

constexpr int kMaxDescriptors = 65'536;  // the limit of open files that the appliance sets

std::optional<uint16_t> LocalPort(int socket) {
  sockaddr_storage address{};
  socklen_t length = sizeof address;
  if (getsockname(socket, reinterpret_cast<sockaddr*>(&address), &length) != 0) return {};
  if (address.ss_family == AF_INET) {
    return ntohs(reinterpret_cast<const sockaddr_in*>(&address)->sin_port);
  }
  if (address.ss_family == AF_INET6) {
    return ntohs(reinterpret_cast<const sockaddr_in6*>(&address)->sin6_port);
  }
  return {};
}

// Empty for sockets that are not connected.
std::optional<uint64_t> BytesReceived(int socket) {
  tcp_info info{};
  socklen_t length = sizeof info;
  if (getsockopt(socket, IPPROTO_TCP, TCP_INFO, &info, &length) != 0) return {};
  constexpr uint8_t kListening = 10;  // TCP_LISTEN of the kernel
  if (info.tcpi_state == kListening ||
      length < offsetof(tcp_info, tcpi_bytes_received) + sizeof info.tcpi_bytes_received) {
    return {};
  }
  return info.tcpi_bytes_received;
}

}  // namespace

std::map<int, uint64_t> BusyConnections::Received() const {
  std::map<int, uint64_t> received;
  rlimit limit{};
  getrlimit(RLIMIT_NOFILE, &limit);
  const int end = static_cast<int>(std::min<rlim_t>(limit.rlim_cur, kMaxDescriptors));
  for (int socket = 0; socket < end; ++socket) {
    const std::optional<uint16_t> port = LocalPort(socket);
    if (!port || std::ranges::find(ports_, *port) == ports_.end()) continue;
    if (const auto bytes = BytesReceived(socket)) received[socket] = *bytes;
  }
  return received;
}

void BusyConnections::Sample() { before_ = Received(); }

size_t BusyConnections::Close(uint64_t flood) {
  std::vector<std::pair<uint64_t, int>> busiest;
  for (const auto& [socket, bytes] : Received()) {
    const auto at = before_.find(socket);
    // Another connection may have the descriptor of one that was closed.
    const uint64_t old = at == before_.end() || at->second > bytes ? 0 : at->second;
    if (bytes > old) busiest.emplace_back(bytes - old, socket);
  }
  std::ranges::sort(busiest, std::greater());
  uint64_t closed_bytes = 0;
  size_t closed = 0;
  for (const auto& [bytes, socket] : busiest) {
    if (2 * closed_bytes >= flood) break;
    const std::optional<uint16_t> port = LocalPort(socket);  // it may have been closed since
    if (!port || std::ranges::find(ports_, *port) == ports_.end()) continue;
    if (shutdown(socket, SHUT_RDWR) != 0) continue;
    closed_bytes += bytes;
    ++closed;
  }
  return closed;
}

}  // namespace rocescope
