// SPDX-License-Identifier: BSD-3-Clause
#include "dataplane/port/port.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <rte_dev.h>
#include <rte_devargs.h>
#include <rte_eal.h>
#include <rte_ethdev.h>
#include <rte_flow.h>
#include <rte_lcore.h>
#include <rte_mbuf.h>
#include <rte_mbuf_dyn.h>
#include <rte_mempool.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <string_view>
#include <system_error>
#include <utility>

#include "dataplane/port/address_hash.h"
#include "dataplane/port/eal_log.h"
#include "dataplane/port/flow_rules.h"
#include "dataplane/port/hardware_count.h"
#include "dataplane/source/capture.h"

namespace rocescope {
namespace {

constexpr uint16_t kDescriptors = 2048;    // a queue's; 1 ms of 2 M frames a second
constexpr uint32_t kBetweenLcores = 8191;  // mbufs on their way from one to another
constexpr uint32_t kCache = 256;           // mbufs that each lcore keeps for itself
constexpr uint16_t kRoceMtu = 9216 - 26;   // mirrors put headers around jumbo frames

// A packet of RoCE's largest MTU, 4096 octets, and what a mirror puts around it.
constexpr uint16_t kRoceRoom = 4352;
// Without hugepages an mbuf of 2 KiB or more lies alone in its pages, all at the same offset: they
// share a few sets of the first-level cache, and reception falls to a quarter.
constexpr uint16_t kSmallRoom = 1024;
constexpr uint16_t kUsualRoom = 2048;
constexpr uint16_t kJumboRoom = 9216;

Error PortError(const std::string& name, std::string_view step, int error) {
  return {.code = error == -ENOMEM ? ErrorCode::kResourceExhausted : ErrorCode::kUnavailable,
          .message = fmt::format("port {}: {}: {}", name, step, rte_strerror(-error))};
}

std::string NameOf(uint16_t id) {
  std::array<char, RTE_ETH_NAME_MAX_LEN> name{};
  return rte_eth_dev_get_name_by_port(id, name.data()) == 0 ? name.data() : fmt::format("{}", id);
}

std::string_view DeviceArguments(const rte_eth_dev_info& info) {
  const rte_devargs* arguments = rte_dev_devargs(info.device);
  if (arguments == nullptr || arguments->args == nullptr) return {};
  return arguments->args;
}

// The value of `key` ("iface=") in a device's arguments; empty if it is not there.
std::string ArgumentOf(const rte_eth_dev_info& info, std::string_view key) {
  std::string_view rest = DeviceArguments(info);
  while (!rest.empty()) {
    const std::string_view word = rest.substr(0, rest.find(','));
    if (word.starts_with(key)) return std::string(word.substr(key.size()));
    rest.remove_prefix(std::min(word.size() + 1, rest.size()));
  }
  return {};
}

// What a driver says while it lives stays here: an attempt that failed and was repeated in another
// way need not alarm anybody.
class CollectedLog {
 public:
  CollectedLog() { EalLog::Install().Collect(true); }
  ~CollectedLog() {
    EalLog::Install().TakeProblems();
    EalLog::Install().Collect(false);
  }
  CollectedLog(const CollectedLog&) = delete;
  CollectedLog& operator=(const CollectedLog&) = delete;

