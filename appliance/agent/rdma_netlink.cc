// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/agent/rdma_netlink.h"

#include <fmt/format.h>
#include <linux/netlink.h>
#include <poll.h>
#include <rdma/rdma_netlink.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <system_error>
#include <utility>

namespace rocescope {
namespace {

constexpr uint16_t TypeOf(uint16_t command) {
  return static_cast<uint16_t>(RDMA_NL_GET_TYPE(RDMA_NL_NLDEV, command));
}

constexpr size_t Aligned(size_t bytes) { return (bytes + 3) & ~size_t{3}; }

// Reads a value in host byte order. None if there are too few bytes.
template <typename T>
std::optional<T> ReadAs(std::string_view bytes) {
  if (bytes.size() < sizeof(T)) return std::nullopt;
  T value;
  std::memcpy(&value, bytes.data(), sizeof value);
  return value;
}

// The text up to the first NUL: netlink strings end with one.
std::string TextOf(std::string_view bytes) {
  return std::string(bytes.substr(0, bytes.find('\0')));
}

// Calls `take` with the type and content of each attribute. Returns false if an attribute exceeds
// the data.
template <typename Take>
bool ForEachAttribute(std::string_view bytes, Take take) {
  while (bytes.size() >= NLA_HDRLEN) {
    const auto header = *ReadAs<nlattr>(bytes);
    if (header.nla_len < NLA_HDRLEN || header.nla_len > bytes.size()) return false;
    take(header.nla_type & NLA_TYPE_MASK, bytes.substr(NLA_HDRLEN, header.nla_len - NLA_HDRLEN));
    bytes.remove_prefix(std::min(bytes.size(), Aligned(header.nla_len)));
  }
  return bytes.empty();
}

// Names of enum ib_qp_type (ib_verbs.h) as in iproute2's rdma/res-qp.c.
std::string TypeName(uint8_t type) {
  constexpr std::array<std::string_view, 11> kNames = {
      "SMI",           "GSI",     "RC",         "UC",      "UD",     "RAW_IPV6",
      "RAW_ETHERTYPE", "UNKNOWN", "RAW_PACKET", "XRC_INI", "XRC_TGT"};
  constexpr uint8_t kDriver = 0xff;
  if (type < kNames.size()) return std::string(kNames[type]);
  return type == kDriver ? "DRIVER" : "UNKNOWN";
}

// Names of enum ib_qp_state from the same sources.
std::string StateName(uint8_t state) {
  constexpr std::array<std::string_view, 7> kNames = {"RESET", "INIT", "RTR", "RTS",
                                                      "SQD",   "SQE",  "ERR"};
  return state < kNames.size() ? std::string(kNames[state]) : "UNKNOWN";
}

// None if the entry has no valid QPN.
std::optional<RdmaQueuePair> ReadEntry(std::string_view bytes, const std::string& device,
                                       bool& is_whole) {
  RdmaQueuePair result;
  result.device = device;
  std::optional<uint32_t> local;
  is_whole = ForEachAttribute(bytes, [&](int type, std::string_view content) {
    const auto number = ReadAs<uint32_t>(content);
    const auto octet = ReadAs<uint8_t>(content);
    if (type == RDMA_NLDEV_ATTR_RES_KERN_NAME) result.command = TextOf(content);
    if (type == RDMA_NLDEV_ATTR_RES_TYPE && octet) result.type = TypeName(*octet);
    if (type == RDMA_NLDEV_ATTR_RES_STATE && octet) result.state = StateName(*octet);
    if (!number) return;
    switch (type) {
      case RDMA_NLDEV_ATTR_PORT_INDEX:
        result.port = static_cast<int>(*number & 0xffff);
        break;
      case RDMA_NLDEV_ATTR_RES_LQPN:
        local = *number;
        break;
      case RDMA_NLDEV_ATTR_RES_RQPN:
        if (*number != 0 && *number <= k24BitMask) result.remote = Qpn{*number};
        break;
      case RDMA_NLDEV_ATTR_RES_RQ_PSN:
        result.receive_psn = *number & k24BitMask;
        break;
      case RDMA_NLDEV_ATTR_RES_SQ_PSN:
        result.send_psn = *number & k24BitMask;
        break;
      case RDMA_NLDEV_ATTR_RES_PID:
        result.process_id = *number;
        break;
      default:
        break;
    }
  });
  if (!local || *local > k24BitMask) return std::nullopt;
  result.local = Qpn{*local};
  return result;
}

void ReadQueuePairs(std::string_view attributes, RdmaNetlinkAnswer& answer) {
  std::string device;
  std::string_view table;
  bool is_whole = ForEachAttribute(attributes, [&](int type, std::string_view content) {
    if (type == RDMA_NLDEV_ATTR_DEV_NAME) device = TextOf(content);
    if (type == RDMA_NLDEV_ATTR_RES_QP) table = content;
  });
  if (!is_whole || device.empty()) ++answer.malformed;
  if (device.empty()) return;
  is_whole = ForEachAttribute(table, [&](int type, std::string_view content) {
    if (type != RDMA_NLDEV_ATTR_RES_QP_ENTRY) return;
    bool entry_is_whole = true;
    auto queue_pair = ReadEntry(content, device, entry_is_whole);
    if (!queue_pair || !entry_is_whole) ++answer.malformed;
    if (queue_pair) answer.queue_pairs.push_back(*std::move(queue_pair));
  });
  if (!is_whole) ++answer.malformed;
}

void ReadDevice(std::string_view attributes, RdmaNetlinkAnswer& answer) {
  std::optional<uint32_t> index;
  const bool is_whole = ForEachAttribute(attributes, [&](int type, std::string_view content) {
    if (type == RDMA_NLDEV_ATTR_DEV_INDEX) index = ReadAs<uint32_t>(content);
  });
  if (!is_whole || !index) ++answer.malformed;
  if (index) answer.devices.push_back(*index);
}

}  // namespace

RdmaNetlinkAnswer ParseRdmaNetlink(std::string_view datagram, uint32_t sequence) {
  RdmaNetlinkAnswer answer;
  while (!datagram.empty()) {
    const auto header = ReadAs<nlmsghdr>(datagram);
    if (!header || header->nlmsg_len < NLMSG_HDRLEN || header->nlmsg_len > datagram.size()) {
      ++answer.malformed;
      break;
    }
    const std::string_view content =
        datagram.substr(NLMSG_HDRLEN, header->nlmsg_len - NLMSG_HDRLEN);
    datagram.remove_prefix(std::min(datagram.size(), Aligned(header->nlmsg_len)));
    if (header->nlmsg_seq != sequence) continue;
    answer.interrupted = answer.interrupted || (header->nlmsg_flags & NLM_F_DUMP_INTR) != 0;
    if (header->nlmsg_type == NLMSG_DONE || header->nlmsg_type == NLMSG_ERROR) {
      // Both messages start with a negative errno or zero.
      const int32_t code = ReadAs<int32_t>(content).value_or(0);
      if (code < 0 && code > INT32_MIN) answer.error = -code;
      answer.done = true;
    } else if (header->nlmsg_type == TypeOf(RDMA_NLDEV_CMD_RES_QP_GET)) {
      ReadQueuePairs(content, answer);
    } else if (header->nlmsg_type == TypeOf(RDMA_NLDEV_CMD_GET)) {
      ReadDevice(content, answer);
    }
  }
  return answer;
}

std::string RdmaNetlinkRequest(uint16_t command, uint32_t sequence,
                               std::optional<uint32_t> device) {
  nlmsghdr header{};
  header.nlmsg_len = NLMSG_HDRLEN;
  header.nlmsg_type = TypeOf(command);
  header.nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK | NLM_F_DUMP;
  header.nlmsg_seq = sequence;
  std::string attribute;
  if (device) {
    nlattr index{};
    index.nla_len = NLA_HDRLEN + sizeof *device;
    index.nla_type = RDMA_NLDEV_ATTR_DEV_INDEX;
    attribute.assign(reinterpret_cast<const char*>(&index), sizeof index);
    attribute.append(reinterpret_cast<const char*>(&*device), sizeof *device);
    header.nlmsg_len += static_cast<uint32_t>(attribute.size());
  }
  return std::string(reinterpret_cast<const char*>(&header), sizeof header) + attribute;
}

namespace {

class Socket {
 public:
  Socket() : descriptor_(socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_RDMA)) {}
  ~Socket() {
    if (descriptor_ >= 0) close(descriptor_);
  }
  Socket(const Socket&) = delete;
  Socket& operator=(const Socket&) = delete;
  bool is_open() const { return descriptor_ >= 0; }

