// SPDX-License-Identifier: BSD-3-Clause
// One stream of an agent, handled by events of a completion queue. All streams of an account
// (AgentIdentity) share one rate limit.
#pragma once

#include <grpcpp/alarm.h>
#include <grpcpp/grpcpp.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "appliance/common/config/config.h"
#include "appliance/daemon/grpc/gate.h"
#include "appliance/daemon/grpc/pace.h"
#include "appliance/daemon/intake/agent_intake.h"
#include "rocescope/v1/agent.grpc.pb.h"

namespace rocescope {

// All functions are called by the thread of the queue.
class AgentCall {
 public:
  // A pending operation on the queue; the tag is a pointer to it.
  class Operation {
   public:
    using DoneFunction = void (AgentCall::*)(bool ok);
    Operation(AgentCall& call, DoneFunction done) : call_(call), done_(done) {}
    Operation(const Operation&) = delete;
    // Called when the queue reports completion.
    void Done(bool ok) { (call_.*done_)(ok); }
    AgentCall& call() { return call_; }

   private:
    AgentCall& call_;
    const DoneFunction done_;
  };

  // All arguments must outlive the call.
  AgentCall(AgentIntake& intake, const Gate& gate, const AgentsConfig& config, AccountPaces& paces,
            grpc::ServerCompletionQueue& queue);

  // Waits for a client; the queue reports it with this tag.
  void Await(v1::Agents::AsyncService& service, void* tag);
  // Starts the stream of a client. A client that sends no hello within `timeout` is disconnected.
  void Begin(std::chrono::milliseconds timeout);
  // Refuses the client because the maximum number of streams is reached, of all clients or of this
  // account.
  void Refuse(std::string_view whose);
  // The certificate's account, and how many streams it may have at a time: two for each of its
  // names, because a host may connect again before the end of its last stream is detected, and some
  // more. Unset if each host has an account of its own, and without certificates. Must be called
  // after a client has come.
  struct Account {
    std::string name;
    size_t max_streams = 0;
  };
  std::optional<Account> CertificateAccount() const;
  // Ends all waits for queue space or the rate limit, because the server stops.
  void EndWaits();

  // True if no operation is pending on the queue.
  bool over() const { return is_finished_ && !hello_is_awaited_; }

 private:
  void Read();
  void ReadAtPace();
  void OnRead(bool ok);

  void Take();
  void TakeHello();
  void TakeBatch();
  void TakeHeartbeat();

  void WaitFor(std::chrono::milliseconds time, Operation& then);
  void OnRoom(bool ok);
  void OnPace(bool ok);
  void OnNoHello(bool ok);

  void Say(std::optional<uint64_t> taken, int64_t echo_ns, int64_t now_ns);
  void Write();
  void OnWritten(bool ok);

  void Replaced();
  void Over(const grpc::Status& status);
  void OnFinished(bool ok);

  AgentIntake& intake_;
  const Gate& gate_;
  const AgentsConfig& config_;
  AccountPaces& paces_;
  grpc::ServerCompletionQueue& queue_;

  grpc::ServerContext context_;
  grpc::ServerAsyncReaderWriter<v1::ApplianceMessage, v1::AgentMessage> stream_{&context_};
  grpc::Alarm alarm_;
  grpc::Alarm hello_alarm_;
  Operation read_{*this, &AgentCall::OnRead};
  Operation room_{*this, &AgentCall::OnRoom};
  Operation pace_wait_{*this, &AgentCall::OnPace};
  Operation no_hello_{*this, &AgentCall::OnNoHello};
  Operation written_{*this, &AgentCall::OnWritten};
  Operation finished_{*this, &AgentCall::OnFinished};

  Gate::Checked checked_;

  // State of reading. Exactly one of reading, waiting and finishing is in progress.
  Pace* pace_ = nullptr;  // null: before the hello
  std::string account_;   // of the hello
  v1::AgentMessage message_;
  std::unique_ptr<v1::AgentBatch> batch_;
  size_t bytes_ = 0;
  uint64_t connection_ = 0;  // 0: before the hello
  bool left_ = false;        // the agent sent a goodbye
  bool may_wait_ = true;
  bool hello_is_awaited_ = false;  // the alarm is pending on the queue

  // State of writing, which runs concurrently with reading.
  v1::ApplianceMessage news_;
  v1::ApplianceMessage said_;
  bool has_news_ = false;
  bool writing_ = false;
  std::optional<grpc::Status> status_;  // final status, once the stream ends
  bool is_finished_ = false;
};

}  // namespace rocescope
