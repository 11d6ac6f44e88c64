// SPDX-License-Identifier: BSD-3-Clause
// Both ends of agent.proto over a socket: each batch arrives once and in order, whatever fails
// meanwhile.
#include "appliance/daemon/grpc/agent_calls.h"

#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <mutex>
#include <thread>

#include "appliance/agent/agent.h"
#include "appliance/agent/agent_link.h"
#include "appliance/agent/made_tree.h"
#include "appliance/daemon/core/daemon.h"
#include "appliance/daemon/grpc/grpc_server.h"
#include "dataplane/host/nccl_log_builder.h"
#include "rocescope/v1/agent.grpc.pb.h"

namespace rocescope {
namespace {

using std::chrono::milliseconds;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr ListenAddress kAnyPort = {.address = IpAddress::FromV4(0x7f000001)};
constexpr auto kSoon = std::chrono::seconds(20);

// Waits until the condition holds. Returns false on a timeout.
bool WaitFor(const std::function<bool()>& holds) {
  const auto end = std::chrono::steady_clock::now() + kSoon;
  while (!holds()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(milliseconds(5));
  }
  return true;
}

// A server for the agent protocol only. It keeps its port when it is reopened.
class Listener {
 public:
  explicit Listener(const AgentsConfig& config = {}, milliseconds timeout = kSoon)
      : config_(config), timeout_(timeout), intake(config) {
    Open();
  }
  ~Listener() { Close(); }

  void Open() {
    calls_ = std::make_unique<AgentCalls>(intake, gate_, config_, timeout_);
    grpc::ServerBuilder builder;
    builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
    builder.AddListeningPort("127.0.0.1:" + std::to_string(port_),
                             grpc::InsecureServerCredentials(), &port_);
    calls_->AddTo(builder);
    server_ = builder.BuildAndStart();
    ASSERT_NE(server_, nullptr);
    calls_->Begin();
  }
  // Stops the server and drops all connections.
  void Close() {
    if (!server_) return;
    server_->Shutdown(std::chrono::system_clock::now());
    server_->Wait();
    calls_->End();
    server_.reset();
  }
  AgentLink::Options Options() const {
    return {.appliance = "127.0.0.1:" + std::to_string(port_),
            .host = "gpu-7",
            .version = "1.2.3",
            .session = 42,
            .heartbeat = milliseconds(20),
            .first_wait = milliseconds(5),
            .longest_wait = milliseconds(20),
            .notify = [](Severity, const std::string&) {}};
  }
  AgentState State() const { return intake.Agents().at(0); }

 private:
  const AgentsConfig config_;
  const milliseconds timeout_;
  const Gate gate_{false, {}};
  int port_ = 0;
  std::unique_ptr<AgentCalls> calls_;
  std::unique_ptr<grpc::Server> server_;