  Error AddTo(Error error) const {
    const std::string said = OneLine(EalLog::Install().TakeProblems());
    if (!said.empty()) error.message += fmt::format(" (the driver said: {})", said);
    return error;
  }
};

// net_pcap with rx_pcap ends with its file, unless it repeats that for ever.
bool EndsWithItsFile(const rte_eth_dev_info& info) {
  const std::string_view arguments = DeviceArguments(info);
  return arguments.find("rx_pcap=") != std::string_view::npos &&
         arguments.find("infinite_rx=1") == std::string_view::npos;
}

PortTime TimeOfPort(uint16_t id, const std::string& driver, uint64_t offloads) {
  if (driver == "net_pcap") return PortTime::kEpochMicroseconds;
  uint64_t ticks = 0;
  const bool stamps =
      (offloads & RTE_ETH_RX_OFFLOAD_TIMESTAMP) != 0 && rte_eth_read_clock(id, &ticks) == 0;
  return stamps ? PortTime::kNicClock : PortTime::kArrival;
}

}  // namespace

Result<std::unique_ptr<Port>> Port::Open(uint16_t id, const PortOptions& options) {
  std::unique_ptr<Port> port(new Port);
  port->id_ = id;
  port->name_ = NameOf(id);
  const CollectedLog log;
  if (auto done = port->Configure(options); !done) return tl::unexpected(log.AddTo(done.error()));
  if (auto done = port->SetUpQueues(options); !done) return tl::unexpected(log.AddTo(done.error()));
  return port;
}

Status Port::Configure(const PortOptions& options) {
  rte_eth_dev_info info{};
  if (const int error = rte_eth_dev_info_get(id_, &info); error != 0) {
    return tl::unexpected(PortError(name_, "its driver does not describe it", error));
  }
  driver_ = info.driver_name == nullptr ? "" : info.driver_name;
  is_file_ = driver_ == "net_pcap" && EndsWithItsFile(info);
  socket_ = rte_eth_dev_socket_id(id_);
  for (const std::string_view key : {"iface=", "rx_iface=", "rx_iface_in="}) {
    if (interface_.empty()) interface_ = ArgumentOf(info, key);
  }
  if (is_file_ && !options.surveyed) {
    if (Status ethernet = CheckFile(ArgumentOf(info, "rx_pcap=")); !ethernet) return ethernet;
  }

  const AddressHash hash = AddressHashOf(info.flow_type_rss_offloads);
  hash_ = hash.types;
  // Queues of a vdev are sources of their own (files, rings, sockets): all must be read.
  const uint16_t queues = hash_ != 0 ? options.lcores : std::max<uint16_t>(info.nb_rx_queues, 1);
  const uint16_t most = std::max<uint16_t>(info.max_rx_queues, 1);
  spread_queues_ = queues_ = std::clamp<uint16_t>(queues, 1, most);
  if (options.steer && spreads() && queues_ < most) ++queues_;
  if (spreads() && !hash.ipv6) {
    remarks_.push_back(fmt::format(
        "port {}: its NIC has no hash of IPv6 addresses: IPv6 comes by one queue", name_));
  }

  rte_eth_conf conf{};
  conf.rxmode.offloads =
      info.rx_offload_capa & (RTE_ETH_RX_OFFLOAD_SCATTER | RTE_ETH_RX_OFFLOAD_TIMESTAMP);
  conf.rxmode.mtu = std::clamp(kRoceMtu, info.min_mtu, info.max_mtu);
  std::array<uint8_t, kSymmetricKey.size()> key = kSymmetricKey;
  if (spreads()) {
    conf.rxmode.mq_mode = RTE_ETH_MQ_RX_RSS;
    conf.rx_adv_conf.rss_conf.rss_key = key.data();
    conf.rx_adv_conf.rss_conf.rss_key_len =
        std::min<uint8_t>(info.hash_key_size == 0 ? 40 : info.hash_key_size, key.size());
    conf.rx_adv_conf.rss_conf.rss_hf = hash_;
  }
  const uint16_t transmit = info.max_tx_queues == 0 ? 0 : 1;  // some drivers refuse to have none
  int error = rte_eth_dev_configure(id_, queues_, transmit, &conf);
  if (error == -EINVAL) {  // a driver without jumbo frames
    conf.rxmode.mtu = RTE_ETHER_MTU;
    error = rte_eth_dev_configure(id_, queues_, transmit, &conf);
  }
  if (error != 0) return tl::unexpected(PortError(name_, "cannot be configured", error));
  if (conf.rxmode.mtu < kRoceRoom) {
    remarks_.push_back(fmt::format(
        "port {}: its driver takes packets of at most {} octets; mirrored RoCE packets of 4096 are "
        "larger, and the NIC drops what does not fit",
        name_, conf.rxmode.mtu));
  }
  remarks_of_start_ = remarks_.size();
  time_ = TimeOfPort(id_, driver_, conf.rxmode.offloads);

  uint16_t transmit_ring = 512;
  ring_size_ = kDescriptors;
  error = rte_eth_dev_adjust_nb_rx_tx_desc(id_, &ring_size_, &transmit_ring);
  for (uint16_t queue = 0; error == 0 && queue < transmit; ++queue) {
    error =
        rte_eth_tx_queue_setup(id_, queue, transmit_ring, static_cast<unsigned>(socket_), nullptr);
  }
  if (error != 0) return tl::unexpected(PortError(name_, "its queues cannot be set up", error));
  return {};
}

// net_pcap takes the octets of any link layer for Ethernet's.
Status Port::CheckFile(const std::string& path) const {
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error)) return {};
  const auto source = OpenCapture(path);
  if (!source) {
    return MakeError(ErrorCode::kInvalidArgument,
                     fmt::format("port {}: {}", name_, source.error().message));
  }
  RawFrame frame;
  const Result<size_t> count = (*source)->ReadBatch({&frame, 1});
  if (!count || *count == 0 || frame.link_type == LinkType::kEthernet) return {};
  return MakeError(
      ErrorCode::kInvalidArgument,
      fmt::format("port {}: the link layer of {} is {}, and a port's is Ethernet: replay "
                  "it",
                  name_, path, static_cast<int>(frame.link_type)));
}

