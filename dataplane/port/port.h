// SPDX-License-Identifier: BSD-3-Clause
// A DPDK port: a NIC or a virtual device (vdev) that EAL found.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "dataplane/record/record.h"

struct rte_mempool;  // NOLINT(readability-identifier-naming): DPDK's

namespace rocescope {

struct PortOptions {
  uint16_t lcores = 1;     // number of receiving lcores: queues of a port that supports RSS
  bool steer = false;      // adds a queue for CNPs and NAKs if the NIC supports it
  uint32_t mbufs = 0;      // number of mbufs in the port's pool; 0: enough for its queues
  uint16_t data_room = 0;  // bytes of a frame per mbuf; 0: chosen as README.md describes
  bool surveyed = false;   // the link layer of the capture file was already checked
};

// Counters of a port since its start.
struct PortCounters {
  uint64_t delivered = 0;  // frames that the driver delivered
  uint64_t missed = 0;     // frames dropped because the receive queues were full (imissed)
  uint64_t no_mbuf = 0;    // frames dropped because the mbuf pool was empty (rx_nombuf)
  uint64_t errors = 0;     // frames received with errors (ierrors)
  // net_pcap's errors, which are not frames: a damaged file, or one per poll of an interface that
  // is down.
  uint64_t failed_reads = 0;
  uint64_t on_wire = 0;  // frames that the hardware counted, delivered or not; 0 if unknown
};

// Source of a frame's timestamp.
enum class PortTime : uint8_t {
  kArrival,            // none: the system clock is read once per burst
  kEpochMicroseconds,  // the timestamps of a capture (net_pcap)
  kNicClock,           // ticks of the NIC's clock
};

class Port {
 public:
  // Configures port `id` with its own pool and all its queues. The port is not started.
  static Result<std::unique_ptr<Port>> Open(uint16_t id, const PortOptions& options);

  // Stops and closes the port. All its frames must have been freed.
  ~Port();
  Port(const Port&) = delete;
  Port& operator=(const Port&) = delete;

  Status Start();  // counters start at 0
  void Stop();

  // Messages for the user about limitations of the port. Start may add some.
  const std::vector<std::string>& remarks() const { return remarks_; }

  uint16_t id() const { return id_; }
  const std::string& name() const { return name_; }      // "0000:3b:00.0", "net_pcap0"
  const std::string& driver() const { return driver_; }  // "mlx5_pci", "net_pcap"
  uint16_t queues() const { return queues_; }
  uint16_t ring_size() const { return ring_size_; }  // descriptors per queue
  // Both directions of an address pair arrive at the same one of the first spread_queues() queues.
  bool spreads() const { return hash_ != 0 && spread_queues_ > 1; }
  uint16_t spread_queues() const { return spread_queues_; }
  // For a started port that distributes: size of the RSS table, which is filled with the queues in
  // round-robin order; 0 if the driver does not allow it to be written and uses its default.
  uint16_t table_size() const { return table_size_; }
  // No frames arrive at this queue of a started port.
  bool IsIdle(uint16_t queue) const { return queue >= spread_queues_ && !steers_; }
  PortTime time() const { return time_; }

  // The port reads a capture file, which ends, instead of a network.
  bool is_file() const { return is_file_; }

  // Whether the driver reports `missed` and `no_mbuf`. Otherwise they are 0 whatever was lost.
  bool counts_losses() const { return driver_ != "net_af_packet"; }

  enum class Link : uint8_t { kUp, kDown, kGone };
  // Link state of the NIC, or of the network interface that a virtual device reads. May open a
  // file.
  Link GetLink() const;

  // Returns nullopt if the driver reports no statistics.
  std::optional<PortCounters> Counters() const;
  uint32_t mbufs() const { return mbufs_; }
  uint32_t MbufsInUse() const;  // mbufs held by the driver and by receivers
  rte_mempool* pool() const { return pool_; }

 private:
  Port() = default;
  Status Configure(const PortOptions& options);
  Status CheckFile(const std::string& path) const;
  Status SetUpQueues(const PortOptions& options);
  Status TryQueues(uint16_t data_room);
  void WriteTable();
  void Steer();

  uint16_t id_ = 0;
  std::string name_;
  std::string driver_;
  std::vector<std::string> remarks_;
  size_t remarks_of_start_ = 0;  // index of the first remark of the start
  uint16_t queues_ = 1;
  uint16_t spread_queues_ = 1;
  uint16_t ring_size_ = 0;
  uint64_t hash_ = 0;
  uint16_t table_size_ = 0;
  bool steers_ = false;
  bool is_file_ = false;
  bool started_ = false;
  bool set_promiscuous_ = false;
  std::string interface_;  // interface that a virtual device reads; may be empty
  PortTime time_ = PortTime::kArrival;
  uint32_t mbufs_ = 0;
  int socket_ = 0;
  rte_mempool* pool_ = nullptr;
};

// A receive queue of a started port.
struct ReceiveQueue {
  const Port* port = nullptr;
  uint16_t queue = 0;
  TapId tap = 0;  // index into the names of taps
};

// Returns all ports that EAL has, or those that `wanted` gives by device name or number. The error
// lists the existing ports.
Result<std::vector<uint16_t>> FindPorts(const std::vector<std::string>& wanted);

}  // namespace rocescope
