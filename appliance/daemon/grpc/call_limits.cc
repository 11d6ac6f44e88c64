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

constexpr size_t kMaxClients = 1024;  // more are remembered only while their bucket is not full

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
      // A call that is only refused would occupy its thread until the client has read the response.
      if (!limits_.Open(this, client, context)) context.TryCancel();
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

std::string CallLimits::Admit(const std::string& client) {
  const std::lock_guard lock(bucket_mutex_);
  const Clock::time_point now = Clock::now();
  const bool is_shared = client.empty();
  const uint32_t per_second = is_shared ? options_.shared_per_second : options_.per_second;
  const double burst = is_shared ? options_.shared_per_second : options_.burst;
  const auto filled = [&](const TokenBucket& bucket) {
    const double seconds = std::chrono::duration<double>(now - bucket.updated).count();
    return std::min(burst, bucket.tokens + seconds * per_second);
  };
  if (buckets_.size() >= kMaxClients) {
    std::erase_if(buckets_, [&](const auto& row) { return filled(row.second) == burst; });
  }
  TokenBucket& bucket =
      buckets_.try_emplace(client, TokenBucket{.tokens = burst, .updated = now}).first->second;
  bucket = {.tokens = filled(bucket), .updated = now};
  if (bucket.tokens >= 1) {
    --bucket.tokens;
    return "";
  }
  ++refused_;
  ++rate_limited_;
  return fmt::format("more than {} calls per second of {}", per_second,
                     is_shared ? "all clients" : "one client");
}

std::unique_ptr<grpc::experimental::ServerInterceptorFactoryInterface> CallLimits::Interceptors(
    const Gate& gate) {
  return std::make_unique<UnaryCalls>(*this, gate);
}

bool CallLimits::Open(const UnaryCall* call, std::string client, grpc::ServerContextBase& context) {
  const std::lock_guard lock(open_mutex_);
  const bool is_over = !client.empty() && ++open_of_[client] > options_.max_open;
  open_[call] = {.client = std::move(client),
                 .since = Clock::now(),
                 .context = &context,
                 .is_over_limit = is_over};
  if (is_over) ++refused_;
  return !is_over;
}

bool CallLimits::IsOverLimit(const grpc::ServerContextBase& call) {
  const std::lock_guard lock(open_mutex_);
  return std::ranges::any_of(open_, [&](const auto& row) {
    return row.second.context == &call && row.second.is_over_limit;
  });
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
  connections_ = std::make_unique<BusiestConnection>(std::move(ports));
}

void CallLimits::Watch() {
  using std::chrono::milliseconds;
  const milliseconds pace = std::clamp(options_.timeout / 4, milliseconds(1), milliseconds(200));
  std::unique_lock lock(open_mutex_);
  watched_ = Clock::now();
  while (!ended_.wait_for(lock, pace, [&] { return is_ending_; })) {
    CancelOldCalls();
    BusiestConnection* const connections = connections_.get();
    if (connections == nullptr) continue;
    lock.unlock();
    CloseFloodingConnection(*connections);
    lock.lock();
  }
}

void CallLimits::CancelOldCalls() {
  const Clock::time_point now = Clock::now();
  for (auto& [call, open] : open_) {
    if (open.is_cancelled || now - open.since < options_.timeout) continue;
    ++refused_;
    open.is_cancelled = true;
    // The call exists until its interceptor, whose destructor waits for the mutex, is destroyed.
    open.context->TryCancel();
  }
}

void CallLimits::CloseFloodingConnection(BusiestConnection& connections) {
  constexpr double kLeastBytes = 30;  // a call that is reset, with compressed header fields
  const Clock::time_point now = Clock::now();
  const double seconds = std::chrono::duration<double>(now - std::exchange(watched_, now)).count();
  const uint64_t all = rate_limited_;
  const auto refused = static_cast<double>(all - std::exchange(seen_rate_limited_, all));
  if (refused <= options_.flood_threshold * seconds) {
    is_sampled_ = false;
    return;
  }
  if (is_sampled_) connections.Close(static_cast<uint64_t>(kLeastBytes * refused));
  connections.Sample();
  is_sampled_ = true;
}

}  // namespace rocescope
