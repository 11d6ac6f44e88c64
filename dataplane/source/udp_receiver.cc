// SPDX-License-Identifier: BSD-3-Clause
#include "dataplane/source/udp_receiver.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <thread>
#include <utility>

namespace rocescope {
namespace {

struct SocketAddress {
  sockaddr_storage storage{};
  socklen_t size = 0;
};

SocketAddress ToSocketAddress(const UdpAddress& where) {
  SocketAddress result;
  if (where.address.IsV4()) {
    sockaddr_in v4{};
    v4.sin_family = AF_INET;
    v4.sin_port = htons(where.port);
    v4.sin_addr.s_addr = htonl(where.address.V4());
    std::memcpy(&result.storage, &v4, sizeof v4);
    result.size = sizeof v4;
    return result;
  }
  sockaddr_in6 v6{};
  v6.sin6_family = AF_INET6;
  v6.sin6_port = htons(where.port);
  for (size_t i = 0; i < 8; ++i) {
    v6.sin6_addr.s6_addr[i] = static_cast<uint8_t>(where.address.high >> (56 - 8 * i));
    v6.sin6_addr.s6_addr[8 + i] = static_cast<uint8_t>(where.address.low >> (56 - 8 * i));
  }
  std::memcpy(&result.storage, &v6, sizeof v6);
  result.size = sizeof v6;
  return result;
}

IpAddress ToIpAddress(const sockaddr_storage& storage) {
  if (storage.ss_family == AF_INET) {
    sockaddr_in v4{};
    std::memcpy(&v4, &storage, sizeof v4);
    return IpAddress::FromV4(ntohl(v4.sin_addr.s_addr));
  }
  sockaddr_in6 v6{};
  std::memcpy(&v6, &storage, sizeof v6);
  IpAddress address;
  for (size_t i = 0; i < 8; ++i) {
    address.high = address.high << 8 | v6.sin6_addr.s6_addr[i];
    address.low = address.low << 8 | v6.sin6_addr.s6_addr[8 + i];
  }
  return address;
}

uint16_t PortOf(int descriptor) {
  sockaddr_storage storage{};
  socklen_t size = sizeof storage;
  if (getsockname(descriptor, reinterpret_cast<sockaddr*>(&storage), &size) != 0) return 0;
  if (storage.ss_family == AF_INET) {
    sockaddr_in v4{};
    std::memcpy(&v4, &storage, sizeof v4);
    return ntohs(v4.sin_port);
  }
  sockaddr_in6 v6{};
  std::memcpy(&v6, &storage, sizeof v6);
  return ntohs(v6.sin6_port);
}

std::string TextOf(const UdpAddress& where) {
  return fmt::format(fmt::runtime(where.address.IsV4() ? "{}:{}" : "[{}]:{}"),
                     ToString(where.address), where.port);
}

void Set(int descriptor, int level, int option, int value) {
  (void)setsockopt(descriptor, level, option, &value, sizeof value);
}

// Much shorter than the time in which a socket's buffer fills up, but long enough for many
// datagrams of a busy socket.
constexpr auto kGather = std::chrono::microseconds(200);

// Space for the control messages of one datagram: its arrival time, and the number of datagrams
// dropped before it.
constexpr size_t kControl = CMSG_SPACE(sizeof(timespec)) + CMSG_SPACE(sizeof(uint32_t));

struct Socket {
  int descriptor = -1;
  UdpAddress address;
  uint64_t buffer = 0;
  uint64_t missed = 0;
  uint32_t last_count = 0;  // the kernel's 32-bit counter of dropped datagrams
};

Result<Socket> OpenSocket(const UdpAddress& where, uint64_t buffer) {
  const auto fail = [&](std::string_view what, int descriptor) {
    const int code = errno;
    if (descriptor >= 0) close(descriptor);
    return MakeError(
        code == EACCES ? ErrorCode::kPermissionDenied : ErrorCode::kUnavailable,
        fmt::format(
            "UDP {}: {}: {}{}", TextOf(where), what, std::strerror(code),
            code == EADDRINUSE ? ": another process uses this port; `ss -ulpn` shows which" : ""));
  };
  const int descriptor = socket(where.address.IsV4() ? AF_INET : AF_INET6,
                                SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (descriptor < 0) return fail("cannot open the socket", descriptor);
  if (!where.address.IsV4()) Set(descriptor, IPPROTO_IPV6, IPV6_V6ONLY, 1);
  // Half of the requested size, because the kernel doubles the value to account for its overhead.
  const int asked = static_cast<int>(std::min<uint64_t>(buffer, uint64_t{1} << 30) / 2);
  Set(descriptor, SOL_SOCKET, SO_RCVBUF, asked);
  // Exceeds rmem_max if the process has CAP_NET_ADMIN.
  Set(descriptor, SOL_SOCKET, SO_RCVBUFFORCE, asked);
  Set(descriptor, SOL_SOCKET, SO_RXQ_OVFL, 1);
  Set(descriptor, SOL_SOCKET, SO_TIMESTAMPNS, 1);
  const SocketAddress address = ToSocketAddress(where);
  if (bind(descriptor, reinterpret_cast<const sockaddr*>(&address.storage), address.size) != 0) {
    return fail("cannot bind the socket", descriptor);
  }
  int got = 0;
  socklen_t size = sizeof got;
  (void)getsockopt(descriptor, SOL_SOCKET, SO_RCVBUF, &got, &size);
  return Socket{.descriptor = descriptor,
                .address = {.address = where.address, .port = PortOf(descriptor)},
                .buffer = static_cast<uint64_t>(got)};
}

}  // namespace

struct UdpReceiver::Sockets {
  std::vector<Socket> all;
  std::vector<pollfd> polled;
  size_t next = 0;            // index of the socket to read first
  bool may_hold_more = true;  // a socket may have more datagrams
  std::vector<uint8_t> bytes = std::vector<uint8_t>(kBatch * kLongest);
  std::array<std::array<uint8_t, kControl>, kBatch> controls{};
  std::array<iovec, kBatch> vectors{};
  std::array<mmsghdr, kBatch> messages{};
  std::array<sockaddr_storage, kBatch> names{};
  std::array<RawFrame, kBatch> frames;
  std::array<IpAddress, kBatch> sources;
  size_t received = 0;  // number of frames of the last call

