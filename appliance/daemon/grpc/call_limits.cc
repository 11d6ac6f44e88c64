// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/daemon/grpc/call_limits.h"

#include <fmt/format.h>
#include <grpcpp/server_context.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "appliance/common/config/byte_size.h"
#include "appliance/daemon/grpc/gate.h"

namespace rocescope {
namespace {

constexpr size_t kMaxClients = 1024;  // more are remembered only while their bucket is not full
// gRPC does not report a call that ends before its request is complete, so it is forgotten later.
constexpr std::chrono::seconds kLongestWait(5);
// Bytes of a message that is never refused. All threads of the server together hold only a few
// megabytes of such messages.
constexpr uint64_t kSmallMessage = uint64_t{64} << 10;

// A message counts as at most three quarters of the limit, so that any message is permitted if
// nearly nothing else is open.
bool IsAbove(uint64_t limit, uint64_t others, uint64_t bytes) {
  return others + std::min(bytes, limit / 4 * 3) > limit;
}

}  // namespace

// The interceptor of a call lives as long as the call.
class CallLimits::Call final : public grpc::experimental::Interceptor {
 public:
  Call(CallLimits& limits, const Gate& gate, grpc::experimental::ServerRpcInfo& call)
      : limits_(limits),
        gate_(gate),
        call_(call),
        is_limited_(call.type() == grpc::experimental::ServerRpcInfo::Type::UNARY &&
                    std::string_view(call.method()).starts_with("/rocescope.")) {}
  ~Call() override {
    if (is_limited_) limits_.Close(this);
  }

  void Intercept(grpc::experimental::InterceptorBatchMethods* methods) override {
    using grpc::experimental::InterceptionHookPoints;
    if (methods->QueryInterceptionHookPoint(InterceptionHookPoints::POST_RECV_INITIAL_METADATA)) {
      grpc::ServerContextBase& context = *call_.server_context();
      const std::string client = gate_.has_certificates() ? gate_.PeerOf(context) : "";
      limits_.Begin(client);
      // A call that is only refused would occupy its thread until the client has read the response.
      if (is_limited_ && !limits_.Open(this, client, context)) context.TryCancel();
    }
    methods->Proceed();
  }