  // Returns an errno value or 0.
  int Dump(uint16_t command, std::optional<uint32_t> device, RdmaNetlinkAnswer& all) {
    const std::string request = RdmaNetlinkRequest(command, ++sequence_, device);
    sockaddr_nl kernel{};
    kernel.nl_family = AF_NETLINK;
    if (sendto(descriptor_, request.data(), request.size(), 0,
               reinterpret_cast<const sockaddr*>(&kernel), sizeof kernel) < 0) {
      return errno;
    }
    std::string datagram(size_t{64} << 10, '\0');
    while (true) {
      constexpr int kReplyTimeoutMs = 2000;  // milliseconds
      pollfd waits = {.fd = descriptor_, .events = POLLIN, .revents = 0};
      const int ready = poll(&waits, 1, kReplyTimeoutMs);
      if (ready == 0) return ETIMEDOUT;
      sockaddr_nl from{};
      socklen_t size = sizeof from;
      const ssize_t got = recvfrom(descriptor_, datagram.data(), datagram.size(), MSG_TRUNC,
                                   reinterpret_cast<sockaddr*>(&from), &size);
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) return errno;
      // Any process may send to this socket; the kernel's port ID is 0.
      if (from.nl_pid != 0) continue;
      if (static_cast<size_t>(got) > datagram.size()) return EMSGSIZE;
      RdmaNetlinkAnswer part = ParseRdmaNetlink(
          std::string_view(datagram).substr(0, static_cast<size_t>(got)), sequence_);
      all.devices.insert(all.devices.end(), part.devices.begin(), part.devices.end());
      std::move(part.queue_pairs.begin(), part.queue_pairs.end(),
                std::back_inserter(all.queue_pairs));
      all.interrupted = all.interrupted || part.interrupted;
      if (part.error) return *part.error;
      if (part.done) return 0;
    }
  }

