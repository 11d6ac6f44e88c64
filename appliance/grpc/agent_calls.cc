// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/grpc/agent_calls.h"

#include <fmt/format.h>
#include <grpcpp/alarm.h>
#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <mutex>
#include <optional>
#include <utility>

#include "dataplane/lcore/wall_clock.h"
#include "rocescope/v1/agent.grpc.pb.h"

namespace rocescope {
namespace {

using Steady = std::chrono::steady_clock;
constexpr std::string_view kMethod = "/rocescope.v1.Agents/Report";

// Refuses what comes faster than so many octets a second, but for a burst of some seconds.
class Pace {
 public:
  explicit Pace(uint64_t octets_per_second)
      : rate_(static_cast<double>(octets_per_second)), debt_(-kBurst * rate_) {}

  // So many octets have come: for so long none should.
  Steady::duration Take(size_t octets, Steady::time_point now) {
    const double passed = std::chrono::duration<double>(now - last_).count();
    last_ = now;
    debt_ = std::max(debt_ - passed * rate_, -kBurst * rate_) + static_cast<double>(octets);
    if (debt_ <= 0) return {};
    return std::chrono::duration_cast<Steady::duration>(
        std::chrono::duration<double>(debt_ / rate_));
  }

 private:
  static constexpr double kBurst = 4;  // seconds

  const double rate_;
  double debt_;  // octets; negative: what may still come
  Steady::time_point last_ = Steady::now();
};

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

// One connection. gRPC calls its On... one after the other for reads, and for writes; the two kinds
// and the alarm run beside each other. It deletes itself when all is over.
class ReportReactor final : public grpc::ServerBidiReactor<v1::AgentMessage, v1::BoxMessage> {
 public:
  ReportReactor(AgentIntake& intake, std::vector<std::string> names, bool has_names,
                const AgentsConfig& config, std::string peer)
      : intake_(intake),
        names_(std::move(names)),
        has_names_(has_names),
        any_host_(config.any_host),
        peer_(std::move(peer)),
        pace_(config.octets_per_second) {
    StartRead(&message_);
  }

  void OnReadDone(bool ok) override {
    if (!ok) return Over(grpc::Status::OK);
    octets_ = message_.ByteSizeLong();
    Take();
  }

  void OnWriteDone(bool ok) override {
    const std::lock_guard lock(mutex_);
    writing_ = false;
    if (finish_) {
      Finish(*finish_);
    } else if (ok && has_news_) {
      Write();
    }
  }

  // Finish is called by whoever would read next, so no alarm is set any more.
  void OnDone() override { delete this; }

 private:
  // The message that came, now or again.
  void Take() {
    const Timestamp now = WallClock();
    if (!connection_) {
      if (!message_.has_hello()) {
        return Over({grpc::StatusCode::INVALID_ARGUMENT, "the first message must be a hello"});
      }
      const std::string& host = message_.hello().host();
      if (has_names_ && !MayReportFor(host, names_, any_host_)) {
        return Over({grpc::StatusCode::PERMISSION_DENIED,
                     fmt::format("the certificate's names are not those of the host \"{}\": an "
                                 "agent reports for its own (key `agents: {{any_host: ...}}` of "
                                 "the box's configuration names exceptions)",
                                 host.substr(0, 253))});
      }
      const auto welcome = intake_.Begin(message_.hello(), peer_, now);
      if (!welcome) return Over(StatusOf(welcome.error()));
      connection_ = welcome->connection;
      Say(welcome->taken, 0, 0);
    } else if (message_.has_batch()) {
      if (!batch_) batch_.reset(message_.release_batch());
      uint64_t taken = 0;
      const AgentIntake::Taking result = intake_.Take(*connection_, batch_, octets_, now, taken);
      if (result == AgentIntake::Taking::kOver) return Replaced();
      if (result == AgentIntake::Taking::kFull) {
        constexpr auto kAgain = std::chrono::milliseconds(50);
        return After(kAgain, [this] { Take(); });
      }
      batch_.reset();
      Say(taken, 0, 0);
    } else if (message_.has_pulse()) {
      if (!intake_.Hear(*connection_, message_.pulse(), now)) return Replaced();
      Say(std::nullopt, message_.pulse().now_ns(), ToNanoseconds(now));
    } else if (message_.has_goodbye()) {
      left_ = true;
    } else {
      return Over({grpc::StatusCode::INVALID_ARGUMENT, "expected a batch or a pulse"});
    }
    const Steady::duration wait = pace_.Take(octets_, Steady::now());
    if (wait <= Steady::duration::zero()) return StartRead(&message_);
    After(std::chrono::ceil<std::chrono::milliseconds>(wait), [this] { StartRead(&message_); });
  }

