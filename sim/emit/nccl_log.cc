// SPDX-License-Identifier: BSD-3-Clause
// Log lines of NCCL releases. The format strings come from NVIDIA/nccl, src/init.cc,
// src/transport/net.cc and src/transport/net_ib.cc (net_ib/ since 2.29) at each release's tag. Only
// lines about ranks, channels and queue pairs are written.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstdio>
#include <iterator>

#include "sim/emit/addressing.h"
#include "sim/emit/host_files.h"

namespace rocescope::sim {
namespace {

constexpr std::array<NcclRelease, 7> kReleases = {{{14, "2.14.3+cuda11.7"},
                                                   {18, "2.18.6+cuda12.2"},
                                                   {20, "2.20.5+cuda12.4"},
                                                   {22, "2.22.3+cuda12.6"},
                                                   {24, "2.24.3+cuda12.6"},
                                                   {27, "2.27.3+cuda12.9"},
                                                   {30, "2.30.3+cuda13.0"}}};
constexpr int kGidIndex = 3;  // the usual GID index of RoCE v2 with an IPv4 address
constexpr uint32_t kLoggedRdmaPort = 1;

// Returns domain << 20 | bus << 12 | device << 4 | function for "0000:17:00.0", or 0 if unknown.
uint64_t PackedPci(const std::string& pci) {
  unsigned domain = 0;
  unsigned bus = 0;
  unsigned device = 0;
  unsigned function = 0;
  if (std::sscanf(pci.c_str(), "%x:%x:%x.%x", &domain, &bus, &device, &function) != 4) return 0;
  return uint64_t{domain} << 20 | bus << 12 | device << 4 | function;
}

// Returns the value of enum ibv_mtu; 1 means 256 bytes.
uint32_t MtuNumber(uint32_t bytes) { return static_cast<uint32_t>(std::bit_width(bytes)) - 8; }

class Log {
 public:
  Log(const topology::Fabric& fabric, const LoggedJob& job, uint32_t rank,
      const NcclRelease& release, NcclLogContent content)
      : fabric_(fabric),
        job_(job),
        rank_(rank),
        own_(job.ranks[rank]),
        host_(fabric.gpu(own_.gpu).host),
        release_(release),
        has_net_lines_(content == NcclLogContent::kQueuePairs),
        thread_(own_.process_id) {}

  std::string Render() {
    Begin();
    for (uint32_t i = 0; i < job_.communicators.size(); ++i) {
      const auto& ranks = job_.communicators[i].ranks;
      const auto at = std::find(ranks.begin(), ranks.end(), rank_);
      if (at != ranks.end()) Communicator(i, static_cast<uint32_t>(at - ranks.begin()));
    }
    return std::move(text_);
  }

 private:
  template <typename... Args>
  void Info(fmt::format_string<Args...> format, Args&&... args) {
    fmt::format_to(std::back_inserter(text_), "{}:{}:{} [{}] NCCL INFO ", HostName(),
                   own_.process_id, thread_, own_.cuda_device);
    fmt::format_to(std::back_inserter(text_), format, std::forward<Args>(args)...);
    text_ += '\n';
  }

  // NCCL cuts the host name at the first dot.
  std::string_view HostName() const {
    const std::string_view name = fabric_.node(host_).name;
    return name.substr(0, name.find('.'));
  }
  // Returns the index of a NIC on its host, which is the order in which NCCL finds the NICs.
  uint32_t DeviceOf(topology::NicIndex nic) const {
    const auto nics = fabric_.NicsOf(fabric_.nic(nic).host);
    return static_cast<uint32_t>(std::find(nics.begin(), nics.end(), nic) - nics.begin());
  }