 private:
  const int descriptor_;
  uint32_t sequence_ = 0;
};

tl::unexpected<Error> Failed(int error) {
  return MakeError(
      error == EPERM || error == EACCES ? ErrorCode::kPermissionDenied : ErrorCode::kUnavailable,
      fmt::format("cannot read queue pairs over netlink: {}",
                  std::generic_category().message(error)));
}

}  // namespace

Result<std::vector<RdmaQueuePair>> ReadKernelQueuePairs() {
  Socket socket;
  if (!socket.is_open()) {
    return MakeError(
        ErrorCode::kUnimplemented,
        "the kernel has no RDMA support (NETLINK_RDMA): check that the module ib_core is loaded");
  }
  constexpr int kTries = 3;  // retries, because queue pairs may change during a dump
  for (int i = 0;; ++i) {
    RdmaNetlinkAnswer devices;
    // The connection is refused if ib_core is not loaded.
    if (const int error = socket.Dump(RDMA_NLDEV_CMD_GET, std::nullopt, devices); error != 0) {
      if (error == ECONNREFUSED) {
        return MakeError(ErrorCode::kUnimplemented,
                         "the kernel has no RDMA support: check that the module ib_core is loaded");
      }
      return Failed(error);
    }
    RdmaNetlinkAnswer all;
    for (const uint32_t device : devices.devices) {
      const int error = socket.Dump(RDMA_NLDEV_CMD_RES_QP_GET, device, all);
      if (error != 0 && error != ENODEV && error != EINVAL) return Failed(error);
    }
    if (!all.interrupted || i + 1 == kTries) return std::move(all.queue_pairs);
  }
}

}  // namespace rocescope