  Sockets() {
    for (size_t i = 0; i < kBatch; ++i) {
      vectors[i] = {.iov_base = bytes.data() + i * kLongest, .iov_len = kLongest};
      messages[i].msg_hdr.msg_iov = &vectors[i];
      messages[i].msg_hdr.msg_iovlen = 1;
      messages[i].msg_hdr.msg_control = controls[i].data();
      messages[i].msg_hdr.msg_controllen = kControl;
      messages[i].msg_hdr.msg_name = &names[i];
      messages[i].msg_hdr.msg_namelen = sizeof names[i];
    }
  }
  ~Sockets() {
    for (const Socket& socket : all) close(socket.descriptor);
  }

  std::span<RawFrame> ReceiveFrom(size_t number);
  Timestamp TimeOf(msghdr& header, Socket& socket) const;
};

Result<std::unique_ptr<UdpReceiver>> UdpReceiver::Open(const Options& options) {
  auto sockets = std::make_unique<Sockets>();
  for (const UdpAddress& address : options.addresses) {
    const Result<Socket> socket = OpenSocket(address, options.buffer);
    if (!socket) return tl::unexpected(socket.error());
    sockets->all.push_back(*socket);
    sockets->polled.push_back({.fd = socket->descriptor, .events = POLLIN, .revents = 0});
  }
  return std::unique_ptr<UdpReceiver>(new UdpReceiver(std::move(sockets)));
}

UdpReceiver::UdpReceiver(std::unique_ptr<Sockets> sockets) : sockets_(std::move(sockets)) {}
UdpReceiver::~UdpReceiver() = default;

// Returns the kernel's timestamp, or the current time if there is none. Also updates the counter of
// dropped datagrams.
Timestamp UdpReceiver::Sockets::TimeOf(msghdr& header, Socket& socket) const {
  timespec time{};
  for (cmsghdr* part = CMSG_FIRSTHDR(&header); part != nullptr; part = CMSG_NXTHDR(&header, part)) {
    if (part->cmsg_level != SOL_SOCKET) continue;
    if (part->cmsg_type == SO_TIMESTAMPNS) std::memcpy(&time, CMSG_DATA(part), sizeof time);
    if (part->cmsg_type == SO_RXQ_OVFL) {
      uint32_t count = 0;
      std::memcpy(&count, CMSG_DATA(part), sizeof count);
      socket.missed += count - socket.last_count;
      socket.last_count = count;
    }
  }
  if (time.tv_sec == 0) clock_gettime(CLOCK_REALTIME, &time);
  return WithinBounds(FromNanoseconds(time.tv_sec * 1'000'000'000 + time.tv_nsec));
}

std::span<RawFrame> UdpReceiver::Sockets::ReceiveFrom(size_t number) {
  Socket& socket = all[number];
  // With MSG_TRUNC, msg_len is the full length of the datagram even if it was truncated.
  const int count = recvmmsg(socket.descriptor, messages.data(), kBatch, MSG_TRUNC, nullptr);
  for (int i = 0; i < count; ++i) {
    const auto at = static_cast<size_t>(i);
    const uint32_t length = messages[at].msg_len;
    frames[at] = {.bytes = {bytes.data() + at * kLongest, std::min<size_t>(length, kLongest)},
                  .original_length = length,
                  .timestamp = TimeOf(messages[at].msg_hdr, socket),
                  .tap = static_cast<uint16_t>(number)};
    sources[at] = ToIpAddress(names[at]);
    // The kernel has overwritten these with the lengths that it used.
    messages[at].msg_hdr.msg_controllen = kControl;
    messages[at].msg_hdr.msg_namelen = sizeof names[at];
  }
  received = static_cast<size_t>(std::max(count, 0));
  return std::span(frames).first(received);
}

std::span<RawFrame> UdpReceiver::Receive(std::chrono::milliseconds wait) {
  Sockets& sockets = *sockets_;
  for (const bool waits : {false, true}) {
    if (waits) {
      // Usually the last call has emptied the sockets, so that reading them again is useless.
      if (poll(sockets.polled.data(), sockets.polled.size(), static_cast<int>(wait.count())) <= 0) {
        break;
      }
      // Under load, waits a moment to receive more datagrams per call. The kernel's timestamps are
      // not affected.
      if (wait.count() > 0) std::this_thread::sleep_for(kGather);
    } else if (!sockets.may_hold_more) {
      continue;
    }
    for (size_t tried = 0; tried < sockets.all.size(); ++tried) {
      const size_t number = sockets.next;
      sockets.next = (sockets.next + 1) % sockets.all.size();
      const std::span<RawFrame> frames = sockets.ReceiveFrom(number);
      if (frames.empty()) continue;
      sockets.may_hold_more = frames.size() == kBatch || sockets.all.size() > 1;
      return frames;
    }
    sockets.may_hold_more = false;
  }
  return {};
}

std::span<const IpAddress> UdpReceiver::sources() const {
  return std::span(sockets_->sources).first(sockets_->received);
}

uint64_t UdpReceiver::missed() const {
  uint64_t missed = 0;
  for (const Socket& socket : sockets_->all) missed += socket.missed;
  return missed;
}

size_t UdpReceiver::sockets() const { return sockets_->all.size(); }
UdpAddress UdpReceiver::AddressOf(size_t socket) const { return sockets_->all[socket].address; }
uint64_t UdpReceiver::BufferOf(size_t socket) const { return sockets_->all[socket].buffer; }

}  // namespace rocescope