Port::Link Port::GetLink() const {
  if (!interface_.empty()) {
    std::ifstream file("/sys/class/net/" + interface_ + "/operstate");
    std::string state;
    if (!(file >> state)) return Link::kGone;
    return state == "down" || state == "lowerlayerdown" ? Link::kDown : Link::kUp;
  }
  rte_eth_link link{};
  const int error = rte_eth_link_get_nowait(id_, &link);
  if (error == -ENODEV || error == -EIO) return Link::kGone;
  return error == 0 && link.link_status == RTE_ETH_LINK_DOWN ? Link::kDown : Link::kUp;
}

Status Port::SetUpQueues(const PortOptions& options) {
  const uint32_t held = uint32_t{queues_} * ring_size_;
  mbufs_ =
      options.mbufs != 0 ? options.mbufs : held * 2 + options.lcores * kCache * 2 + kBetweenLcores;
  if (options.data_room != 0) return TryQueues(options.data_room);
  const bool hugepages = rte_eal_has_hugepages() != 0;
  Status first = TryQueues(hugepages ? kRoceRoom : kSmallRoom);
  if (first) return first;
  const bool no_memory = pool_ == nullptr;  // drivers say ENOMEM to small mbufs too
  // Less memory may do. Else, some drivers put no frame into several mbufs and refuse ones that are
  // too small for it. What was wrong at first is what the user should hear.
  if (no_memory && hugepages && TryQueues(kUsualRoom)) return {};
  for (const uint16_t larger : {kUsualRoom, kJumboRoom}) {
    if (!no_memory && TryQueues(larger)) return {};
  }
  return first;
}

Status Port::TryQueues(uint16_t data_room) {
  rte_mempool_free(pool_);
  const uint32_t cache = std::min(kCache, mbufs_ / 4);
  pool_ = rte_pktmbuf_pool_create(fmt::format("rocescope_{}", id_).c_str(), mbufs_, cache, 0,
                                  static_cast<uint16_t>(data_room + RTE_PKTMBUF_HEADROOM), socket_);
  if (pool_ == nullptr) {
    return MakeError(ErrorCode::kResourceExhausted,
                     fmt::format("port {}: no memory for {} mbufs of {} octets: {}; give EAL more "
                                 "(-m 1024), or fewer mbufs (--mbufs)",
                                 name_, mbufs_, data_room, rte_strerror(rte_errno)));
  }
  for (uint16_t queue = 0; queue < queues_; ++queue) {
    const int error = rte_eth_rx_queue_setup(id_, queue, ring_size_, static_cast<unsigned>(socket_),
                                             nullptr, pool_);
    if (error != 0) {
      return tl::unexpected(PortError(
          name_, fmt::format("receive queue {} with mbufs of {} octets", queue, data_room), error));
    }
  }
  return {};
}

Port::~Port() {
  Stop();
  rte_eth_dev_close(id_);
  rte_mempool_free(pool_);
}

Status Port::Start() {
  remarks_.resize(remarks_of_start_);
  // Before it, so that no frame is forgotten.
  rte_eth_stats_reset(id_);
  rte_eth_xstats_reset(id_);
  if (const int error = rte_eth_dev_start(id_); error != 0) {
    return tl::unexpected(PortError(name_, "does not start", error));
  }
  started_ = true;
  // A mirror's frames go to other MAC addresses. Drivers that have no such mode take everything.
  const bool was_promiscuous = rte_eth_promiscuous_get(id_) == 1;
  const int error = rte_eth_promiscuous_enable(id_);
  set_promiscuous_ = error == 0 && !was_promiscuous;
  if (error != 0 && error != -ENOTSUP) {
    return tl::unexpected(PortError(name_, "does not take other hosts' frames", error));
  }
  if (spreads()) WriteTable();
  Steer();
  return {};
}

