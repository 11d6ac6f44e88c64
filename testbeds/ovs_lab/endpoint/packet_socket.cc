// SPDX-License-Identifier: BSD-3-Clause
#include "testbeds/ovs_lab/endpoint/packet_socket.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <linux/filter.h>
#include <linux/if_packet.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <sstream>
#include <utility>

#include "dataplane/wire/ip.h"

namespace rocescope::endpoint {
namespace {

constexpr size_t kBatch = 64;
constexpr size_t kFrameRoom = 9216 + 64;
constexpr int kReceiveBuffer = 8 << 20;  // bytes

template <typename Option>
void TrySetOption(int socket, int level, int name, const Option& value) {
  setsockopt(socket, level, name, &value, sizeof value);
}

// Passes only UDP packets to the port of RoCEv2 (IPv4 without options or fragments is enough: NICs
// send no others). Checked again by ReadFrame.
void AttachFilter(int socket) {
  sock_filter code[] = {
      BPF_STMT(BPF_LD | BPF_B | BPF_ABS, 23),  // IPv4 protocol
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, wire::kIpProtocolUdp, 0, 4),
      BPF_STMT(BPF_LDX | BPF_B | BPF_MSH, 14),  // length of the IPv4 header
      BPF_STMT(BPF_LD | BPF_H | BPF_IND, 16),   // UDP destination port
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, wire::kUdpPortRoce, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, UINT32_MAX),
      BPF_STMT(BPF_RET | BPF_K, 0),
  };
  TrySetOption(socket, SOL_SOCKET, SO_ATTACH_FILTER,
               sock_fprog{.len = static_cast<uint16_t>(std::size(code)), .filter = code});
}

}  // namespace

Status SystemFailure(const std::string& what) {
  const int error = errno;
  const ErrorCode code =
      error == EPERM || error == EACCES ? ErrorCode::kPermissionDenied : ErrorCode::kUnavailable;
  return MakeError(code, fmt::format("{}: {}", what, std::strerror(error)));
}

