// SPDX-License-Identifier: BSD-3-Clause
// Hosts of a lab that are connected by a simulated network.
#include "testbeds/ovs_lab/endpoint/host.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <memory>

#include "dataplane/wire/opcode.h"
#include "sim/engine/random.h"
#include "testbeds/ovs_lab/endpoint/lab_fixture.h"

namespace rocescope::endpoint {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr Duration kDelay = microseconds(100);
constexpr size_t kTypeOfServiceAt = 15;
constexpr size_t kDestinationAt = 30;
constexpr size_t kOpcodeAt = 42;

class Observer : public HostObserver {
 public:
  void JobStarted(const Job&) override { ++started; }
  void IterationFinished(const Job& job, uint32_t iteration, Timestamp begin,
                         Timestamp end) override {
    EXPECT_EQ(iterations[job.plan().options.name]++, iteration);
    EXPECT_LE(begin, end);
    last_end = end;
  }
  void JobFinished(const Job&) override { ++finished; }
  void JobFailed(const Job&, const JobFailure& failure) override { failures.push_back(failure); }

  uint32_t started = 0;
  uint32_t finished = 0;
  std::map<std::string, uint32_t> iterations;
  std::vector<JobFailure> failures;
  Timestamp last_end{};
};

class Lab {
 public:
  explicit Lab(LabPlan plan) : plan_(std::move(plan)), random_(1) {
    const topology::Fabric& fabric = *plan_.fabric;
    for (topology::NodeIndex node = 0; node < fabric.nodes().size(); ++node) {
      if (fabric.node(node).IsSwitch()) continue;
      auto machine = std::make_unique<Machine>();
      Host::Sinks sinks;
      for (const topology::NicIndex nic : NicsInUse(plan_, node)) {
        machine->ports.push_back(std::make_unique<Port>(*this));
        sinks[nic] = machine->ports.back().get();
        place_[endpoint::AddressOf(fabric, nic)] = {machines_.size(), nic};
      }
      machine->host = std::make_unique<Host>(plan_, node, kStart, sinks, machine->observer);
      machines_.push_back(std::move(machine));
    }
  }

  // Runs for this time, or until all hosts have finished all jobs.
  void Run(Duration most = seconds(600)) {
    const Timestamp end = now_ + most;
    while (now_ < end && !AllFinished()) {
      Timestamp next = end;
      if (!flying_.empty()) next = std::min(next, flying_.begin()->first);
      for (const auto& machine : machines_) {
        if (machine->up) next = std::min(next, machine->host->Next());
      }
      now_ = std::max(now_, next);
      while (!flying_.empty() && flying_.begin()->first <= now_) {
        const std::vector<uint8_t> frame = std::move(flying_.begin()->second);
        flying_.erase(flying_.begin());
        Arrive(frame);
      }
      for (const auto& machine : machines_) {
        if (machine->up) machine->host->Advance(now_);
      }
    }
  }

  bool AllFinished() const {
    for (const auto& machine : machines_) {
      if (!machine->up || machine->host->jobs().empty()) continue;
      for (const auto& job : machine->host->jobs()) {
        if (!job->finished() && !job->failed()) return false;
      }
    }
    return true;
  }

  Observer& observer(size_t host) { return machines_[host]->observer; }
  Host& host(size_t host) { return *machines_[host]->host; }
  void SetUp(size_t host, bool up) { machines_[host]->up = up; }
  Counters Total() const {
    Counters total;
    for (const auto& machine : machines_) {
      for (const auto& [index, nic] : machine->host->nics()) {
#define ROW(name, description) total.name += nic->counters().name;
        ROCESCOPE_ENDPOINT_COUNTERS(ROW)
#undef ROW
      }
    }
    return total;
  }
  size_t hosts() const { return machines_.size(); }
  Timestamp now() const { return now_; }

  double loss = 0;
  double corruption = 0;
  double marks = 0;
  uint64_t requests = 0;  // that were sent

 private:
  class Port : public FrameSink {
   public:
    explicit Port(Lab& lab) : lab_(lab) {}
    bool Send(std::span<const uint8_t> frame) override {
      lab_.Carry({frame.begin(), frame.end()});
      return true;
    }

   private:
    Lab& lab_;
  };
  struct Machine {
    Observer observer;
    std::vector<std::unique_ptr<Port>> ports;
    std::unique_ptr<Host> host;
    bool up = true;
  };
  struct Place {
    size_t machine;
    topology::NicIndex nic;
  };

