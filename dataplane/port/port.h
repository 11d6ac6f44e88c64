// SPDX-License-Identifier: BSD-3-Clause
// A DPDK port: a NIC or a virtual device (vdev) that EAL found, from its set-up to its end.
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
  uint16_t lcores = 1;     // that receive: queues of a port that can spread (RSS)
  bool steer = false;      // and one more for what tells of congestion and loss, if the NIC can
  uint32_t mbufs = 0;      // in the port's pool; 0: what its queues hold, and enough beside
  uint16_t data_room = 0;  // octets of a frame in one mbuf; 0: as README.md says
  bool surveyed = false;   // somebody has looked at the link layer of its file
};

// What a port counted since it was started.
struct PortCounters {
  uint64_t delivered = 0;     // frames that the driver handed over
  uint64_t missed = 0;        // frames that found the receive queues full (imissed)
  uint64_t no_mbuf = 0;       // frames for which the pool had no mbuf (rx_nombuf)
  uint64_t errors = 0;        // broken frames (ierrors)
  uint64_t failed_reads = 0;  // net_pcap's errors, which are no frames: a damaged file, or an
                              // interface that is down, once for each poll
  uint64_t on_wire = 0;  // frames that the hardware saw, delivered or not; 0 if it does not tell
};

// How a port's frames tell when they came.
enum class PortTime : uint8_t {
  kArrival,            // they do not: the box's clock, read once a burst
  kEpochMicroseconds,  // a capture's times (net_pcap)
  kNicClock,           // ticks of the NIC's own clock
};

class Port {
 public:
  // Sets up port `id` with a pool of its own and all its queues. The port is stopped.
  static Result<std::unique_ptr<Port>> Open(uint16_t id, const PortOptions& options);

  // Stops and closes the port; its frames must have been freed.
  ~Port();
  Port(const Port&) = delete;
  Port& operator=(const Port&) = delete;

  Status Start();  // counters begin at 0
  void Stop();

  // Sentences about what the port cannot do, for people; more of them once it has started.
  const std::vector<std::string>& remarks() const { return remarks_; }

  uint16_t id() const { return id_; }
  const std::string& name() const { return name_; }      // "0000:3b:00.0", "net_pcap0"
  const std::string& driver() const { return driver_; }  // "mlx5_pci", "net_pcap"
  uint16_t queues() const { return queues_; }
  uint16_t ring_size() const { return ring_size_; }  // descriptors a queue
  // Both directions of an address pair come to one of the first spread_queues() queues.
  bool spreads() const { return hash_ != 0 && spread_queues_ > 1; }
  uint16_t spread_queues() const { return spread_queues_; }
  // Of a started port that spreads: entries of the table from hashes to queues, which go round; 0
  // if the driver does not let us write it, and they are as the driver likes.
  uint16_t table_size() const { return table_size_; }
  // Nothing comes by this queue of a started port.
  bool IsIdle(uint16_t queue) const { return queue >= spread_queues_ && !steers_; }
  PortTime time() const { return time_; }

  // A capture file that ends, in place of a wire.
  bool is_file() const { return is_file_; }

  // Whether its driver can tell `missed` and `no_mbuf`, which else are 0 whatever was lost.
  bool counts_losses() const { return driver_ != "net_af_packet"; }

  enum class Link : uint8_t { kUp, kDown, kGone };
  // Of the NIC, or of the network interface that a virtual device reads. May open a file.
  Link GetLink() const;

  // nullopt: the driver does not say.
  std::optional<PortCounters> Counters() const;
  uint32_t mbufs() const { return mbufs_; }
  uint32_t MbufsInUse() const;  // held by the driver and whoever received them
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
  size_t remarks_of_start_ = 0;  // where those begin
  uint16_t queues_ = 1;
  uint16_t spread_queues_ = 1;
  uint16_t ring_size_ = 0;
  uint64_t hash_ = 0;
  uint16_t table_size_ = 0;
  bool steers_ = false;
  bool is_file_ = false;
  bool started_ = false;
  bool set_promiscuous_ = false;
  std::string interface_;  // that a virtual device reads; may be empty
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

// The ports that EAL has, or those of them that `wanted` names by device name or number; an error
// names those that there are.
Result<std::vector<uint16_t>> FindPorts(const std::vector<std::string>& wanted);

}  // namespace rocescope
