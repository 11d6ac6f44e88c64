// SPDX-License-Identifier: BSD-3-Clause
// Counts the frames that the trace sources of a device and of its queue disc report, and passes
// them to a listener.
#pragma once

#include <ns3/net-device.h>
#include <ns3/packet.h>
#include <ns3/ptr.h>
#include <ns3/queue-disc.h>
#include <ns3/queue.h>

#include <algorithm>
#include <cstdint>

#include "sim/ns3_export/frame_bytes.h"
#include "topology/fabric.h"

namespace rocescope::ns3_export {

class PortMonitor;

enum class Loss : uint8_t { kQueue, kLink, kInterfaceDown, kTtl, kRoute, kOther };

class PortListener {
 public:
  virtual ~PortListener() = default;
  virtual void Sends(PortMonitor& port, const ns3::Packet& packet) = 0;
  virtual void Receives(PortMonitor& port, const ns3::Packet& packet) = 0;
  // `uid`: unique ID of the packet in ns-3.
  virtual void Loses(PortMonitor& port, uint64_t uid, Loss cause) = 0;
};

// Byte counts are those of Ethernet frames without FCS.
struct PortCounters {
  uint64_t rx_bytes = 0;
  uint64_t rx_packets = 0;
  uint64_t tx_bytes = 0;
  uint64_t tx_packets = 0;
  uint64_t fcs_errors = 0;   // frames that the receive error model of the device dropped
  uint64_t rx_discards = 0;  // frames dropped by IP because the interface is down, and other causes
  uint64_t tx_discards = 0;  // frames dropped by the queues or because the interface is down
  uint64_t queue_drops = 0;
  uint64_t ttl_drops = 0;
  uint64_t no_route_drops = 0;
  uint64_t ecn_marked = 0;
  uint64_t link_flaps = 0;
  // RoCE packets at hosts.
  uint64_t cnp_sent = 0;
  uint64_t cnp_handled = 0;
  uint64_t ecn_marked_roce = 0;
  uint64_t sequence_naks = 0;
};

class PortMonitor {
 public:
  PortMonitor(topology::PortIndex index, ns3::Ptr<ns3::NetDevice> device, const LinkLayer& link,
              PortListener& listener);
  ~PortMonitor();  // disconnects
  PortMonitor(const PortMonitor&) = delete;
  PortMonitor& operator=(const PortMonitor&) = delete;

  topology::PortIndex index() const { return index_; }
  const ns3::Ptr<ns3::NetDevice>& device() const { return device_; }
  const LinkLayer& link() const { return link_; }
  PortCounters& counters() { return counters_; }

  // Bytes in the queue disc and in the queue of the device.
  uint64_t QueuedBytes() const;
  // Returns the greatest depth since the last call.
  uint64_t TakePeak() { return std::exchange(peak_, QueuedBytes()); }
  // Depth in bytes from which the queue disc marks or drops packets (RED: MinTh); 0: unknown.
  uint64_t CongestedFrom() const { return congested_from_; }
  // Whether the IP interface is up. A device without one, for example in a bridge, is always up.
  bool IsInterfaceUp() const;
  // Number of the IP interface; -1: none.
  int32_t Interface() const;

 private:
  void Connect(bool connect);
  void PhyTxBegin(ns3::Ptr<const ns3::Packet> packet);
  void MacRx(ns3::Ptr<const ns3::Packet> packet);
  void PhyRxDrop(ns3::Ptr<const ns3::Packet> packet);
  void MacTxDrop(ns3::Ptr<const ns3::Packet> packet);
  void Enqueue(ns3::Ptr<const ns3::QueueDiscItem> item);
  void Drop(ns3::Ptr<const ns3::QueueDiscItem> item);
  void Mark(ns3::Ptr<const ns3::QueueDiscItem> item, const char* reason);

  const topology::PortIndex index_;
  const ns3::Ptr<ns3::NetDevice> device_;
  const LinkLayer link_;
  PortListener& listener_;
  ns3::Ptr<ns3::QueueDisc> queue_disc_;  // may be null
  ns3::Ptr<ns3::QueueBase> queue_;       // of the device
  uint64_t congested_from_ = 0;
  uint64_t peak_ = 0;
  PortCounters counters_;
  // The last frame received. A frame can fire both MacPromiscRx and MacRx.
  uint64_t last_uid_ = UINT64_MAX;
  int64_t last_time_ = -1;
};

}  // namespace rocescope::ns3_export
