// SPDX-License-Identifier: BSD-3-Clause
// A leaf-spine fabric of stock ns-3 models: PointToPoint links, global routing and RED queue discs
// with ECN. Each host sends RDMA WRITEs to the host of the same number on the next leaf. A link
// between a leaf and a spine fails, and routing avoids it.
#include <ns3/boolean.h>
#include <ns3/command-line.h>
#include <ns3/config.h>
#include <ns3/double.h>
#include <ns3/global-value.h>
#include <ns3/internet-stack-helper.h>
#include <ns3/ipv4-address-helper.h>
#include <ns3/ipv4-global-routing-helper.h>
#include <ns3/ipv4.h>
#include <ns3/node-container.h>
#include <ns3/point-to-point-helper.h>
#include <ns3/simulator.h>
#include <ns3/string.h>
#include <ns3/traffic-control-helper.h>
#include <ns3/uinteger.h>

#include <iostream>
#include <string>
#include <vector>

#include "sim/ns3_export/examples/roce_application.h"
#include "sim/ns3_export/exporter.h"

namespace {

using ns3::MicroSeconds;
using ns3::MilliSeconds;
using ns3::Ptr;
using rocescope::ns3_export::Exporter;
using rocescope::ns3_export::Options;
using rocescope::ns3_export::QueuePair;
using rocescope::ns3_export::RoceApplication;
using rocescope::ns3_export::Tier;

constexpr uint32_t kLeaves = 4;
constexpr uint32_t kSpines = 2;
constexpr uint32_t kHostsPerLeaf = 2;

void SetLinkUp(const ns3::NetDeviceContainer& ends, bool up) {
  for (uint32_t i = 0; i < 2; ++i) {
    const auto ipv4 = ends.Get(i)->GetNode()->GetObject<ns3::Ipv4>();
    const auto interface = static_cast<uint32_t>(ipv4->GetInterfaceForDevice(ends.Get(i)));
    up ? ipv4->SetUp(interface) : ipv4->SetDown(interface);
  }
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  options.scenario = "ns3-leaf-spine";
  ns3::Time duration = MilliSeconds(10);
  ns3::Time failure = MilliSeconds(4);
  bool spray = false;
  ns3::CommandLine arguments;
  arguments.AddValue("directory", "Run directory to write", options.directory);
  arguments.AddValue("duration", "Simulated time", duration);
  arguments.AddValue("failure", "Time at which a link fails; 0: never", failure);
  arguments.AddValue("egress", "Also mirror the frames that ports send", options.mirror_egress);
  arguments.AddValue("snap", "Bytes kept of a mirrored frame; 0: all", options.snap_length);
  arguments.AddValue("spray", "Choose a random path for each packet (RandomEcmpRouting)", spray);
  arguments.Parse(argc, argv);

  ns3::GlobalValue::Bind("ChecksumEnabled", ns3::BooleanValue(true));
  ns3::Config::SetDefault("ns3::Ipv4GlobalRouting::RespondToInterfaceEvents",
                          ns3::BooleanValue(true));
  ns3::Config::SetDefault("ns3::Ipv4GlobalRouting::RandomEcmpRouting", ns3::BooleanValue(spray));

  ns3::NodeContainer hosts(kLeaves * kHostsPerLeaf);
  ns3::NodeContainer leaves(kLeaves);
  ns3::NodeContainer spines(kSpines);
  ns3::InternetStackHelper internet;
  internet.Install(hosts);
  internet.Install(leaves);
  internet.Install(spines);

  ns3::PointToPointHelper link;
  link.SetDeviceAttribute("DataRate", ns3::StringValue("10Gbps"));
  link.SetChannelAttribute("Delay", ns3::StringValue("500ns"));
  link.SetQueue("ns3::DropTailQueue", "MaxSize", ns3::StringValue("4p"));
  ns3::TrafficControlHelper red;
  red.SetRootQueueDisc("ns3::RedQueueDisc", "UseEcn", ns3::BooleanValue(true), "UseHardDrop",
                       ns3::BooleanValue(false), "QW", ns3::DoubleValue(0.1), "MinTh",
                       ns3::DoubleValue(20'000), "MaxTh", ns3::DoubleValue(60'000), "MaxSize",
                       ns3::StringValue("200000B"), "LinkBandwidth", ns3::StringValue("10Gbps"),
                       "LinkDelay", ns3::StringValue("500ns"), "MeanPktSize",
                       ns3::UintegerValue(1082));
  ns3::Ipv4AddressHelper addresses("10.0.0.0", "255.255.255.252");
  const auto connect = [&](Ptr<ns3::Node> a, Ptr<ns3::Node> b) {
    const ns3::NetDeviceContainer ends = link.Install(a, b);
    red.Install(ends);
    addresses.Assign(ends);
    addresses.NewNetwork();
    return ends;
  };

  std::vector<Ptr<RoceApplication>> applications;
  for (uint32_t i = 0; i < hosts.GetN(); ++i) {
    connect(hosts.Get(i), leaves.Get(i / kHostsPerLeaf));
    const auto ipv4 = hosts.Get(i)->GetObject<ns3::Ipv4>();
    applications.push_back(ns3::Create<RoceApplication>(ipv4->GetAddress(1, 0).GetLocal()));
    hosts.Get(i)->AddApplication(applications.back());
  }
  ns3::NetDeviceContainer failing;
  for (uint32_t leaf = 0; leaf < kLeaves; ++leaf) {
    for (uint32_t spine = 0; spine < kSpines; ++spine) {
      const ns3::NetDeviceContainer ends = connect(leaves.Get(leaf), spines.Get(spine));
      if (leaf == 1 && spine == 1) failing = ends;
      // Without random ECMP, global routing uses one path: each leaf prefers another spine.
      const auto ipv4 = leaves.Get(leaf)->GetObject<ns3::Ipv4>();
      const bool is_preferred = spray || leaf % kSpines == spine;
      ipv4->SetMetric(static_cast<uint32_t>(ipv4->GetInterfaceForDevice(ends.Get(0))),
                      is_preferred ? 1 : 2);
    }
  }
  ns3::Ipv4GlobalRoutingHelper::PopulateRoutingTables();

  // Export of the telemetry.
  Exporter exporter(options);
  for (uint32_t i = 0; i < kLeaves; ++i) {
    exporter.AddSwitch(leaves.Get(i), "leaf" + std::to_string(i), Tier::kLeaf);
  }
  for (uint32_t i = 0; i < kSpines; ++i) {
    exporter.AddSwitch(spines.Get(i), "spine" + std::to_string(i), Tier::kSpine);
  }
  for (uint32_t i = 0; i < hosts.GetN(); ++i) {
    exporter.AddHost(hosts.Get(i), "host" + std::to_string(i));
  }
  for (uint32_t i = 0; i < hosts.GetN(); ++i) {
    const uint32_t next = (i + kHostsPerLeaf) % hosts.GetN();
    const QueuePair first = applications[i]->AddQueuePair();
    const QueuePair second = applications[next]->AddQueuePair();
    applications[i]->Connect(first, second, {.bytes = 512 << 10, .period = MilliSeconds(1)});
    applications[next]->Connect(second, first, {.bytes = 0});
    exporter.AddConnection(first, second, "ring" + std::to_string(i % kHostsPerLeaf));
  }
  exporter.Attach();
  if (failure.IsStrictlyPositive()) {
    ns3::Simulator::Schedule(failure, &SetLinkUp, failing, false);
  }
  ns3::Simulator::Stop(duration);
  ns3::Simulator::Run();
  const auto counts = exporter.Finish();

  uint64_t sent = 0;
  uint64_t received = 0;
  uint64_t retransmissions = 0;
  uint64_t messages = 0;
  for (const auto& application : applications) {
    sent += application->packets_sent();
    received += application->packets_received();
    retransmissions += application->retransmissions();
    messages += application->messages_completed();
  }
  std::cout << "{\"sent\": " << sent << ", \"received\": " << received
            << ", \"retransmissions\": " << retransmissions << ", \"messages\": " << messages
            << ", \"mirrored\": " << counts.mirrored << ", \"samples\": " << counts.samples
            << ", \"readings\": " << counts.readings << ", \"link_events\": " << counts.link_events
            << "}\n";
  ns3::Simulator::Destroy();
}
