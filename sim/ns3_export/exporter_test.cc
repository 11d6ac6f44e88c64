// SPDX-License-Identifier: BSD-3-Clause
// Records small networks of stock models. The expected numbers are those of the trace sources
// themselves, of ns-3's own statistics, or follow from the program.
#include "sim/ns3_export/exporter.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <ns3/bridge-helper.h>
#include <ns3/config.h>
#include <ns3/csma-helper.h>
#include <ns3/error-model.h>
#include <ns3/internet-stack-helper.h>
#include <ns3/ipv4-address-generator.h>
#include <ns3/ipv4-address-helper.h>
#include <ns3/ipv4-global-routing-helper.h>
#include <ns3/ipv4.h>
#include <ns3/point-to-point-helper.h>
#include <ns3/pointer.h>
#include <ns3/simulator.h>
#include <ns3/string.h>
#include <ns3/udp-client-server-helper.h>
#include <ns3/udp-server.h>
#include <ns3/uinteger.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>
#include <stdexcept>
#include <string>

#include "dataplane/run/manifest.h"
#include "topology/yaml.h"

namespace rocescope::ns3_export {
namespace {

using ns3::MilliSeconds;
using ns3::Ptr;
using ::testing::HasSubstr;

std::string ReadFile(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

// Number of frames in a little-endian pcap file.
size_t FramesIn(const std::string& pcap) {
  size_t frames = 0;
  for (size_t at = 24; at < pcap.size(); ++frames) {
    uint32_t length = 0;
    std::memcpy(&length, pcap.data() + at + 8, sizeof(length));
    at += 16 + length;
  }
  return frames;
}

class ExporterTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ns3::Ipv4AddressGenerator::Reset();
    directory_ = std::filesystem::path(::testing::TempDir()) /
                 ::testing::UnitTest::GetInstance()->current_test_info()->name();
    options_.directory = directory_.string();
    options_.sflow_rate = 4;
  }
  void TearDown() override {
    ns3::Simulator::Destroy();
    std::filesystem::remove_all(directory_);
  }

  // Two hosts on one router. Host 0 sends 100 UDP packets to host 1, one in 50 us from 1 ms on.
  void BuildRouter() {
    hosts_.Create(2);
    switches_.Create(1);
    ns3::InternetStackHelper internet;
    internet.Install(hosts_);
    internet.Install(switches_);
    ns3::PointToPointHelper link;
    link.SetDeviceAttribute("DataRate", ns3::StringValue("1Gbps"));
    link.SetChannelAttribute("Delay", ns3::StringValue("2us"));
    ns3::Ipv4AddressHelper addresses("10.0.0.0", "255.255.255.0");
    for (uint32_t i = 0; i < 2; ++i) {
      ends_[i] = link.Install(hosts_.Get(i), switches_.Get(0));
      addresses.Assign(ends_[i]);
      addresses.NewNetwork();
    }
    ns3::Ipv4GlobalRoutingHelper::PopulateRoutingTables();
    Send(hosts_.Get(1)->GetObject<ns3::Ipv4>()->GetAddress(1, 0).GetLocal());
  }
  void Send(ns3::Ipv4Address to) {
    ns3::UdpServerHelper server(9);
    server_ = ns3::DynamicCast<ns3::UdpServer>(server.Install(hosts_.Get(1)).Get(0));
    ns3::UdpClientHelper client(to, 9);
    client.SetAttribute("MaxPackets", ns3::UintegerValue(100));
    client.SetAttribute("Interval", ns3::TimeValue(ns3::MicroSeconds(50)));
    client.SetAttribute("PacketSize", ns3::UintegerValue(500));
    client.Install(hosts_.Get(0)).Start(MilliSeconds(1));
  }
  void AddNodes(Exporter& exporter) const {
    for (uint32_t i = 0; i < switches_.GetN(); ++i) {
      exporter.AddSwitch(switches_.Get(i), "leaf" + std::to_string(i), Tier::kLeaf);
    }
    for (uint32_t i = 0; i < hosts_.GetN(); ++i) {
      exporter.AddHost(hosts_.Get(i), "host" + std::to_string(i));
    }
  }
  Counts Record() {
    Exporter exporter(options_);
    AddNodes(exporter);
    exporter.Attach();
    ns3::Simulator::Stop(MilliSeconds(10));
    ns3::Simulator::Run();
    return exporter.Finish();
  }

