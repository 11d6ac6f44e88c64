// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/daemon/grpc/agent_calls.h"

#include <atomic>
#include <string>
#include <thread>
#include <unordered_map>
#include <utility>

#include "appliance/daemon/grpc/agent_call.h"
#include "appliance/daemon/grpc/deadline.h"
#include "base/thread_name.h"

namespace rocescope {

struct AgentCalls::Parts {
  Parts(AgentIntake& of, const Gate& before, const AgentsConfig& given,
        std::chrono::milliseconds for_hello)
      : intake(of),
        gate(before),
        config(given),
        timeout(for_hello),
        paces(given.bytes_per_second) {}

  void Run();
  void Expect();
  void Come(bool ok);
  void Happen(AgentCall::Operation& operation, bool ok);

  AgentIntake& intake;
  const Gate& gate;
  const AgentsConfig config;
  const std::chrono::milliseconds timeout;
  AccountPaces paces;  // used only by the thread
  v1::Agents::AsyncService service;
  std::unique_ptr<grpc::ServerCompletionQueue> queue;

  // Used only by the thread once it runs.
  std::unique_ptr<AgentCall> next;  // call that waits for a client; null: the server stops
  struct Stream {
    std::unique_ptr<AgentCall> call;
    std::string account;  // counted in streams_of; empty: not counted
  };
  std::unordered_map<AgentCall*, Stream> calls;
  std::unordered_map<std::string, size_t> streams_of;  // by account
  std::thread thread;
  std::atomic<uint64_t> beats = 0;
};

// If a server has a completion queue, its synchronous threads do not poll sockets, so other calls
// depend on this thread too. It therefore never sleeps, unlike the thread of the gRPC callback API,
// which sleeps 0.1 s at a time (CallbackAlternativeCQ, gRPC 1.51).
void AgentCalls::Parts::Run() {
  NameThread("agents-grpc");
  void* tag = nullptr;
  bool ok = false;
  while (next || !calls.empty()) {
    const auto came = queue->AsyncNext(&tag, &ok, After(std::chrono::seconds(1)));
    ++beats;
    if (came == grpc::CompletionQueue::SHUTDOWN) return;
    if (came == grpc::CompletionQueue::TIMEOUT) continue;
    tag == this ? Come(ok) : Happen(*static_cast<AgentCall::Operation*>(tag), ok);
  }
}

void AgentCalls::Parts::Expect() {
  next = std::make_unique<AgentCall>(intake, gate, config, paces, *queue);
  next->Await(service, this);
}

// Handles a new client; `ok` is false when the server stops.
void AgentCalls::Parts::Come(bool ok) {
  if (!ok) {
    next.reset();
    for (const auto& [call, stream] : calls) call->EndWaits();
    return;
  }
  // After a network outage, each agent reconnects before the end of its previous call is detected.
  constexpr size_t kMore = 64;
  const bool has_room = calls.size() < size_t{2} * config.most + kMore;
  AgentCall* const call = next.get();
  Stream& stream = calls[call];
  stream.call = std::move(next);
  Expect();
  if (!has_room)
    return call->Refuse(
        "of all hosts: increase `agents.max_hosts` in the configuration of the appliance");
  if (const auto account = call->CertificateAccount()) {
    stream.account = account->name;
    if (++streams_of[account->name] > account->max_streams) {
      return call->Refuse("with one certificate: give each host a certificate of its own");
    }
  }
  call->Begin(timeout);
}

void AgentCalls::Parts::Happen(AgentCall::Operation& operation, bool ok) {
  operation.Done(ok);
  const auto at = calls.find(&operation.call());
  if (!at->first->over()) return;
  if (const auto counted = streams_of.find(at->second.account);
      counted != streams_of.end() && --counted->second == 0) {
    streams_of.erase(counted);
  }
  calls.erase(at);
}

AgentCalls::AgentCalls(AgentIntake& intake, const Gate& gate, const AgentsConfig& config,
                       std::chrono::milliseconds timeout)
    : parts_(std::make_unique<Parts>(intake, gate, config, timeout)) {}

AgentCalls::~AgentCalls() { End(); }

uint64_t AgentCalls::beats() const { return parts_->beats; }

void AgentCalls::AddTo(grpc::ServerBuilder& builder) {
  builder.RegisterService(&parts_->service);
  parts_->queue = builder.AddCompletionQueue();
}

void AgentCalls::Begin() {
  parts_->Expect();
  parts_->thread = std::thread([parts = parts_.get()] { parts->Run(); });
}

void AgentCalls::End() {
  if (!parts_->queue) return;
  if (parts_->thread.joinable()) parts_->thread.join();
  parts_->queue->Shutdown();
  // A queue must be drained before it is destroyed.
  void* tag = nullptr;
  bool ok = false;
  while (parts_->queue->Next(&tag, &ok)) {
  }
  parts_->queue.reset();
}

}  // namespace rocescope