  void Begin() {
    // A separate management network, numbered like the nodes.
    const std::string out_of_band =
        "eth0:" + ToString(IpAddress::FromV4(0xc0a8'0000 + host_ + 1)) + "<0>";
    Info("{}: Using {}", release_.minor < 24 ? "Bootstrap " : "Bootstrap", out_of_band);
    if (release_.minor >= 24) {
      Info("NCCL version {}", release_.version);
    } else if (rank_ == 0) {
      fmt::format_to(std::back_inserter(text_), "NCCL version {}\n", release_.version);
    }
    thread_ = own_.process_id + 19;
    const auto nics = fabric_.NicsOf(host_);
    if (release_.minor >= 24 && has_net_lines_) {
      for (const topology::NicIndex nic : nics) {
        const topology::LinkIndex link = fabric_.port(fabric_.nic(nic).port).link;
        const uint64_t rate = link == topology::kNone ? 0 : fabric_.link(link).bits_per_second;
        Info("NET/IB : Made virtual device [{}] name={} speed={} ndevs=1", DeviceOf(nic),
             fabric_.nic(nic).device, rate / 1'000'000);
      }
    }
    std::string devices;
    for (const topology::NicIndex nic : nics) {
      fmt::format_to(std::back_inserter(devices), " [{}]{}:{}/RoCE", DeviceOf(nic),
                     fabric_.nic(nic).device, kLoggedRdmaPort);
    }
    Info("NET/IB : Using{} [RO]; OOB {}", devices, out_of_band);
    Info("Using network IB");
  }

  void Communicator(uint32_t index, uint32_t rank) {
    const LoggedCommunicator& communicator = job_.communicators[index];
    init_thread_ = own_.process_id + 20 + 8 * index;
    proxy_thread_ = init_thread_ + 2;
    thread_ = init_thread_;
    if (release_.minor >= 18) Init(index, rank, "START");
    if (release_.minor >= 20) {
      const Place place = PlaceOf(communicator, rank);
      Info("comm {:#x} rank {} nRanks {} nNodes {} localRanks {} localRank {} MNNVL 0",
           PointerOf(index), rank, communicator.ranks.size(), place.hosts, place.local_ranks,
           place.local_rank);
    }
    // Since 2.22, connections are created on first use.
    const bool lazy = release_.minor >= 22;
    if (lazy) Init(index, rank, "COMPLETE");
    Connect(index, rank);
    thread_ = init_thread_;
    if (!lazy) Init(index, rank, "COMPLETE");
  }

  // The address printed for ncclComm*.
  uint64_t PointerOf(uint32_t communicator) const {
    return 0x5500'0000'0000 + (uint64_t{own_.process_id} << 20) + communicator * 0x1000;
  }

  void Init(uint32_t index, uint32_t rank, std::string_view what) {
    const LoggedCommunicator& communicator = job_.communicators[index];
    const bool start = what == "START";
    const bool split = communicator.parent.has_value() && release_.minor >= 18;
    const bool joined = split && release_.minor >= 21;  // identified by parent and color
    std::string line;
    const auto add = [&]<typename... Args>(fmt::format_string<Args...> format, Args&&... args) {
      fmt::format_to(std::back_inserter(line), format, std::forward<Args>(args)...);
    };
    if (release_.minor >= 30 && start) add("[Rank {}] ", rank);
    if (release_.minor >= 21) {
      add("{} ", split && release_.minor >= 23 ? "ncclCommSplit" : "ncclCommInitRank");
    }
    add("comm {:#x} rank {} nranks {} cudaDev {}", PointerOf(index), rank,
        communicator.ranks.size(), own_.cuda_device);
    if (release_.minor >= 18) add(" nvmlDev {}", own_.nvml_device);
    add(" busId {:x}", PackedPci(fabric_.gpu(own_.gpu).pci));
    if (joined) {
      add(" parent {:#x}", PointerOf(*communicator.parent));
      if (release_.minor >= 24) {
        add(" {} {}", release_.minor >= 29 ? "childCount" : "splitCount", OrdinalOf(index));
      }
      add(" color {} key {}", communicator.color, rank);
    }
    const bool has_id = release_.minor >= 16 && (!joined || release_.minor < 23);
    if (has_id) add(" commId {:#x}", communicator.id);
    // Lines of splits have no leading space since 2.23.
    add("{}- Init {}", joined && start && release_.minor >= 23 ? "" : " ", what);
    Info("{}", line);
  }

  // Returns the ordinal among the splits of a parent, from 1. A rank is in one communicator of each
  // split.
  size_t OrdinalOf(uint32_t index) const {
    size_t ordinal = 1;
    for (uint32_t i = 0; i < index; ++i) {
      const LoggedCommunicator& each = job_.communicators[i];
      ordinal += each.parent == job_.communicators[index].parent &&
                 std::find(each.ranks.begin(), each.ranks.end(), rank_) != each.ranks.end();
    }
    return ordinal;
  }

  struct Place {
    size_t hosts = 0;
    size_t local_ranks = 0;
    size_t local_rank = 0;
  };
  Place PlaceOf(const LoggedCommunicator& communicator, uint32_t rank) const {
    std::vector<topology::NodeIndex> hosts;
    Place place;
    for (uint32_t i = 0; i < communicator.ranks.size(); ++i) {
      const topology::NodeIndex host = fabric_.gpu(job_.ranks[communicator.ranks[i]].gpu).host;
      hosts.push_back(host);
      if (host != host_) continue;
      if (i < rank) ++place.local_rank;
      ++place.local_ranks;
    }
    std::sort(hosts.begin(), hosts.end());
    place.hosts = static_cast<size_t>(std::unique(hosts.begin(), hosts.end()) - hosts.begin());
    return place;
  }

  // Writes all channels, then their queue pairs in the same order (ncclTransportP2pSetup).
  void Connect(uint32_t index, uint32_t rank) {
    std::vector<const LoggedConnection*> receives;
    std::vector<const LoggedConnection*> sends;
    for (const LoggedConnection& connection : job_.connections) {
      if (connection.communicator != index) continue;
      if (connection.to == rank) receives.push_back(&connection);
      if (connection.from == rank) sends.push_back(&connection);
    }
    const size_t local_rank = PlaceOf(job_.communicators[index], rank).local_rank;
    for (const LoggedConnection* each : receives) Channel(*each, false, local_rank);
    for (const LoggedConnection* each : sends) Channel(*each, true, local_rank);
    thread_ = proxy_thread_;
    if (has_net_lines_) QueuePairs(receives, sends);
    thread_ = init_thread_;
    if (!sends.empty() && release_.minor < 22) Info("Connected all rings");
  }

  void QueuePairs(const std::vector<const LoggedConnection*>& receives,
                  const std::vector<const LoggedConnection*>& sends) {
    for (const LoggedConnection* each : sends) Send(*each);
    if (release_.minor >= 29) {
      for (const LoggedConnection* each : receives) {
        for (const auto& queue_pair : each->queue_pairs) {
          Created("ncclIbReceiverQpsCreateToRts", each->receiver, queue_pair.receiver);
        }
      }
    }
  }

  void Channel(const LoggedConnection& connection, bool send, size_t local_rank) {
    if (has_net_lines_) {
      thread_ = proxy_thread_;
      Info("New proxy {} connection {} from local rank {}, transport 2", send ? "send" : "recv",
           proxied_++, local_rank);
    }
    thread_ = init_thread_;
    const auto end = [&](uint32_t rank) {
      const LoggedRank& of = job_.ranks[job_.communicators[connection.communicator].ranks[rank]];
      return release_.minor >= 18
                 ? fmt::format("{}[{}]", rank, of.nvml_device)
                 : fmt::format("{}[{:x}]", rank, PackedPci(fabric_.gpu(of.gpu).pci));
    };
    Info("Channel {:02}/0 : {} -> {} [{}] via NET/IB/{}/GDRDMA", connection.channel,
         end(connection.from), end(connection.to), send ? "send" : "receive",
         DeviceOf(send ? connection.sender : connection.receiver));
  }

  void Created(std::string_view function, topology::NicIndex nic, Qpn qpn) {
    Info(
        "NET/IB: {}: QP created: port={} dev={} devName={} ndevs=1 nmdevs=1 qp_num={} pkey=65535 "
        "pd={:#x} oooRq=0",
        function, kLoggedRdmaPort, DeviceOf(nic), fabric_.nic(nic).device, qpn.value,
        0x7f10'0000'0000 + DeviceOf(nic) * 0x1000);
  }

  // NCCL prints each half of the GID as a little-endian integer.
  void Send(const LoggedConnection& connection) {
    const uint32_t device = DeviceOf(connection.sender);
    const IpAddress address = AddressOf(fabric_, connection.sender);
    const std::string gid =
        fmt::format("GID {} ({:X}/{:X})", kGidIndex, __builtin_bswap64(address.high),
                    __builtin_bswap64(address.low));
    const uint32_t mtu = MtuNumber(job_.mtu);
    const uint32_t rkey = connection.fifo_rkey;
    constexpr std::string_view kEce =
        "ece={supported=1, vendor_id=0x15b3, options=0x30000002, comp_mask=0x0}";
    if (release_.minor >= 29) {
      for (const auto& queue_pair : connection.queue_pairs) {
        Created("ncclIbSenderQpsCreate", connection.sender, queue_pair.sender);
      }
    }
    for (const auto& queue_pair : connection.queue_pairs) {
      const uint32_t qpn = queue_pair.sender.value;
      if (release_.minor < 19) {
        Info("NET/IB: Dev {} Port {} qpn {} mtu {} {}", device, kLoggedRdmaPort, qpn, mtu, gid);
      } else if (release_.minor < 27) {
        Info(
            "NET/IB: NCCL Dev {} IbDev {} Port {} qpn {} mtu {} query_{} {} fifoRkey={:#x} "
            "fifoLkey={:#x}",
            device, device, kLoggedRdmaPort, qpn, mtu, kEce, gid, rkey, rkey);
      } else if (release_.minor < 29) {
        Info("NET/IB: NCCL Dev {} IbDev {} Port {} qpn {} mtu {} {} fifoRkey={:#x} fifoLkey={:#x}",
             device, device, kLoggedRdmaPort, qpn, mtu, gid, rkey, rkey);
        Info("NET/IB: IbDev {} Port {} qpn {} query_{}", device, kLoggedRdmaPort, qpn, kEce);
      } else {
        Info(
            "NET/IB: ncclIbConnect: NCCL Dev {} IbDev {} Port {} qp_num {} mtu {} {} "
            "ctsFifoRkey={:#x} ctsFifoLkey={:#x}",
            device, device, kLoggedRdmaPort, qpn, mtu, gid, rkey, rkey);
      }
    }
    // The reply of the peer. From 2.20 to 2.26 the line contains the peer's QPN.
    if (release_.minor < 20 || release_.minor >= 27) return;
    for (const auto& queue_pair : connection.queue_pairs) {
      Info("NET/IB: IbDev {} Port {} qpn {} set_{}", device, kLoggedRdmaPort,
           queue_pair.receiver.value, kEce);
    }
  }

  const topology::Fabric& fabric_;
  const LoggedJob& job_;
  const uint32_t rank_;
  const LoggedRank& own_;
  const topology::NodeIndex host_;
  const NcclRelease& release_;
  const bool has_net_lines_;
  uint32_t thread_;
  uint32_t init_thread_ = 0;
  uint32_t proxy_thread_ = 0;
  uint32_t proxied_ = 0;
  std::string text_;
};

}  // namespace

std::span<const NcclRelease> NcclReleases() { return kReleases; }

Result<NcclRelease> FindNcclRelease(std::string_view name) {
  std::string known;
  for (const NcclRelease& release : kReleases) {
    const std::string own = fmt::format("2.{}", release.minor);
    if (own == name) return release;
    known += (known.empty() ? "" : ", ") + own;
  }
  return MakeError(
      ErrorCode::kInvalidArgument,
      fmt::format("NCCL {}: unsupported log version; expected one of {}", name, known));
}

std::string RenderNcclLog(const topology::Fabric& fabric, const LoggedJob& job, uint32_t rank,
                          const NcclRelease& release, NcclLogContent content) {
  return Log(fabric, job, rank, release, content).Render();
}

}  // namespace rocescope::sim