  // The last value of each metric of an entity, for example "leaf0 Ethernet1".
  std::map<std::string, uint64_t> LastCounters(const std::string& entity) const {
    std::map<std::string, uint64_t> last;
    std::istringstream lines(ReadFile(directory_ / "counters.jsonl"));
    for (std::string line; std::getline(lines, line);) {
      const auto json = nlohmann::json::parse(line);
      const auto& of = json["entity"];
      if (of["node"].get<std::string>() + " " + of["port"].get<std::string>() != entity) continue;
      for (const auto& [name, value] : json["metrics"].items()) last[name] = value;
    }
    return last;
  }
  nlohmann::json Truth() const {
    return nlohmann::json::parse(ReadFile(directory_ / "truth.json"));
  }

  Options options_;
  std::filesystem::path directory_;
  ns3::NodeContainer hosts_;
  ns3::NodeContainer switches_;
  ns3::NetDeviceContainer ends_[2];
  Ptr<ns3::UdpServer> server_;
};

uint64_t traced_frames = 0;
void CountFrame(Ptr<const ns3::Packet>) { ++traced_frames; }

TEST_F(ExporterTest, MirrorsEachFrameThatTraceSourcesReport) {
  BuildRouter();
  options_.mirror_egress = true;
  traced_frames = 0;
  for (auto& link : ends_) {
    link.Get(1)->TraceConnectWithoutContext("MacRx", ns3::MakeCallback(&CountFrame));
    link.Get(1)->TraceConnectWithoutContext("PhyTxBegin", ns3::MakeCallback(&CountFrame));
  }
  const Counts counts = Record();
  EXPECT_EQ(traced_frames, 200u) << "100 packets enter and leave the router";
  EXPECT_EQ(counts.mirrored, traced_frames);
  EXPECT_EQ(FramesIn(ReadFile(directory_ / "mirror.pcap")), traced_frames);
}

TEST_F(ExporterTest, CountsEthernetFrames) {
  BuildRouter();
  Record();
  const auto counters = LastCounters("leaf0 Ethernet1");
  EXPECT_EQ(counters.at("rx_packets"), 100u);
  EXPECT_EQ(counters.at("rx_bytes"), 100u * (14 + 20 + 8 + 500));
  EXPECT_EQ(counters.at("tx_packets"), 0u);
  EXPECT_EQ(counters.at("link_speed"), 1'000'000'000u);
  EXPECT_EQ(LastCounters("leaf0 Ethernet2").at("tx_packets"), 100u);
  EXPECT_EQ(LastCounters("host1 nic0").at("rx_packets"), server_->GetReceived());
}

TEST_F(ExporterTest, DerivesTheFabricFromChannels) {
  BuildRouter();
  Record();
  const auto fabric = topology::LoadFabric(ReadFile(directory_ / "topology.yaml"), "topology.yaml");
  ASSERT_TRUE(fabric) << fabric.error().message;
  ASSERT_EQ(fabric->links().size(), 2u);
  EXPECT_EQ(fabric->link(0).bits_per_second, 1'000'000'000u);
  EXPECT_EQ(fabric->link(0).delay, std::chrono::microseconds(2));
  const auto nic = fabric->FindNic({.address = IpAddress::FromV4(0x0a000101)});
  ASSERT_NE(nic, topology::kNone);
  EXPECT_EQ(fabric->node(fabric->nic(nic).host).name, "host1");
  const auto manifest = ParseRunManifest(ReadFile(directory_ / "run.json"));
  ASSERT_TRUE(manifest) << manifest.error().message;
  EXPECT_EQ(manifest->duration, std::chrono::milliseconds(10));
}

TEST_F(ExporterTest, CountsCorruptFramesAtTheReceiver) {
  BuildRouter();
  const auto errors = ns3::CreateObject<ns3::ReceiveListErrorModel>();
  errors->SetList({3, 5, 8});  // the numbers of the frames that it drops
  ends_[0].Get(1)->SetAttribute("ReceiveErrorModel", ns3::PointerValue(errors));
  Record();
  const auto counters = LastCounters("leaf0 Ethernet1");
  EXPECT_EQ(counters.at("fcs_errors"), 3u);
  EXPECT_EQ(counters.at("rx_packets"), 97u);
  EXPECT_EQ(LastCounters("leaf0 Ethernet2").at("tx_packets"), 97u);
}

TEST_F(ExporterTest, RecordsALinkThatTheProgramTakesDown) {
  BuildRouter();
  const auto set_up = [this](bool up) {
    const auto ipv4 = switches_.Get(0)->GetObject<ns3::Ipv4>();
    up ? ipv4->SetUp(1) : ipv4->SetDown(1);
  };
  ns3::Simulator::Schedule(MilliSeconds(3), [=] { set_up(false); });
  ns3::Simulator::Schedule(MilliSeconds(4), [=] { set_up(true); });
  EXPECT_EQ(Record().link_events, 1u);
  const auto faults = Truth()["faults"];
  ASSERT_EQ(faults.size(), 1u);
  EXPECT_EQ(faults[0]["kind"], "link_down");
  EXPECT_THAT(faults[0]["place"].get<std::string>(), HasSubstr("leaf0:Ethernet1"));
  EXPECT_NEAR(
      std::stod(faults[0]["start_ns"].get<std::string>()) - static_cast<double>(options_.epoch_ns),
      3e6, 2e4);
  EXPECT_NEAR(
      std::stod(faults[0]["end_ns"].get<std::string>()) - static_cast<double>(options_.epoch_ns),
      4e6, 2e4);
  const auto counters = LastCounters("leaf0 Ethernet1");
  EXPECT_EQ(counters.at("link_flaps"), 1u);
  EXPECT_EQ(counters.at("link_up"), 1u);
  EXPECT_EQ(counters.at("rx_discards"), 100u - server_->GetReceived());
  EXPECT_NEAR(static_cast<double>(counters.at("rx_discards")), 20, 1) << "1 ms of 50 us";
}

TEST_F(ExporterTest, MirrorsBridgedFramesOnce) {
  // By default, an ARP request waits for up to 10 ms.
  ns3::Config::SetDefault("ns3::ArpL3Protocol::RequestJitter",
                          ns3::StringValue("ns3::ConstantRandomVariable[Constant=0]"));
  hosts_.Create(2);
  switches_.Create(1);
  ns3::InternetStackHelper().Install(hosts_);
  ns3::CsmaHelper csma;
  csma.SetChannelAttribute("DataRate", ns3::StringValue("1Gbps"));
  ns3::NetDeviceContainer host_devices;
  ns3::NetDeviceContainer ports;
  for (uint32_t i = 0; i < 2; ++i) {
    ends_[i] = csma.Install(ns3::NodeContainer(hosts_.Get(i), switches_.Get(0)));
    host_devices.Add(ends_[i].Get(0));
    ports.Add(ends_[i].Get(1));
  }
  ns3::BridgeHelper().Install(switches_.Get(0), ports);
  ns3::Ipv4AddressHelper addresses("10.0.0.0", "255.255.255.0");
  Send(addresses.Assign(host_devices).GetAddress(1));
  Record();
  ASSERT_EQ(server_->GetReceived(), 100u);
  // In addition to the packets, an ARP request.
  EXPECT_EQ(LastCounters("leaf0 Ethernet1").at("rx_packets"), 101u);
  EXPECT_EQ(LastCounters("leaf0 Ethernet1").at("tx_packets"), 1u) << "the ARP reply";
  EXPECT_EQ(FramesIn(ReadFile(directory_ / "mirror.pcap")), 102u);
}

TEST_F(ExporterTest, RefusesChannelsWithMoreThanTwoDevices) {
  hosts_.Create(3);
  switches_.Create(1);
  ns3::CsmaHelper().Install(hosts_);
  Exporter exporter(options_);
  AddNodes(exporter);
  try {
    exporter.Attach();
    FAIL() << "no error";
  } catch (const std::runtime_error& error) {
    EXPECT_THAT(error.what(), HasSubstr("host0: device 0 shares its channel with 2 others"));
  }
}

TEST_F(ExporterTest, RefusesConnectionsOfUnknownAddresses) {
  BuildRouter();
  Exporter exporter(options_);
  AddNodes(exporter);
  exporter.AddConnection({.address = "10.0.0.1", .qpn = 1}, {.address = "192.0.2.1", .qpn = 2});
  exporter.Attach();
  ns3::Simulator::Stop(MilliSeconds(2));
  ns3::Simulator::Run();
  try {
    exporter.Finish();
    FAIL() << "no error";
  } catch (const std::runtime_error& error) {
    EXPECT_THAT(error.what(), HasSubstr("no NIC of a host has the address 192.0.2.1"));
  }
  EXPECT_FALSE(std::filesystem::exists(directory_ / "run.json")) << "the run is incomplete";
}

TEST_F(ExporterTest, StopsRecordingWhenItIsDestroyed) {
  BuildRouter();
  {
    Exporter exporter(options_);
    AddNodes(exporter);
    exporter.Attach();
    ns3::Simulator::Stop(MilliSeconds(2));
    ns3::Simulator::Run();
  }
  ns3::Simulator::Stop(MilliSeconds(8));
  ns3::Simulator::Run();
  EXPECT_EQ(server_->GetReceived(), 100u) << "the simulation continues without the exporter";
}

}  // namespace
}  // namespace rocescope::ns3_export
