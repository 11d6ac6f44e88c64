// SPDX-License-Identifier: BSD-3-Clause
// One connection of an agent: what it says is taken and answered, by events of a queue.
#pragma once

#include <grpcpp/alarm.h>
#include <grpcpp/grpcpp.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>

#include "appliance/common/config/config.h"
#include "appliance/daemon/grpc/gate.h"
#include "appliance/daemon/grpc/pace.h"
#include "appliance/daemon/intake/agent_intake.h"
#include "rocescope/v1/agent.grpc.pb.h"

namespace rocescope {

// All of it is called by one thread, the queue's.
class AgentCall {
 public:
  // What it has begun on the queue; the tag is a pointer to it.
  class Operation {
   public:
    Operation(AgentCall& call, void (AgentCall::*done)(bool ok)) : call_(call), done_(done) {}
    Operation(const Operation&) = delete;
    // The queue said so.
    void Done(bool ok) { (call_.*done_)(ok); }
    AgentCall& call() { return call_; }

   private:
    AgentCall& call_;
    void (AgentCall::* const done_)(bool ok);
  };

  // All must outlive it.
  AgentCall(AgentIntake& intake, const Gate& gate, const AgentsConfig& config,
            grpc::ServerCompletionQueue& queue);

  // The queue says with this tag that somebody calls.
  void Await(v1::Agents::AsyncService& service, void* tag);
  // Somebody does. Who has not said hello after `patience` is not waited for.
  void Begin(std::chrono::milliseconds patience);
  // Likewise, and there is no room.
  void Refuse();
  // The server ends: nobody waits for room or for the pace any more.
  void EndWaits();

  // Nothing of it is on the queue any more.
  bool over() const { return is_finished_ && !hello_is_awaited_; }

 private:
  void Read();
  void ReadAtPace();
  void OnRead(bool ok);

  void Take();
  void TakeHello();
  void TakeBatch();
  void TakePulse();

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

  // What came. One of reading, waiting and finishing is under way.
  Pace pace_;
  v1::AgentMessage message_;
  std::unique_ptr<v1::AgentBatch> batch_;
  size_t bytes_ = 0;
  uint64_t connection_ = 0;  // 0: none yet
  bool left_ = false;        // it said goodbye
  bool may_wait_ = true;
  bool hello_is_awaited_ = false;  // the alarm is on the queue

  // What is said, beside that.
  v1::ApplianceMessage news_;
  v1::ApplianceMessage said_;
  bool has_news_ = false;
  bool writing_ = false;
  std::optional<grpc::Status> status_;  // of the end
  bool is_finished_ = false;
};

}  // namespace rocescope