// Hashes go round the queues: the same on every port whose table is as long, and the queue that is
// kept for rules gets none of them.
void Port::WriteTable() {
  table_size_ = 0;
  rte_eth_dev_info info{};
  if (rte_eth_dev_info_get(id_, &info) != 0 || info.reta_size == 0) return;
  std::vector<rte_eth_rss_reta_entry64> table((info.reta_size + RTE_ETH_RETA_GROUP_SIZE - 1) /
                                              RTE_ETH_RETA_GROUP_SIZE);
  for (uint16_t i = 0; i < info.reta_size; ++i) {
    rte_eth_rss_reta_entry64& group = table[i / RTE_ETH_RETA_GROUP_SIZE];
    group.mask |= uint64_t{1} << i % RTE_ETH_RETA_GROUP_SIZE;
    group.reta[i % RTE_ETH_RETA_GROUP_SIZE] = i % spread_queues_;
  }
  if (rte_eth_dev_rss_reta_update(id_, table.data(), info.reta_size) == 0) {
    table_size_ = info.reta_size;
  }
}

void Port::Steer() {
  steers_ = false;
  if (queues_ == spread_queues_) return;
  if (table_size_ == 0) {
    spread_queues_ = queues_;  // the driver spreads over the last one too
    return;
  }
  const uint16_t queue = queues_ - 1;
  const SteeringRules rules = SteerCongestionSignals(id_, queue);
  steers_ = !rules.installed.empty();
  if (steers_) {
    remarks_.push_back(fmt::format("port {}: {} of plain IPv4 come by queue {}, and nothing else",
                                   name_, fmt::join(rules.installed, " and "), queue));
  }
  if (!rules.refused.empty()) {
    remarks_.push_back(fmt::format("port {}: its NIC has no queue for {}: {}", name_,
                                   fmt::join(rules.not_installed, " and "), rules.refused));
  }
}

void Port::Stop() {
  if (!started_) return;
  rte_flow_error error{};
  if (steers_) rte_flow_flush(id_, &error);
  if (std::exchange(set_promiscuous_, false)) rte_eth_promiscuous_disable(id_);
  rte_eth_dev_stop(id_);
  started_ = false;
}

std::optional<PortCounters> Port::Counters() const {
  rte_eth_stats stats{};
  if (rte_eth_stats_get(id_, &stats) != 0) return std::nullopt;
  const bool polls = driver_ == "net_pcap";
  return PortCounters{.delivered = stats.ipackets,
                      .missed = stats.imissed,
                      .no_mbuf = stats.rx_nombuf,
                      .errors = polls ? 0 : stats.ierrors,
                      .failed_reads = polls ? stats.ierrors : 0,
                      .on_wire = HardwareCount(id_)};
}

uint32_t Port::MbufsInUse() const { return rte_mempool_in_use_count(pool_); }

Result<std::vector<uint16_t>> FindPorts(const std::vector<std::string>& wanted) {
  std::vector<uint16_t> all;
  std::vector<std::string> names;
  uint16_t id = 0;
  RTE_ETH_FOREACH_DEV(id) {
    all.push_back(id);
    names.push_back(NameOf(id));
  }
  if (all.empty()) {
    return MakeError(ErrorCode::kNotFound,
                     "EAL found no port: bind a NIC to vfio-pci and name it by -a 0000:3b:00.0, or "
                     "give a virtual device such as --vdev net_pcap0,rx_pcap=FILE");
  }
  if (wanted.empty()) return all;
  std::vector<uint16_t> chosen;
  for (const std::string& word : wanted) {
    size_t at = std::find(names.begin(), names.end(), word) - names.begin();
    uint16_t number = 0;
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), number);
    if (at == names.size() && error == std::errc() && end == word.data() + word.size()) {
      at = std::find(all.begin(), all.end(), number) - all.begin();
    }
    if (at == all.size()) {
      return MakeError(ErrorCode::kNotFound, fmt::format("there is no port {}; EAL has {}", word,
                                                         fmt::join(names, ", ")));
    }
    if (std::find(chosen.begin(), chosen.end(), all[at]) == chosen.end()) chosen.push_back(all[at]);
  }
  return chosen;
}

}  // namespace rocescope
