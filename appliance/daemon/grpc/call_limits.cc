// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/daemon/grpc/call_limits.h"

#include <fmt/format.h>
#include <grpcpp/server_context.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "appliance/daemon/grpc/gate.h"

namespace rocescope {
namespace {

constexpr size_t kMaxClients = 1024;  // more are remembered only while their credit is not full

}  // namespace

// The interceptor of a call lives as long as the call.
class CallLimits::UnaryCall final : public grpc::experimental::Interceptor {
 public:
  UnaryCall(CallLimits& limits, const Gate& gate, grpc::experimental::ServerRpcInfo& call)
      : limits_(limits), gate_(gate), call_(call) {}
  ~UnaryCall() override { limits_.Close(this); }

  void Intercept(grpc::experimental::InterceptorBatchMethods* methods) override {
    using grpc::experimental::InterceptionHookPoints;
    if (methods->QueryInterceptionHookPoint(InterceptionHookPoints::POST_RECV_INITIAL_METADATA)) {
      grpc::ServerContextBase& context = *call_.server_context();
      const std::string client = gate_.has_certificates() ? gate_.PeerOf(context) : "";
      if (!limits_.Open(this, client, [&context] { context.TryCancel(); })) context.TryCancel();
    }
    methods->Proceed();
  }

 private:
  CallLimits& limits_;
  const Gate& gate_;
  grpc::experimental::ServerRpcInfo& call_;
};

class CallLimits::UnaryCalls final : public grpc::experimental::ServerInterceptorFactoryInterface {
 public:
  UnaryCalls(CallLimits& limits, const Gate& gate) : limits_(limits), gate_(gate) {}

  grpc::experimental::Interceptor* CreateServerInterceptor(
      grpc::experimental::ServerRpcInfo* call) override {
    if (call->type() != grpc::experimental::ServerRpcInfo::Type::UNARY ||
        !std::string_view(call->method()).starts_with("/rocescope.")) {
      return nullptr;
    }
    return new UnaryCall(limits_, gate_, *call);  // gRPC takes ownership
  }

 private:
  CallLimits& limits_;
  const Gate& gate_;
};

CallLimits::CallLimits(const CallLimitOptions& options, std::atomic<uint64_t>& refused)
    : options_(options), refused_(refused), thread_([this] { Watch(); }) {}

CallLimits::~CallLimits() {
  {
    const std::lock_guard lock(open_mutex_);
    is_ending_ = true;
  }
  ended_.notify_all();
  thread_.join();
}

std::string CallLimits::Begin(const std::string& client) {
  const std::lock_guard lock(credit_mutex_);
  const Clock::time_point now = Clock::now();
  const auto burst = static_cast<double>(options_.burst);
  const auto grown = [&](const Credit& credit) {
    const double seconds = std::chrono::duration<double>(now - credit.updated).count();
    return std::min(burst, credit.calls + seconds * options_.per_second);
  };
  if (credits_.size() >= kMaxClients) {
    std::erase_if(credits_, [&](const auto& row) { return grown(row.second) == burst; });
  }
  Credit& credit =
      credits_.try_emplace(client, Credit{.calls = burst, .updated = now}).first->second;
  credit = {.calls = grown(credit), .updated = now};
  if (credit.calls >= 1) {
    --credit.calls;
    return "";
  }
  ++refused_;
  ++too_fast_;
  return fmt::format("more than {} calls per second of one client", options_.per_second);
}

std::unique_ptr<grpc::experimental::ServerInterceptorFactoryInterface> CallLimits::Interceptors(
    const Gate& gate) {
  return std::make_unique<UnaryCalls>(*this, gate);
}

bool CallLimits::Open(const UnaryCall* call, std::string client, std::function<void()> cancel) {
  const std::lock_guard lock(open_mutex_);
  const bool is_within = client.empty() || ++open_of_[client] <= options_.open;
  open_[call] = {.client = std::move(client), .since = Clock::now(), .cancel = std::move(cancel)};
  if (!is_within) ++refused_;
  return is_within;
}

void CallLimits::Close(const UnaryCall* call) {
  const std::lock_guard lock(open_mutex_);
  const auto at = open_.find(call);
  if (at == open_.end()) return;
  if (const auto count = open_of_.find(at->second.client);
      count != open_of_.end() && --count->second == 0) {
    open_of_.erase(count);
  }
  open_.erase(at);
}

void CallLimits::SetPorts(std::vector<uint16_t> ports) {
  const std::lock_guard lock(open_mutex_);
  connections_.emplace(std::move(ports));
}

void CallLimits::Watch() {
  using std::chrono::milliseconds;
  const milliseconds pace = std::clamp(options_.longest / 4, milliseconds(1), milliseconds(200));
  std::unique_lock lock(open_mutex_);
  watched_ = Clock::now();
  while (!ended_.wait_for(lock, pace, [&] { return is_ending_; })) {
    CancelOldCalls();
    CloseFloodingConnection();
  }
}

void CallLimits::CancelOldCalls() {
  const Clock::time_point now = Clock::now();
  for (auto& [call, open] : open_) {
    if (!open.cancel || now - open.since < options_.longest) continue;
    ++refused_;
    // The call exists until its interceptor, whose destructor waits for the mutex, is destroyed.
    std::exchange(open.cancel, nullptr)();
  }
}

void CallLimits::CloseFloodingConnection() {
  constexpr uint64_t kLeastBytes = 50'000;  // about 300 calls
  const Clock::time_point now = Clock::now();
  const double seconds = std::chrono::duration<double>(now - std::exchange(watched_, now)).count();
  const uint64_t all = too_fast_;
  const auto refused = static_cast<double>(all - std::exchange(seen_too_fast_, all));
  if (!connections_ || refused <= options_.flood * seconds) {
    is_sampled_ = false;
    return;
  }
  if (is_sampled_) connections_->Close(kLeastBytes);
  connections_->Sample();
  is_sampled_ = true;
}

}  // namespace rocescope