 public:
  AgentIntake intake;
};

// Returns a counter reading with this value.
std::string Reading(uint64_t value, size_t bytes = 0) {
  v1::AgentBatch batch;
  batch.set_read_ns(1);
  v1::EntityCounters& counters = *batch.add_counters();
  counters.set_port(std::string(bytes, 'x'));
  counters.add_values(value);
  return batch.SerializeAsString();
}

TEST(AgentCalls, DeliverEachBatchOnceDespiteDisconnects) {
  Listener daemon;
  BatchBuffer buffer(1 << 20);
  constexpr uint64_t kBatches = 2000;
  {
    AgentLink link(daemon.Options(), buffer);
    std::thread breaker([&] {
      for (int i = 0; i < 5; ++i) {
        std::this_thread::sleep_for(milliseconds(40));
        daemon.Close();
        daemon.Open();
      }
    });
    for (uint64_t i = 1; i <= kBatches; ++i) {
      buffer.Append(BatchKind::kCounters, Reading(i));
      if (i % 20 == 0) std::this_thread::sleep_for(milliseconds(2));
    }
    breaker.join();
    EXPECT_TRUE(buffer.WaitUntilTaken(kSoon));
  }
  for (uint64_t i = 1; i <= kBatches; ++i) {
    const auto delivery = daemon.intake.Next();
    ASSERT_TRUE(delivery) << i;
    ASSERT_EQ(delivery->batch->sequence(), i);
    ASSERT_EQ(delivery->batch->counters(0).values(0), i);
  }
  EXPECT_FALSE(daemon.intake.Next());
  EXPECT_GE(daemon.State().connections, 3u) << "connections did break";
  EXPECT_EQ(daemon.State().lost_batches, 0u);
}

TEST(AgentCalls, RestartedApplianceReceivesLogsAndStatesAgain) {
  BatchBuffer buffer(1 << 20);
  auto daemon = std::make_unique<Listener>();
  AgentLink::Options options = daemon->Options();
  // Two servers, one after the other, at the same address.
  const auto names_of = [](Listener& from) {
    std::vector<std::string> names;
    while (const auto delivery = from.intake.Next()) {
      names.push_back(delivery->batch->counters(0).port());
    }
    return names;
  };
  buffer.Append(BatchKind::kLogs, Reading(1, 1));
  buffer.Append(BatchKind::kCounters, Reading(2, 2));
  buffer.Append(BatchKind::kQueuePairs, Reading(3, 3));
  {
    const AgentLink link(options, buffer);
    ASSERT_TRUE(buffer.WaitUntilTaken(kSoon));
  }
  EXPECT_THAT(names_of(*daemon), ElementsAre("x", "xx", "xxx"));
  EXPECT_TRUE(daemon->State().left);
  daemon.reset();
  buffer.Append(BatchKind::kCounters, Reading(4, 4));
  Listener other;
  const AgentLink link(other.Options(), buffer);
  ASSERT_TRUE(WaitFor([&] { return other.intake.any() && other.State().batches == 3; }));
  EXPECT_THAT(names_of(other), ElementsAre("x", "xxx", "xxxx"));
}

TEST(AgentCalls, ServerThatDoesNotReadIsNotFlooded) {
  Listener daemon({.queue = 100'000});
  BatchBuffer buffer(200'000);
  AgentLink link(daemon.Options(), buffer);
  constexpr uint64_t kBatches = 100;
  for (uint64_t i = 1; i <= kBatches; ++i) {
    buffer.Append(BatchKind::kCounters, Reading(i, 10'000));
    std::this_thread::sleep_for(milliseconds(1));
  }
  EXPECT_LE(buffer.counts().buffered_bytes, 200'000u);
  EXPECT_GT(buffer.counts().lost_batches, 0u);
  uint64_t last = 0;
  uint64_t came = 0;
  const auto read = [&] {
    while (const auto delivery = daemon.intake.Next()) {
      EXPECT_GT(delivery->batch->counters(0).values(0), last) << "the order stays";
      last = delivery->batch->counters(0).values(0);
      ++came;
    }
    return last == kBatches;
  };
  ASSERT_TRUE(WaitFor(read)) << "the newest batches arrive";
  EXPECT_TRUE(WaitFor([&] { return daemon.State().lost_batches == buffer.counts().lost_batches; }))
      << "the server knows the number of dropped batches";
  // The batch in flight when it was dropped arrived anyway.
  EXPECT_GE(came + buffer.counts().lost_batches, kBatches);
}

TEST(AgentCalls, LimitTheRateOfAnAgent) {
  Listener daemon({.bytes_per_second = 100'000});
  BatchBuffer buffer(1 << 20);
  const AgentLink link(daemon.Options(), buffer);
  const auto begin = std::chrono::steady_clock::now();
  for (uint64_t i = 0; i < 50; ++i) buffer.Append(BatchKind::kCounters, Reading(i, 10'000));
  ASSERT_TRUE(buffer.WaitUntilTaken(kSoon));
  // 500,000 bytes, of which 400,000 are a burst, before the last batch is read.
  EXPECT_GT(std::chrono::steady_clock::now() - begin, milliseconds(500));
}

// Returns the first warning of an agent with these options.
std::string FirstWarningOf(AgentLink::Options options, BatchBuffer& buffer) {
  std::mutex mutex;
  std::string first;
  options.notify = [&](Severity severity, const std::string& text) {
    const std::lock_guard lock(mutex);
    if (severity == Severity::kWarning && first.empty()) first = text;
  };
  const auto warning = [&] {
    const std::lock_guard lock(mutex);
    return first;
  };
  const AgentLink link(std::move(options), buffer);
  EXPECT_TRUE(WaitFor([&] { return !warning().empty(); }));
  return warning();
}

TEST(AgentCalls, AgentLogsWhyTheApplianceRefusesIt) {
  Listener daemon;
  AgentLink::Options options = daemon.Options();
  options.host = "no host";
  BatchBuffer buffer(1 << 20);
  EXPECT_THAT(FirstWarningOf(options, buffer),
              HasSubstr("failed: the hello message has no valid host"));
}

TEST(AgentCalls, AgentLogsThatTheApplianceIsSilent) {
  Listener daemon({.queue = 1});
  BatchBuffer buffer(1 << 20);
  for (const uint64_t value : {1, 2}) buffer.Append(BatchKind::kCounters, Reading(value));
  AgentLink::Options options = daemon.Options();
  options.timeout = milliseconds(300);
  EXPECT_THAT(FirstWarningOf(options, buffer), HasSubstr("failed: no message for 0.3 s"));
}

TEST(AgentCalls, HeartbeatsMeasureTheClockOffset) {
  Listener daemon;
  BatchBuffer buffer(1 << 20);
  const AgentLink link(daemon.Options(), buffer);
  ASSERT_TRUE(
      WaitFor([&] { return daemon.intake.any() && daemon.State().clock_ahead.has_value(); }));
  const AgentState state = daemon.State();
  EXPECT_LE(std::chrono::abs(*state.clock_ahead), state.clock_error) << "both use the same clock";
  EXPECT_EQ(state.version, "1.2.3");
}

class Client {
 public:
  explicit Client(const AgentLink::Options& options)
      : stub_(v1::Agents::NewStub(
            grpc::CreateChannel(options.appliance, grpc::InsecureChannelCredentials()))),
        stream_(stub_->Report(&context_)) {}

  bool Say(const v1::AgentMessage& message) { return stream_->Write(message); }
  std::optional<v1::ApplianceMessage> Hear() {
    v1::ApplianceMessage message;
    return stream_->Read(&message) ? std::optional(message) : std::nullopt;
  }
  // Returns true if the server has acknowledged the batches up to this one.
  bool ReceiveTaken(uint64_t sequence) {
    while (const auto message = Hear()) {
      if (message->accepted_sequence() == sequence) return true;
    }
    return false;
  }
  grpc::Status End() { return stream_->Finish(); }
  // Cancels the call without a goodbye.
  void Vanish() { context_.TryCancel(); }

  static v1::AgentMessage Hello(const std::string& host, uint64_t session) {
    v1::AgentMessage message;
    message.mutable_hello()->set_host(host);
    message.mutable_hello()->set_session_id(session);
    return message;
  }
  static v1::AgentMessage Batch(uint64_t sequence) {
    v1::AgentMessage message;
    message.mutable_batch()->set_sequence(sequence);
    return message;
  }

 private:
  grpc::ClientContext context_;
  std::unique_ptr<v1::Agents::Stub> stub_;
  std::unique_ptr<grpc::ClientReaderWriter<v1::AgentMessage, v1::ApplianceMessage>> stream_;
};

TEST(AgentCalls, RefuseUnexpectedMessages) {
  Listener daemon;
  Client early(daemon.Options());
  early.Say(Client::Batch(1));
  EXPECT_EQ(early.Hear(), std::nullopt);
  EXPECT_EQ(early.End().error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  Client nobody(daemon.Options());
  nobody.Say(Client::Hello("no host", 1));
  EXPECT_EQ(nobody.Hear(), std::nullopt);
  EXPECT_EQ(nobody.End().error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  Client twice(daemon.Options());
  twice.Say(Client::Hello("a", 1));
  EXPECT_NE(twice.Hear(), std::nullopt);
  twice.Say(Client::Hello("a", 1));
  EXPECT_EQ(twice.Hear(), std::nullopt);
  EXPECT_EQ(twice.End().error_code(), grpc::StatusCode::INVALID_ARGUMENT);
}

TEST(AgentCalls, NewestSessionOfAHostReplacesOthers) {
  Listener daemon;
  Client first(daemon.Options());
  first.Say(Client::Hello("a", 1));
  EXPECT_NE(first.Hear(), std::nullopt);
  Client second(daemon.Options());
  second.Say(Client::Hello("a", 2));
  EXPECT_NE(second.Hear(), std::nullopt);
  v1::AgentMessage heartbeat;
  heartbeat.mutable_heartbeat()->set_now_ns(1);
  first.Say(heartbeat);
  EXPECT_EQ(first.Hear(), std::nullopt);
  EXPECT_EQ(first.End().error_code(), grpc::StatusCode::ABORTED);
  second.Say(heartbeat);
  EXPECT_EQ(second.Hear()->echo_ns(), 1);
}

// One batch is accepted; the next one was tried and the queue was full.
void FillUp(Listener& daemon, Client& agent) {
  agent.Say(Client::Hello("a", 1));
  agent.Say(Client::Batch(1));
  ASSERT_TRUE(agent.ReceiveTaken(1));
  const Timestamp heard = daemon.State().received_at;
  agent.Say(Client::Batch(2));
  ASSERT_TRUE(WaitFor([&] { return daemon.State().received_at > heard; }));
}

TEST(AgentCalls, BatchIsAcceptedWhenTheQueueHasSpace) {
  Listener daemon({.queue = 1});
  Client agent(daemon.Options());
  FillUp(daemon, agent);
  EXPECT_EQ(daemon.intake.Next()->batch->sequence(), 1u);
  ASSERT_TRUE(agent.ReceiveTaken(2));
  EXPECT_EQ(daemon.intake.Next()->batch->sequence(), 2u);
  agent.Say(Client::Batch(3));
  EXPECT_TRUE(agent.ReceiveTaken(3)) << "and it is read again";
}

TEST(AgentCalls, ManyAgentsReportAtOnce) {
  constexpr uint64_t kAgents = 500;
  Listener daemon;
  std::vector<std::unique_ptr<Client>> agents;
  for (uint64_t i = 0; i < kAgents; ++i) {
    agents.push_back(std::make_unique<Client>(daemon.Options()));
    agents.back()->Say(Client::Hello("gpu-" + std::to_string(i), 1));
  }
  for (const uint64_t sequence : {1, 2, 3}) {
    for (const auto& agent : agents) agent->Say(Client::Batch(sequence));
  }
  for (const auto& agent : agents) ASSERT_TRUE(agent->ReceiveTaken(3));
  const std::vector<AgentState> states = daemon.intake.Agents();
  ASSERT_EQ(states.size(), kAgents);
  for (const AgentState& state : states) EXPECT_EQ(state.batches, 3u) << state.host;
}

TEST(AgentCalls, VanishedPeerIsDisconnected) {
  Listener daemon;
  Client first(daemon.Options());
  first.Say(Client::Hello("a", 1));
  ASSERT_NE(first.Hear(), std::nullopt);
  EXPECT_TRUE(daemon.State().connected);
  first.Vanish();
  EXPECT_TRUE(WaitFor([&] { return !daemon.State().connected; }));
  EXPECT_FALSE(daemon.State().left);
  Client again(daemon.Options());
  again.Say(Client::Hello("a", 1));
  EXPECT_NE(again.Hear(), std::nullopt);
}

TEST(AgentCalls, ClientWithoutHelloIsDisconnected) {
  Listener daemon({}, milliseconds(50));
  Client silent(daemon.Options());
  Client agent(daemon.Options());
  agent.Say(Client::Hello("a", 1));
  ASSERT_NE(agent.Hear(), std::nullopt);
  EXPECT_EQ(silent.Hear(), std::nullopt);
  EXPECT_EQ(silent.End().error_code(), grpc::StatusCode::CANCELLED);
  std::this_thread::sleep_for(milliseconds(60));
  agent.Say(Client::Batch(1));
  EXPECT_TRUE(agent.ReceiveTaken(1)) << "who did may be silent for longer";
}

TEST(AgentCalls, LimitTheNumberOfStreams) {
  constexpr int kMost = 2 * 1 + 64;
  Listener daemon({.most = 1}, std::chrono::seconds(2));
  std::vector<std::unique_ptr<Client>> silent;
  for (int i = 0; i < kMost + 3; ++i) silent.push_back(std::make_unique<Client>(daemon.Options()));
  std::map<grpc::StatusCode, int> ends;
  for (const auto& client : silent) {
    EXPECT_EQ(client->Hear(), std::nullopt);
    ++ends[client->End().error_code()];
  }
  EXPECT_THAT(ends, ElementsAre(testing::Pair(grpc::StatusCode::CANCELLED, kMost),
                                testing::Pair(grpc::StatusCode::RESOURCE_EXHAUSTED, 3)));
  Client agent(daemon.Options());
  agent.Say(Client::Hello("a", 1));
  EXPECT_NE(agent.Hear(), std::nullopt) << "there is space again";
}

TEST(AgentCalls, StoppingTheServerEndsAllCalls) {
  Listener daemon;
  std::vector<std::unique_ptr<Client>> agents;
  for (int i = 0; i < 20; ++i) {
    agents.push_back(std::make_unique<Client>(daemon.Options()));
    agents.back()->Say(Client::Hello("gpu-" + std::to_string(i), 1));
    ASSERT_NE(agents.back()->Hear(), std::nullopt);
  }
  daemon.Close();
  for (const auto& agent : agents) {
    EXPECT_EQ(agent->Hear(), std::nullopt);
    EXPECT_EQ(agent->End().error_code(), grpc::StatusCode::UNAVAILABLE);
  }
  for (const AgentState& state : daemon.intake.Agents()) EXPECT_FALSE(state.connected);
}

TEST(AgentCalls, StoppingTheServerDoesNotWaitForQueueSpace) {
  Listener daemon({.queue = 1});
  Client agent(daemon.Options());
  FillUp(daemon, agent);
  daemon.Close();
  EXPECT_FALSE(agent.ReceiveTaken(2));
  EXPECT_FALSE(daemon.State().connected);
}

// --- An agent and an appliance ---

class DaemonAndAgent : public testing::Test {
 protected:
  DaemonAndAgent() {
    tree_.Device("mlx5_0", "0000:0000:0000:0000:0000:ffff:c000:020b");
    config_.host = "node0";
    config_.nccl_logs = {tree_.root() + "/log/*.log*"};
    config_.log_period = config_.counter_period = config_.queue_pair_period = milliseconds(20);
    config_.root = tree_.root();
  }
  ~DaemonAndAgent() override {
    EndAgent();
    EndDaemon();
  }

  void BeginDaemon() {
    auto daemon = Daemon::Open({.analysis_window = milliseconds(20), .udp = {.sflow = {kAnyPort}}},
                               [](Severity, const std::string&) {});
    ASSERT_TRUE(daemon) << daemon.error().message;
    daemon_ = *std::move(daemon);
    daemon_->Start();
    service_ = std::make_unique<Service>(*daemon_, "1.2.3");
    auto server = GrpcServer::Start({.listen = {listen_}}, *service_);
    ASSERT_TRUE(server) << server.error().message;
    server_ = *std::move(server);
    listen_ = server_->listens().at(0);
  }
  // Stops the appliance; its state is lost.
  void EndDaemon() {
    server_.reset();
    service_.reset();
    daemon_.reset();
  }
  void BeginAgent() {
    config_.appliance = ToString(listen_);
    auto agent = Agent::Begin(
        config_, "1.2.3", [](Severity, const std::string&) {}, [this] { return queue_pairs_; });
    ASSERT_TRUE(agent) << agent.error().message;
    agent_ = *std::move(agent);
    stop_ = false;
    runs_ = std::thread([this] { agent_->Run([this] { return stop_.load(); }); });
  }
  void EndAgent() {
    if (!agent_) return;
    stop_ = true;
    runs_.join();
    agent_.reset();
  }

  // Returns the ranks in the last snapshot.
  std::vector<int> Ranks() const {
    const auto answer = daemon_->answers().Latest();
    std::vector<int> ranks;
    if (!answer) return ranks;
    for (const Job& job : answer->snapshot->host_facts->jobs) {
      for (const JobRank& rank : job.ranks) ranks.push_back(rank.rank);
    }
    return ranks;
  }
  static std::string LogOf(int rank) {
    return test::LogText("node0", 4100 + static_cast<uint64_t>(rank))
        .Begin(rank, 4)
        .Connect(100 + rank)
        .Complete(rank, 4)
        .text();
  }
  AgentState State() const { return daemon_->agents().Agents().at(0); }

  test::MadeTree tree_;
  AgentConfig config_;
  ListenAddress listen_ = kAnyPort;
  Result<std::vector<RdmaQueuePair>> queue_pairs_;
  std::unique_ptr<Daemon> daemon_;
  std::unique_ptr<Service> service_;
  std::unique_ptr<GrpcServer> server_;
  std::unique_ptr<Agent> agent_;
  std::atomic<bool> stop_ = false;
  std::thread runs_;
};

TEST_F(DaemonAndAgent, DeliverRanksQueuePairsAndCountersDespiteRotationAndRestart) {
  RdmaQueuePair one;
  one.device = "mlx5_0";
  one.local = Qpn{100};
  one.remote = Qpn{200};
  one.type = "RC";
  one.process_id = 4100;
  queue_pairs_->push_back(one);
  tree_.File("log/nccl.log", LogOf(0));
  BeginDaemon();
  BeginAgent();
  EXPECT_TRUE(WaitFor([&] { return Ranks() == std::vector{0}; }));
  // Rotates the log while it grows.
  tree_.Append("log/nccl.log", LogOf(1));
  std::filesystem::rename(tree_.root() + "/log/nccl.log", tree_.root() + "/log/nccl.log.1");
  tree_.File("log/nccl.log", LogOf(2));
  EXPECT_TRUE(WaitFor([&] { return Ranks() == std::vector{0, 1, 2}; }));
  const auto facts = daemon_->answers().Latest()->snapshot->host_facts;
  ASSERT_EQ(facts->jobs.size(), 1u) << "nothing twice";
  EXPECT_EQ(facts->jobs[0].ranks[1].process_id, 4101u);
  EXPECT_THAT(facts->jobs[0].notes, ElementsAre("no NCCL log for rank 3 of 4"));
  ASSERT_EQ(facts->rdma.size(), 1u);
  EXPECT_EQ(facts->rdma[0].queue_pairs.at(0).remote, Qpn{200});
  ASSERT_EQ(facts->nics.size(), 1u);
  EXPECT_EQ(facts->nics[0].device, "mlx5_0");

  EndDaemon();
  std::filesystem::remove(tree_.root() + "/log/nccl.log.1");  // the log can no longer be read
  tree_.Append("log/nccl.log", LogOf(3));
  BeginDaemon();
  EXPECT_TRUE(WaitFor([&] { return Ranks() == std::vector{0, 1, 2, 3}; }));
  const auto again = daemon_->answers().Latest()->snapshot->host_facts;
  ASSERT_EQ(again->jobs.size(), 1u);
  EXPECT_EQ(again->jobs[0].ranks_seen, 4);
  EXPECT_THAT(again->jobs[0].notes, testing::IsEmpty());
  EXPECT_EQ(again->rdma.size(), 1u);
  EXPECT_TRUE(WaitFor([&] { return State().batches > 20; })) << "and counters go on";
  const std::vector<SourceState> sources = daemon_->Sources();
  ASSERT_EQ(sources.size(), 2u);
  EXPECT_EQ(sources[1].kind, SourceKind::kAgents);
  EXPECT_GT(sources[1].statistics.frames.ledger.decoded, 20u);
  EXPECT_TRUE(sources[1].statistics.frames.ledger.Balances());
  EXPECT_EQ(sources[1].statistics.frames.ledger.DroppedTotal(), 0u);
  EXPECT_EQ(State().lost_batches, 0u);
}

TEST_F(DaemonAndAgent, RestartedAgentReplacesThePreviousOne) {
  tree_.File("log/a.log", LogOf(0));
  BeginDaemon();
  BeginAgent();
  EXPECT_TRUE(WaitFor([&] { return Ranks() == std::vector{0}; }));
  EndAgent();
  EXPECT_TRUE(State().left);
  tree_.Append("log/a.log", LogOf(1));
  BeginAgent();
  EXPECT_TRUE(WaitFor([&] { return Ranks() == std::vector{0, 1}; }));
  EXPECT_EQ(daemon_->answers().Latest()->snapshot->host_facts->jobs.size(), 1u);
  EXPECT_EQ(State().sessions, 2u);
}

TEST_F(DaemonAndAgent, ReportsConfigurationErrors) {
  const auto error_of = [](const AgentConfig& config) {
    const auto agent = Agent::Begin(
        config, "", [](Severity, const std::string&) {},
        [] { return Result<std::vector<RdmaQueuePair>>(); });
    return agent ? "" : agent.error().message;
  };
  EXPECT_THAT(error_of({.appliance = "appliance"}),
              HasSubstr("invalid appliance address \"appliance\""));
  for (const char* daemon : {"appliance.example:50051", "192.0.2.1:50051", "[2001:db8::1]:50051",
                             "127.evil.example:50051"}) {
    EXPECT_THAT(error_of({.appliance = daemon}), HasSubstr("set `tls: {certificate: ..."));
  }
  for (const char* daemon : {"localhost:1", "127.9.9.9:1", "[::1]:1"}) {
    EXPECT_EQ(error_of({.appliance = daemon}), "");
  }
  EXPECT_THAT(error_of({.host = "a b"}), HasSubstr("invalid host name \"a b\""));
  EXPECT_THAT(error_of({.tls = {.key = "k.pem"}}), HasSubstr("incomplete TLS configuration"));
  EXPECT_THAT(error_of({.tls = {.certificate = "/nowhere/c.pem", .key = "k", .appliance_ca = "b"}}),
              HasSubstr("/nowhere/c.pem"));
}

}  // namespace
}  // namespace rocescope
