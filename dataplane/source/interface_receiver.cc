// SPDX-License-Identifier: BSD-3-Clause
#include "dataplane/source/interface_receiver.h"

#include <fmt/format.h>
#include <pcap/pcap.h>
#include <poll.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>
#include <vector>

#include "dataplane/source/link_type.h"

namespace rocescope {
namespace {

struct CloseHandle {
  void operator()(pcap_t* handle) const { pcap_close(handle); }
};
using Pcap = std::unique_ptr<pcap_t, CloseHandle>;

constexpr int kRetireMs = 20;  // a partially filled block is delivered after this time

Timestamp TimestampOf(const timeval& time, int64_t unit) {
  return WithinBounds(FromNanoseconds(int64_t{time.tv_sec} * 1'000'000'000 + time.tv_usec * unit));
}

// Advice for an interface that cannot be opened.
std::string_view RemedyFor(int code) {
  switch (code) {
    case PCAP_ERROR_PERM_DENIED:
      return "; capturing requires CAP_NET_RAW: start as root, or run `setcap cap_net_raw+ep "
             "PROGRAM`";
    case PCAP_ERROR_NO_SUCH_DEVICE:
      return "; `ip link` lists the existing interfaces";
    case PCAP_ERROR_IFACE_NOT_UP:
      return "; bring it up with `ip link set INTERFACE up`";
    default:
      return "";
  }
}

tl::unexpected<Error> Fail(const std::string& interface, pcap_t* handle, int code) {
  const char* const said = pcap_geterr(handle);
  return MakeError(
      code == PCAP_ERROR_PERM_DENIED ? ErrorCode::kPermissionDenied : ErrorCode::kUnavailable,
      fmt::format("interface {}: {}{}{}{}", interface, pcap_statustostr(code),
                  *said == '\0' ? "" : ": ", said, RemedyFor(code)));
}

Status SetFilter(pcap_t* handle, const InterfaceReceiver::Options& options) {
  bpf_program program{};
  if (pcap_compile(handle, &program, options.filter.c_str(), 1, PCAP_NETMASK_UNKNOWN) != 0) {
    return MakeError(ErrorCode::kInvalidArgument,
                     fmt::format("interface {}: filter \"{}\": {}", options.interface,
                                 options.filter, pcap_geterr(handle)));
  }
  const int code = pcap_setfilter(handle, &program);
  pcap_freecode(&program);
  if (code != 0) return Fail(options.interface, handle, code);
  return {};
}

}  // namespace

struct InterfaceReceiver::Handle {
  std::string name;
  Pcap pcap;
  LinkType link_type = LinkType::kEthernet;
  int64_t unit = 1;  // nanoseconds per unit of tv_usec
  uint32_t snap = 0;
  uint16_t tap = 0;
  std::vector<uint8_t> bytes;
  std::array<RawFrame, kBatch> frames;
  size_t count = 0;

  // Copies the frame, because libpcap may overwrite it with the next one.
  void Take(const pcap_pkthdr& header, const uint8_t* frame) {
    uint8_t* const to = bytes.data() + count * snap;
    const uint32_t captured = std::min(header.caplen, snap);
    std::memcpy(to, frame, captured);
    frames[count++] = {.bytes = {to, captured},
                       .original_length = std::max(header.len, captured),
                       .link_type = link_type,
                       .timestamp = TimestampOf(header.ts, unit),
                       .tap = tap};
  }
};

Result<std::unique_ptr<InterfaceReceiver>> InterfaceReceiver::Open(const Options& options) {
  std::array<char, PCAP_ERRBUF_SIZE> error{};
  Pcap pcap(pcap_create(options.interface.c_str(), error.data()));
  if (!pcap) {
    return MakeError(ErrorCode::kUnavailable,
                     fmt::format("interface {}: {}", options.interface, error.data()));
  }
  pcap_set_snaplen(pcap.get(), static_cast<int>(options.snap));
  pcap_set_promisc(pcap.get(), options.promiscuous ? 1 : 0);
  pcap_set_timeout(pcap.get(), kRetireMs);
  pcap_set_buffer_size(pcap.get(), static_cast<int>(std::min<uint64_t>(options.buffer, INT32_MAX)));
  const bool in_nanoseconds =
      pcap_set_tstamp_precision(pcap.get(), PCAP_TSTAMP_PRECISION_NANO) == 0;
  // Positive values are warnings, for example that an interface has no promiscuous mode.
  if (const int code = pcap_activate(pcap.get()); code < 0) {
    return Fail(options.interface, pcap.get(), code);
  }
  const Result<LinkType> link_type =
      LinkTypeFromNumber(pcap_datalink(pcap.get()), options.interface);
  if (!link_type) return tl::unexpected(link_type.error());
  if (!options.filter.empty()) {
    if (const Status set = SetFilter(pcap.get(), options); !set) {
      return tl::unexpected(set.error());
    }
  }
  if (pcap_setnonblock(pcap.get(), 1, error.data()) != 0) {
    return MakeError(ErrorCode::kUnavailable,
                     fmt::format("interface {}: {}", options.interface, error.data()));
  }
  auto handle = std::make_unique<Handle>();
  handle->name = options.interface;
  handle->pcap = std::move(pcap);
  handle->link_type = *link_type;
  handle->unit = in_nanoseconds ? 1 : 1000;
  handle->snap = options.snap;
  handle->tap = options.tap;
  handle->bytes.resize(kBatch * options.snap);
  return std::unique_ptr<InterfaceReceiver>(new InterfaceReceiver(std::move(handle)));
}

InterfaceReceiver::InterfaceReceiver(std::unique_ptr<Handle> handle) : handle_(std::move(handle)) {}
InterfaceReceiver::~InterfaceReceiver() = default;

Result<std::span<const RawFrame>> InterfaceReceiver::Receive(std::chrono::milliseconds wait) {
  Handle& handle = *handle_;
  handle.count = 0;
  const auto take = [](u_char* user, const pcap_pkthdr* header, const u_char* bytes) {
    reinterpret_cast<Handle*>(user)->Take(*header, bytes);
  };
  for (const bool waits : {false, true}) {
    if (waits) {
      pollfd polled = {
          .fd = pcap_get_selectable_fd(handle.pcap.get()), .events = POLLIN, .revents = 0};
      if (poll(&polled, 1, static_cast<int>(wait.count())) <= 0) break;
    }
    const int code = pcap_dispatch(handle.pcap.get(), static_cast<int>(kBatch), take,
                                   reinterpret_cast<u_char*>(&handle));
    if (code < 0) return Fail(handle.name, handle.pcap.get(), code);
    if (handle.count > 0) break;
  }
  return std::span<const RawFrame>(handle.frames).first(handle.count);
}

uint64_t InterfaceReceiver::Missed() {
  pcap_stat counts{};
  if (pcap_stats(handle_->pcap.get(), &counts) != 0) return 0;
  return uint64_t{counts.ps_drop} + counts.ps_ifdrop;
}

const std::string& InterfaceReceiver::name() const { return handle_->name; }

}  // namespace rocescope