 private:
  CallLimits& limits_;
  const Gate& gate_;
  grpc::experimental::ServerRpcInfo& call_;
  const bool is_limited_;
};

class CallLimits::InterceptorFactory final
    : public grpc::experimental::ServerInterceptorFactoryInterface {
 public:
  InterceptorFactory(CallLimits& limits, const Gate& gate) : limits_(limits), gate_(gate) {}

  grpc::experimental::Interceptor* CreateServerInterceptor(
      grpc::experimental::ServerRpcInfo* call) override {
    return new Call(limits_, gate_, *call);  // gRPC takes ownership
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

CallLimits::Client& CallLimits::Find(const std::string& name, Clock::time_point now) {
  const bool is_shared = name.empty();
  const uint32_t per_second = is_shared ? options_.shared_per_second : options_.per_second;
  const double burst = is_shared ? options_.shared_per_second : options_.burst;
  const auto filled = [&](const Client& client) {
    const double seconds = std::chrono::duration<double>(now - client.updated).count();
    return std::min(burst, client.tokens + seconds * per_second);
  };
  if (clients_.size() >= kMaxClients) {
    for (auto& row : clients_) ForgetOldCalls(row.second, now);
    std::erase_if(clients_, [&](const auto& row) {
      return row.second.waiting.empty() && filled(row.second) == burst;
    });
  }
  Client& client =
      clients_.try_emplace(name, Client{.tokens = burst, .updated = now, .waiting = {}})
          .first->second;
  client.tokens = filled(client);
  client.updated = now;
  return client;
}

std::string CallLimits::Refuse(std::string reason) {
  ++refused_;
  ++not_admitted_;
  return reason;
}

std::string CallLimits::Admit(const std::string& name) {
  const std::lock_guard lock(client_mutex_);
  Client& client = Find(name, Clock::now());
  if (client.tokens < 1) {
    return Refuse(name.empty() ? fmt::format("more than {} calls per second of all clients",
                                             options_.shared_per_second)
                               : fmt::format("more than {} calls per second of one client",
                                             options_.per_second));
  }
  --client.tokens;
  return "";
}

std::string CallLimits::Wait(const std::string& name) {
  constexpr std::chrono::milliseconds kSweep(100);
  const std::lock_guard lock(client_mutex_);
  const Clock::time_point now = Clock::now();
  Client& client = Find(name, now);
  ForgetOldCalls(client, now);
  if (waiting_ >= options_.max_waiting && now - all_swept_ >= kSweep) {
    all_swept_ = now;
    for (auto& row : clients_) ForgetOldCalls(row.second, now);
  }
  if (!name.empty() && client.waiting.size() >= options_.max_waiting_of_client) {
    return Refuse(
        fmt::format("{} calls of the client are waiting, the most that are permitted: "
                    "try again later",
                    options_.max_waiting_of_client));
  }
  if (waiting_ >= options_.max_waiting) {
    return Refuse(
        fmt::format("{} calls of all clients are waiting, the most that are permitted: "
                    "try again later",
                    options_.max_waiting));
  }
  client.waiting.push_back(now);
  ++waiting_;
  return "";
}

void CallLimits::ForgetOldCalls(Client& client, Clock::time_point now) {
  while (!client.waiting.empty() && now - client.waiting.front() > kLongestWait) {
    client.waiting.pop_front();
    --waiting_;
  }
}

// It does not matter which of its calls begins.
void CallLimits::Begin(const std::string& name) {
  const std::lock_guard lock(client_mutex_);
  const auto client = clients_.find(name);
  if (client == clients_.end() || client->second.waiting.empty()) return;
  client->second.waiting.pop_front();
  --waiting_;
}

std::unique_ptr<grpc::experimental::ServerInterceptorFactoryInterface> CallLimits::Interceptors(
    const Gate& gate) {
  return std::make_unique<InterceptorFactory>(*this, gate);
}

bool CallLimits::Open(const Call* call, std::string client, grpc::ServerContextBase& context) {
  const std::lock_guard lock(open_mutex_);
  const bool is_over = ++open_of_[client].calls > options_.max_open && !client.empty();
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

void CallLimits::Close(const Call* call) {
  const std::lock_guard lock(open_mutex_);
  const auto at = open_.find(call);
  if (at == open_.end()) return;
  if (const auto count = open_of_.find(at->second.client); count != open_of_.end()) {
    count->second.bytes -= at->second.bytes;
    if (--count->second.calls == 0) open_of_.erase(count);
  }
  bytes_ -= at->second.bytes;
  open_.erase(at);
}

std::string CallLimits::Charge(const grpc::ServerContextBase& call, uint64_t bytes) {
  const std::lock_guard lock(open_mutex_);
  const auto at =
      std::ranges::find_if(open_, [&](const auto& row) { return row.second.context == &call; });
  if (at == open_.end()) return "";
  OpenCall& open = at->second;
  Total& own = open_of_[open.client];
  if (options_.max_bytes && bytes > kSmallMessage) {
    const uint64_t limit = *options_.max_bytes;
    if (!open.client.empty() && IsAbove(limit / 4, own.bytes - open.bytes, bytes)) {
      ++refused_;
      return fmt::format(
          "the requests and the unread responses of this client would take more than {}: read the "
          "responses, or make fewer calls at the same time",
          FormatBytes(limit / 4));
    }
    if (IsAbove(limit, bytes_ - open.bytes, bytes)) {
      ++refused_;
      return fmt::format(
          "the requests and the unread responses of all clients would take more than {}: try "
          "again later",
          FormatBytes(limit));
    }
  }
  own.bytes += bytes - open.bytes;
  bytes_ += bytes - open.bytes;
  open.bytes = bytes;
  return "";
}

void CallLimits::SetPorts(std::vector<uint16_t> ports) {
  const std::lock_guard lock(open_mutex_);
  connections_ = std::make_unique<BusyConnections>(std::move(ports));
}

void CallLimits::Watch() {
  using std::chrono::milliseconds;
  const milliseconds pace = std::clamp(options_.timeout / 4, milliseconds(1), milliseconds(200));
  std::unique_lock lock(open_mutex_);
  watched_ = Clock::now();
  while (!ended_.wait_for(lock, pace, [&] { return is_ending_; })) {
    CancelOldCalls();
    BusyConnections* const connections = connections_.get();
    if (connections == nullptr) continue;
    lock.unlock();
    CloseFloodingConnections(*connections);
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

void CallLimits::CloseFloodingConnections(BusyConnections& connections) {
  constexpr double kLeastBytes = 28;  // a call that is reset, with compressed header fields
  const Clock::time_point now = Clock::now();
  const double seconds = std::chrono::duration<double>(now - std::exchange(watched_, now)).count();
  const uint64_t all = not_admitted_;
  const auto refused = static_cast<double>(all - std::exchange(seen_not_admitted_, all));
  if (refused <= options_.flood_threshold * seconds) {
    is_sampled_ = false;
    return;
  }
  if (is_sampled_) connections.Close(static_cast<uint64_t>(kLeastBytes * refused));
  connections.Sample();
  is_sampled_ = true;
}

}  // namespace rocescope
