// SPDX-License-Identifier: BSD-3-Clause
// A DPDK port: a NIC or a virtual device (vdev) that EAL found, from its set-up to its end.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "dataplane/record/record.h"

struct rte_mempool;  // NOLINT(readability-identifier-naming): DPDK's

namespace rocescope {

struct PortOptions {
  uint16_t lcores = 1;     // that receive: queues of a port that can spread (RSS)
  uint32_t mbufs = 0;      // in the port's pool; 0: what its queues hold, and enough beside
  uint16_t data_room = 0;  // octets of a frame in one mbuf; 0: 1024 without hugepages, else 2048
};

// What a port counted since it was started.
struct PortCounters {
  uint64_t delivered = 0;  // frames that the driver handed over
  uint64_t missed = 0;     // frames that found the receive queues full (imissed)
  uint64_t no_mbuf = 0;    // frames for which the pool had no mbuf (rx_nombuf)
  uint64_t errors = 0;     // broken frames (ierrors)
  uint64_t on_wire = 0;    // frames that the hardware saw, delivered or not; 0 if it does not tell
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

  uint16_t id() const { return id_; }
  const std::string& name() const { return name_; }      // "0000:3b:00.0", "net_pcap0"
  const std::string& driver() const { return driver_; }  // "mlx5_pci", "net_pcap"
  uint16_t queues() const { return queues_; }
  uint16_t ring_size() const { return ring_size_; }  // descriptors a queue
  bool spreads() const { return spreads_; }          // both directions of an IP pair to one queue
  PortTime time() const { return time_; }

  // A capture file that ends, in place of a wire.
  bool is_file() const { return is_file_; }

  PortCounters Counters() const;
  uint32_t mbufs() const { return mbufs_; }
  uint32_t MbufsInUse() const;  // held by the driver, the caches and whoever received them
  rte_mempool* pool() const { return pool_; }

 private:
  Port() = default;
  Status Configure(const PortOptions& options);
  Status SetUpQueues(const PortOptions& options);
  Status TryQueues(uint16_t data_room);

  uint16_t id_ = 0;
  std::string name_;
  std::string driver_;
  uint16_t queues_ = 1;
  uint16_t ring_size_ = 0;
  bool spreads_ = false;
  bool is_file_ = false;
  bool started_ = false;
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
