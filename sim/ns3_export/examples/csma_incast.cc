// SPDX-License-Identifier: BSD-3-Clause
// A rack of stock ns-3 models: hosts on CSMA links to one router, whose RED queue discs mark with
// ECN. All hosts but the first send RDMA WRITEs to the first one at the same time.
#include <ns3/boolean.h>
#include <ns3/command-line.h>
#include <ns3/config.h>
#include <ns3/csma-helper.h>
#include <ns3/double.h>
#include <ns3/global-value.h>
#include <ns3/internet-stack-helper.h>
#include <ns3/ipv4-address-helper.h>
#include <ns3/ipv4-global-routing-helper.h>
#include <ns3/ipv4.h>
#include <ns3/node-container.h>
#include <ns3/queue-disc.h>
#include <ns3/simulator.h>
#include <ns3/string.h>
#include <ns3/traffic-control-helper.h>
#include <ns3/uinteger.h>

#include <iostream>
#include <string>
#include <vector>

#include "sim/ns3_export/examples/roce_application.h"
#include "sim/ns3_export/exporter.h"

int main(int argc, char** argv) {
  using ns3::MilliSeconds;
  using ns3::Ptr;
  using rocescope::ns3_export::Exporter;
  using rocescope::ns3_export::Options;
  using rocescope::ns3_export::RoceApplication;
  using rocescope::ns3_export::Tier;

  constexpr uint32_t kHosts = 5;
  Options options;
  options.scenario = "ns3-csma-incast";
  ns3::Time duration = MilliSeconds(10);
  ns3::CommandLine arguments;
  arguments.AddValue("directory", "Run directory to write", options.directory);
  arguments.AddValue("duration", "Simulated time", duration);
  arguments.AddValue("egress", "Also mirror the frames that ports send", options.mirror_egress);
  arguments.AddValue("snap", "Bytes kept of a mirrored frame; 0: all", options.snap_length);
  arguments.Parse(argc, argv);

  ns3::GlobalValue::Bind("ChecksumEnabled", ns3::BooleanValue(true));
  // By default, ARP delays requests by up to 10 ms and queues only three packets until the reply.
  ns3::Config::SetDefault("ns3::ArpL3Protocol::RequestJitter",
                          ns3::StringValue("ns3::ConstantRandomVariable[Constant=0]"));
  ns3::Config::SetDefault("ns3::ArpCache::PendingQueueSize", ns3::UintegerValue(64));
  ns3::NodeContainer hosts(kHosts);
  ns3::NodeContainer rack(1);
  ns3::InternetStackHelper internet;
  internet.Install(hosts);
  internet.Install(rack);

  ns3::CsmaHelper csma;
  csma.SetChannelAttribute("DataRate", ns3::StringValue("10Gbps"));
  csma.SetChannelAttribute("Delay", ns3::StringValue("100ns"));
  csma.SetQueue("ns3::DropTailQueue", "MaxSize", ns3::StringValue("4p"));
  ns3::TrafficControlHelper red;
  red.SetRootQueueDisc("ns3::RedQueueDisc", "UseEcn", ns3::BooleanValue(true), "UseHardDrop",
                       ns3::BooleanValue(false), "QW", ns3::DoubleValue(0.1), "MinTh",
                       ns3::DoubleValue(10'000), "MaxTh", ns3::DoubleValue(60'000), "MaxSize",
                       ns3::StringValue("200000B"), "MeanPktSize", ns3::UintegerValue(1096));
  ns3::Ipv4AddressHelper addresses("10.1.0.0", "255.255.255.0");
  Exporter exporter(options);
  exporter.AddSwitch(rack.Get(0), "tor0", Tier::kLeaf);
  std::vector<Ptr<RoceApplication>> applications;
  Ptr<ns3::QueueDisc> congested;  // towards the first host
  for (uint32_t i = 0; i < kHosts; ++i) {
    const ns3::NetDeviceContainer ends =
        csma.Install(ns3::NodeContainer(hosts.Get(i), rack.Get(0)));
    const ns3::QueueDiscContainer queues = red.Install(ends);
    if (i == 0) congested = queues.Get(1);
    const ns3::Ipv4InterfaceContainer interfaces = addresses.Assign(ends);
    addresses.NewNetwork();
    applications.push_back(ns3::Create<RoceApplication>(interfaces.GetAddress(0)));
    hosts.Get(i)->AddApplication(applications.back());
    exporter.AddHost(hosts.Get(i), "host" + std::to_string(i));
  }
  ns3::Ipv4GlobalRoutingHelper::PopulateRoutingTables();
  for (uint32_t i = 1; i < kHosts; ++i) {
    const auto first = applications[i]->AddQueuePair();
    const auto second = applications[0]->AddQueuePair();
    applications[i]->Connect(first, second, {.bytes = 200'000, .period = MilliSeconds(1)});
    applications[0]->Connect(second, first, {.bytes = 0});
    exporter.AddConnection(first, second);
  }
  exporter.Attach();
  ns3::Simulator::Stop(duration);
  ns3::Simulator::Run();
  const auto counts = exporter.Finish();

  uint64_t sent = 0;
  uint64_t received = 0;
  uint64_t messages = 0;
  for (const auto& application : applications) {
    sent += application->packets_sent();
    received += application->packets_received();
    messages += application->messages_completed();
  }
  const auto& stats = congested->GetStats();
  std::cout << "{\"sent\": " << sent << ", \"received\": " << received
            << ", \"messages\": " << messages << ", \"cnps\": " << applications[1]->cnps_received()
            << ", \"marked\": " << stats.nTotalMarkedPackets
            << ", \"dropped\": " << stats.nTotalDroppedPackets
            << ", \"mirrored\": " << counts.mirrored << ", \"samples\": " << counts.samples
            << ", \"readings\": " << counts.readings << "}\n";
  ns3::Simulator::Destroy();
}