  void Carry(std::vector<uint8_t> frame) {
    requests += frame[kOpcodeAt] < wire::kOpcodeAcknowledge;
    if (random_.Chance(loss)) return;
    if (random_.Chance(corruption)) frame.back() ^= 1;
    if ((frame[kTypeOfServiceAt] & 3) == 2 && random_.Chance(marks)) frame[kTypeOfServiceAt] |= 3;
    flying_.emplace(now_ + kDelay, std::move(frame));
  }

  void Arrive(const std::vector<uint8_t>& frame) {
    const uint32_t destination =
        uint32_t{frame[kDestinationAt]} << 24 | uint32_t{frame[kDestinationAt + 1]} << 16 |
        uint32_t{frame[kDestinationAt + 2]} << 8 | frame[kDestinationAt + 3];
    const Place place = place_.at(destination);
    if (machines_[place.machine]->up)
      machines_[place.machine]->host->Receive(place.nic, frame, now_);
  }

  const LabPlan plan_;
  sim::Random random_;
  std::vector<std::unique_ptr<Machine>> machines_;
  std::map<uint32_t, Place> place_;
  std::multimap<Timestamp, std::vector<uint8_t>> flying_;
  Timestamp now_ = kStart;
};

std::string JobText(const std::string& phase, const std::string& keys = "") {
  return "rate: 20000pps\n"
         "jobs:\n"
         "  - {name: train, hosts: \"host[0-3]\", iterations: 5" +
         keys + ", phases: [{compute: 5ms, " + phase + "}]}\n";
}

void ExpectAllFinished(Lab& lab, uint32_t iterations = 5) {
  EXPECT_TRUE(lab.AllFinished());
  for (size_t host = 0; host < lab.hosts(); ++host) {
    EXPECT_TRUE(lab.observer(host).failures.empty());
    EXPECT_EQ(lab.observer(host).iterations["train"], iterations) << "host" << host;
    EXPECT_EQ(lab.observer(host).started, 1u);
    EXPECT_EQ(lab.observer(host).finished, 1u);
  }
}

struct Traffic {
  const char* phase;
  const char* keys;
};

class EachCollective : public ::testing::TestWithParam<Traffic> {};

TEST_P(EachCollective, CompletesWithoutErrors) {
  Lab lab(MakePlan(JobText(GetParam().phase, GetParam().keys), MakeFabric(4, 2, 4)));
  lab.Run();
  ExpectAllFinished(lab);
  const Counters total = lab.Total();
  EXPECT_GT(total.sent_packets, 100u);
  EXPECT_EQ(total.sent_packets, total.received_packets);
  EXPECT_EQ(total.retransmitted_packets + total.local_ack_timeout_err + total.out_of_sequence, 0u);
  EXPECT_EQ(total.connecting_packets + total.rx_unknown_queue_pair + total.rx_malformed, 0u);
}

TEST_P(EachCollective, CompletesOnALossyNetwork) {
  Lab lab(MakePlan("network: {ack_timeout: 10ms}\n" + JobText(GetParam().phase, GetParam().keys),
                   MakeFabric(4, 2, 4)));
  lab.loss = 0.02;
  lab.corruption = 0.01;
  lab.Run();
  ExpectAllFinished(lab);
  const Counters total = lab.Total();
  EXPECT_GT(total.retransmitted_packets, 0u);
  EXPECT_GT(total.rx_icrc_encapsulated, 0u);
  EXPECT_GT(total.naks_sent, 0u);
}

INSTANTIATE_TEST_SUITE_P(
    Collectives, EachCollective,
    ::testing::Values(Traffic{"collective: ring, size: 512K", ""},
                      Traffic{"collective: tree, size: 256K", ""},
                      Traffic{"collective: all_to_all, size: 512K", ""},
                      Traffic{"collective: halving_doubling, size: 512K", ""},
                      Traffic{"collective: pipeline, size: 256K, microbatch_compute: 1ms", ""},
                      Traffic{"collective: ring, size: 512K, groups: rails", ""},
                      Traffic{"collective: ring, size: 512K", ", queue_pairs: 3, chunk: 8K"},
                      Traffic{"collective: ring, size: 512K",
                              ", queue_pairs: 4, split_data: true, chunk: 16K"}));

TEST(Host, RanksOfOneHostSendNoPackets) {
  Lab lab(MakePlan(JobText("collective: ring, size: 512K, groups: hosts"), MakeFabric(4, 1, 4)));
  lab.Run();
  ExpectAllFinished(lab);
  EXPECT_EQ(lab.Total().sent_packets, 0u);
}

TEST(Host, RunsSeveralJobsAndPhases) {
  Lab lab(MakePlan(R"(
rate: 20000pps
jobs:
  - name: train
    hosts: host[0-3]
    gpus: 2
    iterations: 5
    phases:
      - {collective: ring, size: 128K, compute: 2ms}
      - {collective: none, compute: 1ms}
      - {collective: all_to_all, size: 64K, groups: rails}
  - {name: other, hosts: "host[1-2]", iterations: 3, start: 20ms, phases: [{collective: tree, size: 64K}]}
)",
                   MakeFabric(4, 2, 2)));
  lab.Run();
  EXPECT_TRUE(lab.AllFinished());
  EXPECT_EQ(lab.observer(0).iterations["train"], 5u);
  EXPECT_EQ(lab.observer(0).started, 1u);
  EXPECT_EQ(lab.observer(1).started, 2u);
  EXPECT_EQ(lab.observer(2).iterations["other"], 3u);
}