Descriptor::~Descriptor() {
  if (number_ >= 0) close(number_);
}
Descriptor::Descriptor(Descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
Descriptor& Descriptor::operator=(Descriptor&& other) noexcept {
  std::swap(number_, other.number_);
  return *this;
}

PacketSocket::PacketSocket(std::string interface, Descriptor socket)
    : interface_(std::move(interface)), socket_(std::move(socket)), buffers_(kBatch * kFrameRoom) {}

Result<std::unique_ptr<PacketSocket>> PacketSocket::Open(const std::string& interface,
                                                         uint32_t ip_packet_bytes) {
  const unsigned index = interface.size() < IFNAMSIZ ? if_nametoindex(interface.c_str()) : 0;
  if (index == 0) {
    return MakeError(
        ErrorCode::kNotFound,
        fmt::format("{}: there is no such interface in this network namespace", interface));
  }
  // Without a protocol, it receives nothing until it is bound.
  Descriptor socket(::socket(AF_PACKET, SOCK_RAW | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (socket.number() < 0) {
    Status failed = SystemFailure(fmt::format("{}: cannot open a packet socket", interface));
    if (failed.error().code == ErrorCode::kPermissionDenied) {
      failed.error().message += ": run as root, or with the capability CAP_NET_RAW";
    }
    return tl::unexpected(failed.error());
  }
  ifreq request{};
  std::memcpy(request.ifr_name, interface.c_str(), interface.size());
  if (ioctl(socket.number(), SIOCGIFMTU, &request) == 0 &&
      static_cast<uint32_t>(request.ifr_mtu) < ip_packet_bytes) {
    return MakeError(
        ErrorCode::kInvalidArgument,
        fmt::format("{}: its MTU is {}, but packets of this plan have up to {} bytes: reduce "
                    "network.mtu, or raise the interface's MTU",
                    interface, request.ifr_mtu, ip_packet_bytes));
  }
  AttachFilter(socket.number());
  TrySetOption(socket.number(), SOL_SOCKET, SO_RCVBUFFORCE, kReceiveBuffer);
  sockaddr_ll address{};
  address.sll_family = AF_PACKET;
  address.sll_protocol = htons(ETH_P_IP);
  address.sll_ifindex = static_cast<int>(index);
  if (bind(socket.number(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    return tl::unexpected(
        SystemFailure(fmt::format("{}: cannot bind the packet socket", interface)).error());
  }
  return std::unique_ptr<PacketSocket>(new PacketSocket(interface, std::move(socket)));
}

bool PacketSocket::Send(std::span<const uint8_t> frame) {
  return send(socket_.number(), frame.data(), frame.size(), MSG_DONTWAIT) ==
         static_cast<ssize_t>(frame.size());
}

void PacketSocket::Receive(const std::function<void(std::span<const uint8_t>)>& receive) {
  std::array<mmsghdr, kBatch> messages{};
  std::array<iovec, kBatch> parts{};
  for (size_t i = 0; i < kBatch; ++i) {
    parts[i] = {.iov_base = buffers_.data() + i * kFrameRoom, .iov_len = kFrameRoom};
    messages[i].msg_hdr.msg_iov = &parts[i];
    messages[i].msg_hdr.msg_iovlen = 1;
  }
  for (size_t received = 0; received < kMostAtOnce; received += kBatch) {
    const int count = recvmmsg(socket_.number(), messages.data(), kBatch, MSG_DONTWAIT, nullptr);
    for (int i = 0; i < count; ++i) {
      const auto& message = messages[static_cast<size_t>(i)];
      receive({static_cast<const uint8_t*>(message.msg_hdr.msg_iov->iov_base), message.msg_len});
    }
    if (count < static_cast<int>(kBatch)) return;
  }
}

uint64_t PacketSocket::TakeDrops() {
  tpacket_stats statistics{};
  socklen_t length = sizeof statistics;
  const int failed =
      getsockopt(socket_.number(), SOL_PACKET, PACKET_STATISTICS, &statistics, &length);
  return failed != 0 ? 0 : statistics.tp_drops;
}

bool PacketSocket::IsUp() const {
  ifreq request{};
  std::memcpy(request.ifr_name, interface_.c_str(), interface_.size());
  return ioctl(socket_.number(), SIOCGIFFLAGS, &request) == 0 &&
         (request.ifr_flags & IFF_RUNNING) != 0;
}

Result<Descriptor> OccupyRocePort() {
  Descriptor socket(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (socket.number() < 0) return tl::unexpected(SystemFailure("cannot open a UDP socket").error());
  sock_filter drop_all[] = {BPF_STMT(BPF_RET | BPF_K, 0)};
  TrySetOption(socket.number(), SOL_SOCKET, SO_ATTACH_FILTER,
               sock_fprog{.len = 1, .filter = drop_all});
  TrySetOption(socket.number(), SOL_SOCKET, SO_REUSEADDR, 1);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(wire::kUdpPortRoce);
  if (bind(socket.number(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    return tl::unexpected(
        SystemFailure(fmt::format("cannot bind UDP port {}", static_cast<int>(wire::kUdpPortRoce)))
            .error());
  }
  return socket;
}

InterfaceCounters ReadInterfaceCounters(const std::string& interface) {
  std::ifstream file("/proc/net/dev");
  for (std::string line; std::getline(file, line);) {
    const size_t colon = line.find(':');
    if (colon == std::string::npos) continue;
    const size_t start = line.find_first_not_of(' ');
    if (line.substr(start, colon - start) != interface) continue;
    std::istringstream fields(line.substr(colon + 1));
    std::array<uint64_t, 16> values{};
    for (uint64_t& value : values) fields >> value;
    return {.rx_bytes = values[0],
            .rx_packets = values[1],
            .rx_errors = values[2],
            .rx_discards = values[3],
            .tx_bytes = values[8],
            .tx_packets = values[9],
            .tx_errors = values[10],
            .tx_discards = values[11]};
  }
  return {};
}

}  // namespace rocescope::endpoint
