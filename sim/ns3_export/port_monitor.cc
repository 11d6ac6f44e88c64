// SPDX-License-Identifier: BSD-3-Clause
#include "sim/ns3_export/port_monitor.h"

#include <ns3/callback.h>
#include <ns3/double.h>
#include <ns3/ipv4.h>
#include <ns3/node.h>
#include <ns3/pointer.h>
#include <ns3/queue-size.h>
#include <ns3/simulator.h>
#include <ns3/traffic-control-layer.h>
#include <ns3/uinteger.h>

#include <utility>

namespace rocescope::ns3_export {
namespace {

using ns3::Packet;
using ns3::Ptr;
using ns3::QueueDiscItem;

// RED and its variants have MinTh, in the unit of the queue's size.
uint64_t MarkingThresholdOf(const ns3::QueueDisc& queue_disc) {
  ns3::DoubleValue threshold;
  if (!queue_disc.GetAttributeFailSafe("MinTh", threshold)) return 0;
  if (queue_disc.GetMaxSize().GetUnit() == ns3::QueueSizeUnit::BYTES) {
    return static_cast<uint64_t>(threshold.Get());
  }
  ns3::UintegerValue packet_bytes;
  if (!queue_disc.GetAttributeFailSafe("MeanPktSize", packet_bytes)) return 0;
  return static_cast<uint64_t>(threshold.Get() * static_cast<double>(packet_bytes.Get()));
}

}  // namespace

PortMonitor::PortMonitor(topology::PortIndex index, Ptr<ns3::NetDevice> device,
                         const LinkLayer& link, PortListener& listener)
    : index_(index), device_(std::move(device)), link_(link), listener_(listener) {
  if (const auto control = device_->GetNode()->GetObject<ns3::TrafficControlLayer>()) {
    queue_disc_ = control->GetRootQueueDiscOnDevice(device_);
  }
  if (queue_disc_) congested_from_ = MarkingThresholdOf(*queue_disc_);
  ns3::PointerValue queue;
  if (device_->GetAttributeFailSafe("TxQueue", queue)) queue_ = queue.Get<ns3::QueueBase>();
  Connect(true);
}

PortMonitor::~PortMonitor() { Connect(false); }

void PortMonitor::Connect(bool connect) {
  const auto trace = [connect](ns3::Object& object, const char* name, const auto& callback) {
    connect ? object.TraceConnectWithoutContext(name, callback)
            : object.TraceDisconnectWithoutContext(name, callback);
  };
  trace(*device_, "PhyTxBegin", ns3::MakeCallback(&PortMonitor::PhyTxBegin, this));
  trace(*device_, "MacRx", ns3::MakeCallback(&PortMonitor::MacRx, this));
  trace(*device_, "MacPromiscRx", ns3::MakeCallback(&PortMonitor::MacRx, this));
  trace(*device_, "PhyRxDrop", ns3::MakeCallback(&PortMonitor::PhyRxDrop, this));
  trace(*device_, "MacTxDrop", ns3::MakeCallback(&PortMonitor::MacTxDrop, this));
  trace(*device_, "PhyTxDrop", ns3::MakeCallback(&PortMonitor::MacTxDrop, this));
  if (!queue_disc_) return;
  trace(*queue_disc_, "Enqueue", ns3::MakeCallback(&PortMonitor::Enqueue, this));
  trace(*queue_disc_, "Drop", ns3::MakeCallback(&PortMonitor::Drop, this));
  trace(*queue_disc_, "Mark", ns3::MakeCallback(&PortMonitor::Mark, this));
}

uint64_t PortMonitor::QueuedBytes() const {
  return (queue_disc_ ? queue_disc_->GetNBytes() : 0) + (queue_ ? queue_->GetNBytes() : 0);
}

int32_t PortMonitor::Interface() const {
  const auto ipv4 = device_->GetNode()->GetObject<ns3::Ipv4>();
  return ipv4 ? ipv4->GetInterfaceForDevice(device_) : -1;
}

bool PortMonitor::IsInterfaceUp() const {
  const int32_t interface = Interface();
  return interface < 0 ||
         device_->GetNode()->GetObject<ns3::Ipv4>()->IsUp(static_cast<uint32_t>(interface));
}

void PortMonitor::PhyTxBegin(Ptr<const Packet> packet) {
  ++counters_.tx_packets;
  counters_.tx_bytes += FrameLength(*packet, link_);
  peak_ = std::max(peak_, QueuedBytes());
  listener_.Sends(*this, *packet);
}

void PortMonitor::MacRx(Ptr<const Packet> packet) {
  const int64_t now = ns3::Simulator::Now().GetTimeStep();
  if (packet->GetUid() == last_uid_ && now == last_time_) return;
  last_uid_ = packet->GetUid();
  last_time_ = now;
  ++counters_.rx_packets;
  counters_.rx_bytes += FrameLength(*packet, link_);
  listener_.Receives(*this, *packet);
}

void PortMonitor::PhyRxDrop(Ptr<const Packet> packet) {
  ++counters_.fcs_errors;
  listener_.Loses(*this, packet->GetUid(), Loss::kLink);
}

void PortMonitor::MacTxDrop(Ptr<const Packet> packet) {
  ++counters_.queue_drops;
  ++counters_.tx_discards;
  listener_.Loses(*this, packet->GetUid(), Loss::kQueue);
}

void PortMonitor::Enqueue(Ptr<const QueueDiscItem>) { peak_ = std::max(peak_, QueuedBytes()); }

void PortMonitor::Drop(Ptr<const QueueDiscItem> item) {
  ++counters_.queue_drops;
  ++counters_.tx_discards;
  listener_.Loses(*this, item->GetPacket()->GetUid(), Loss::kQueue);
}

void PortMonitor::Mark(Ptr<const QueueDiscItem>, const char*) { ++counters_.ecn_marked; }

}  // namespace rocescope::ns3_export