TEST(Host, KeepsItsPacketRate) {
  Lab lab(
      MakePlan("rate: 1000pps\n"
               "jobs: [{name: train, hosts: \"host[0-3]\", phases: [{collective: all_to_all, "
               "size: 4M}]}]\n",
               MakeFabric(4)));
  lab.Run(seconds(10));
  EXPECT_LT(lab.requests, 4 * 1000 * 10 * 1.01);  // without ACKs, which are not limited
  EXPECT_GT(lab.requests, 4 * 1000 * 10 * 0.95);
  EXPECT_EQ(lab.Total().local_ack_timeout_err, 0u);
}

TEST(Host, ReactsToCeMarks) {
  Lab lab(MakePlan(JobText("collective: ring, size: 1M"), MakeFabric(4)));
  lab.Run();
  const Duration unmarked = lab.observer(0).last_end - kStart;
  Lab marked(MakePlan(JobText("collective: ring, size: 1M"), MakeFabric(4)));
  marked.marks = 0.2;
  marked.Run();
  ExpectAllFinished(marked);
  EXPECT_GT(marked.Total().np_cnp_sent, 10u);
  EXPECT_EQ(marked.Total().np_cnp_sent, marked.Total().rp_cnp_handled);
  EXPECT_GT(marked.observer(0).last_end - kStart, unmarked * 3 / 2);
}

TEST(Host, WaitsForAHostThatStartsLater) {
  Lab lab(MakePlan(JobText("collective: ring, size: 128K"), MakeFabric(4)));
  lab.SetUp(2, false);
  lab.Run(seconds(3));
  EXPECT_EQ(lab.observer(0).iterations["train"], 0u);
  lab.SetUp(2, true);
  lab.Run();
  ExpectAllFinished(lab);
  const Counters total = lab.Total();
  EXPECT_EQ(total.local_ack_timeout_err, 0u);
  EXPECT_EQ(total.retransmitted_packets, 0u);
  EXPECT_GT(total.connecting_packets, 10u);
}

TEST(Host, AJobFailsIfAPeerDisappears) {
  Lab lab(
      MakePlan("rate: 20000pps\n"
               "jobs: [{name: train, hosts: \"host[0-3]\", phases: [{collective: ring, size: "
               "1M}]}]\n",
               MakeFabric(4)));
  lab.Run(milliseconds(100));
  lab.SetUp(1, false);
  lab.Run(seconds(10));
  ASSERT_EQ(lab.observer(0).failures.size(), 1u);
  EXPECT_EQ(lab.observer(0).failures[0].peer_rank, 1u);
  EXPECT_EQ(lab.observer(0).failures[0].cause, FailureCause::kRetriesExceeded);
  EXPECT_EQ(lab.observer(0).finished, 0u);
  // The rank behind it waits for data without sending anything, as with NCCL.
  EXPECT_TRUE(lab.observer(2).failures.empty());
  EXPECT_EQ(lab.observer(2).finished, 0u);
}

TEST(Host, ASlowHostDelaysAllOthers) {
  const std::string text = JobText("collective: ring, size: 16K", ", jitter: 0");
  Lab lab(MakePlan(text, MakeFabric(4)));
  lab.Run();
  Lab slow(MakePlan(text, MakeFabric(4)));
  slow.host(3).SetSlowdown(10);
  slow.Run();
  EXPECT_GT(slow.observer(0).last_end - lab.observer(0).last_end, milliseconds(5 * 40));
}

}  // namespace
}  // namespace rocescope::endpoint