  // What stops reading stops the peer: HTTP/2's window fills up, and its batches stay there.
  void After(std::chrono::milliseconds wait, std::function<void()> then) {
    alarm_.Set(std::chrono::system_clock::now() + wait, [then = std::move(then)](bool) { then(); });
  }

  void Say(std::optional<uint64_t> taken, int64_t echo_ns, int64_t now_ns) {
    const std::lock_guard lock(mutex_);
    if (taken) news_.set_taken(*taken);
    if (echo_ns != 0) {
      news_.set_echo_ns(echo_ns);
      news_.set_now_ns(now_ns);
    }
    has_news_ = true;
    if (!writing_ && !finish_) Write();
  }

  // With mutex_. What comes while it is under way is said together.
  void Write() {
    said_ = news_;
    news_.clear_echo_ns();
    news_.clear_now_ns();
    has_news_ = false;
    writing_ = true;
    StartWrite(&said_);
  }

  void Replaced() {
    Over({grpc::StatusCode::ABORTED,
          "another agent reports for this host since, or the box ends: two with one name?"});
  }

  // Nothing is read any more. Last of all: once it is finished, and no write is under way, it may
  // be gone.
  void Over(const grpc::Status& status) {
    if (connection_) intake_.End(*connection_, left_, WallClock());
    {
      const std::lock_guard lock(mutex_);
      finish_ = status;
      if (writing_) return;  // OnWriteDone finishes
    }
    Finish(status);
  }

  AgentIntake& intake_;
  const std::vector<std::string> names_;
  const bool has_names_;
  const std::vector<std::string> any_host_;
  const std::string peer_;
  Pace pace_;
  v1::AgentMessage message_;
  std::unique_ptr<v1::AgentBatch> batch_;
  size_t octets_ = 0;
  std::optional<uint64_t> connection_;
  bool left_ = false;  // it said goodbye
  grpc::Alarm alarm_;

  std::mutex mutex_;  // of all below
  v1::BoxMessage news_;
  v1::BoxMessage said_;
  bool has_news_ = false;
  bool writing_ = false;
  std::optional<grpc::Status> finish_;
};

class Refusal final : public grpc::ServerBidiReactor<v1::AgentMessage, v1::BoxMessage> {
 public:
  explicit Refusal(const grpc::Status& status) { Finish(status); }
  void OnDone() override { delete this; }
};

class AgentCalls final : public v1::Agents::CallbackService {
 public:
  AgentCalls(AgentIntake& intake, const Gate& gate, const AgentsConfig& config)
      : intake_(intake), gate_(gate), config_(config) {}

  grpc::ServerBidiReactor<v1::AgentMessage, v1::BoxMessage>* Report(
      grpc::CallbackServerContext* context) override {
    if (const grpc::Status admitted = gate_.Admit(*context, kMethod); !admitted.ok()) {
      return new Refusal(admitted);
    }
    return new ReportReactor(intake_, gate_.NamesOf(*context), gate_.has_certificates(), config_,
                             context->peer());
  }

 private:
  AgentIntake& intake_;
  const Gate& gate_;
  const AgentsConfig config_;
};

}  // namespace

std::unique_ptr<grpc::Service> MakeAgentCalls(AgentIntake& intake, const Gate& gate,
                                              const AgentsConfig& config) {
  return std::make_unique<AgentCalls>(intake, gate, config);
}

}  // namespace rocescope
