// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/daemon/grpc/agent_call.h"

#include <fmt/format.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "appliance/daemon/grpc/deadline.h"
#include "base/utf8.h"
#include "dataplane/source/wall_clock.h"

namespace rocescope {
namespace {

constexpr std::string_view kMethod = "/rocescope.v1.Agents/Report";

grpc::Status StatusOf(const Error& error) {
  switch (error.code) {
    case ErrorCode::kInvalidArgument:
      return {grpc::StatusCode::INVALID_ARGUMENT, error.message};
    case ErrorCode::kResourceExhausted:
      return {grpc::StatusCode::RESOURCE_EXHAUSTED, error.message};
    default:
      return {grpc::StatusCode::UNAVAILABLE, error.message};
  }
}

}  // namespace

AgentCall::AgentCall(AgentIntake& intake, const Gate& gate, const AgentsConfig& config,
                     AccountPaces& paces, grpc::ServerCompletionQueue& queue)
    : intake_(intake), gate_(gate), config_(config), paces_(paces), queue_(queue) {}

void AgentCall::Await(v1::Agents::AsyncService& service, void* tag) {
  service.RequestReport(&context_, &stream_, &queue_, &queue_, tag);
}

void AgentCall::Begin(std::chrono::milliseconds timeout) {
  const grpc::Status admitted = gate_.Admit(context_, kMethod);
  if (!admitted.ok()) return Over(admitted);
  hello_is_awaited_ = true;
  hello_alarm_.Set(&queue_, After(timeout), &no_hello_);
  Read();
}

void AgentCall::Refuse(std::string_view whose) {
  Over({grpc::StatusCode::RESOURCE_EXHAUSTED, fmt::format("too many agent connections {}", whose)});
}

std::optional<AgentCall::Account> AgentCall::CertificateAccount() const {
  if (!gate_.has_certificates()) return std::nullopt;
  const std::vector<std::string> names = gate_.NamesOf(context_);
  const std::optional<std::string> account = AccountOf(names, config_);
  if (!account) return std::nullopt;
  constexpr size_t kMore = 8;
  return Account{.name = *account, .max_streams = 2 * names.size() + kMore};
}

void AgentCall::EndWaits() {
  may_wait_ = false;
  alarm_.Cancel();
}

// --- Reading ---

void AgentCall::Read() { stream_.Read(&message_, &read_); }

void AgentCall::OnRead(bool ok) {
  if (!ok) return Over(grpc::Status::OK);
  const grpc::Status again = gate_.CheckAgain(context_, checked_);
  if (!again.ok()) return Over(again);
  bytes_ = message_.ByteSizeLong();
  Take();
}

void AgentCall::Take() {
  if (connection_ == 0) return TakeHello();
  if (message_.has_batch()) {
    batch_.reset(message_.release_batch());
    // Many empty messages would take far more memory than their size on the wire.
    constexpr size_t kMostExpansion = 24;
    constexpr size_t kSmall = size_t{256} << 10;
    if (batch_->SpaceUsedLong() > kSmall + kMostExpansion * bytes_) {
      return Over({grpc::StatusCode::INVALID_ARGUMENT,
                   "malformed batch: it consists of too many small or empty messages"});
    }
    return TakeBatch();
  }
  if (message_.has_heartbeat()) return TakeHeartbeat();
  if (!message_.has_goodbye()) {
    return Over({grpc::StatusCode::INVALID_ARGUMENT,
                 "malformed message: expected a batch, a heartbeat or a goodbye"});
  }
  left_ = true;
  ReadAtPace();
}

void AgentCall::TakeHello() {
  if (!message_.has_hello()) {
    return Over({grpc::StatusCode::INVALID_ARGUMENT,
                 "malformed message: the first message must be a hello"});
  }
  const std::string& host = message_.hello().host();
  const std::optional<AgentIdentity> identity =
      gate_.has_certificates() ? IdentifyAgent(host, gate_.NamesOf(context_), config_)
                               : AnyAgent(host);
  if (!identity) {
    return Over({grpc::StatusCode::PERMISSION_DENIED,
                 fmt::format("the certificate does not contain the name of the host \"{}\": an "
                             "agent may report only for its own host; set `host` in the "
                             "configuration of the agent to the name in its certificate, or list "
                             "the omitted domain in `agents: {{domains: ...}}` in the "
                             "configuration of the appliance",
                             Utf8Front(host, 253))});
  }
  const auto welcome = intake_.Begin(message_.hello(), *identity, context_.peer(), WallClock());
  if (!welcome) return Over(StatusOf(welcome.error()));
  account_ = identity->account;
  pace_ = &paces_.Of(account_, Pace::Clock::now());
  connection_ = welcome->connection;
  hello_alarm_.Cancel();
  Say(welcome->taken, 0, 0);
  ReadAtPace();
}

// Passes on the received batch; retries later if the queue is full.
void AgentCall::TakeBatch() {
  constexpr auto kAgain = std::chrono::milliseconds(50);
  uint64_t taken = 0;
  switch (intake_.Take(connection_, batch_, bytes_, WallClock(), taken)) {
    case AgentIntake::Taking::kOver:
      return Replaced();
    case AgentIntake::Taking::kFull:
      return WaitFor(kAgain, room_);
    case AgentIntake::Taking::kTaken:
      batch_.reset();
      Say(taken, 0, 0);
      return ReadAtPace();
  }
}

void AgentCall::TakeHeartbeat() {
  const Timestamp now = WallClock();
  if (!intake_.Hear(connection_, message_.heartbeat(), now)) return Replaced();
  Say(std::nullopt, message_.heartbeat().now_ns(), ToNanoseconds(now));
  ReadAtPace();
}

void AgentCall::ReadAtPace() {
  const Pace::Clock::duration wait = pace_->Take(bytes_, Pace::Clock::now());
  if (wait <= Pace::Clock::duration::zero()) return Read();
  WaitFor(std::chrono::ceil<std::chrono::milliseconds>(wait), pace_wait_);
}

// Not reading throttles the client: the HTTP/2 flow control window fills, and the batches stay with
// the client.
void AgentCall::WaitFor(std::chrono::milliseconds time, Operation& then) {
  if (!may_wait_) return Replaced();
  alarm_.Set(&queue_, After(time), &then);
}

void AgentCall::OnRoom(bool ok) { ok ? TakeBatch() : Replaced(); }

void AgentCall::OnPace(bool ok) { ok ? Read() : Replaced(); }

// Cancelling ends the pending read.
void AgentCall::OnNoHello(bool ok) {
  hello_is_awaited_ = false;
  if (ok && connection_ == 0) context_.TryCancel();
}

// --- Writing ---

void AgentCall::Say(std::optional<uint64_t> taken, int64_t echo_ns, int64_t now_ns) {
  if (taken) news_.set_accepted_sequence(*taken);
  if (echo_ns != 0) {
    news_.set_echo_ns(echo_ns);
    news_.set_now_ns(now_ns);
  }
  has_news_ = true;
  if (!writing_) Write();
}

// News that arrives during a write is combined into the next one.
void AgentCall::Write() {
  said_ = news_;
  news_.clear_echo_ns();
  news_.clear_now_ns();
  has_news_ = false;
  writing_ = true;
  stream_.Write(said_, &written_);
}

void AgentCall::OnWritten(bool ok) {
  writing_ = false;
  if (status_) {
    stream_.Finish(*status_, &finished_);
  } else if (ok && has_news_) {
    Write();
  }
}

// --- Ending ---

void AgentCall::Replaced() {
  Over({grpc::StatusCode::ABORTED,
        "another agent has connected with the same host name, a host of the topology has taken the "
        "place, or the appliance is stopping; check that the host name is unique"});
}

// Called instead of the next read, so no read or alarm is pending any more.
void AgentCall::Over(const grpc::Status& status) {
  if (connection_ != 0) intake_.End(connection_, left_, WallClock());
  if (std::exchange(pace_, nullptr) != nullptr) paces_.Release(account_, Pace::Clock::now());
  status_ = status;
  if (hello_is_awaited_) hello_alarm_.Cancel();
  if (!writing_) stream_.Finish(status, &finished_);  // otherwise OnWritten finishes
}

void AgentCall::OnFinished(bool) { is_finished_ = true; }

}  // namespace rocescope
