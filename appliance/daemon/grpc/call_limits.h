// SPDX-License-Identifier: BSD-3-Clause
// Limits on the calls of each client of the gRPC server. gRPC 1.51 itself limits neither how fast a
// client begins and resets calls, nor how long it leaves a response unread, which occupies a
// thread, nor the memory of unread responses.
#pragma once

#include <grpcpp/server_context.h>
#include <grpcpp/support/server_interceptor.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "appliance/daemon/grpc/busy_connections.h"
#include "appliance/daemon/grpc/call_limit_options.h"

namespace rocescope {

class Gate;

// Thread-safe.
class CallLimits {
 public:
  // Adds each refused and each cancelled call to `refused`, which must outlive this object.
  CallLimits(const CallLimitOptions& options, std::atomic<uint64_t>& refused);
  ~CallLimits();

  // The ports of the server. Required for closing connections that flood the server with calls.
  void SetPorts(std::vector<uint16_t> ports);

  // Counts a new call of client `name` for its rate. Without certificates, `name` is empty, and all
  // clients share one limit. Returns why the call is refused, or "".
  std::string Admit(const std::string& name);
  // Counts an admitted call that the client may make as waiting, until Begin or for 5 s, because
  // gRPC does not report requests that never arrive completely. Returns why the call is refused,
  // or "".
  std::string Wait(const std::string& name);
  // Notes that a call of this client does not wait any more.
  void Begin(const std::string& name);

  // Whether the client of a unary call had too many open calls when this one began.
  bool IsOverLimit(const grpc::ServerContextBase& call);

  // Charges `bytes` to an open unary call until it ends, instead of the bytes that were charged to
  // it before. Returns why the call must be refused, or "". Small messages are never refused, so
  // that a client cannot lock out others by large responses that it does not read. A message that
  // is larger than the limit is permitted if nearly nothing else is open.
  std::string Charge(const grpc::ServerContextBase& call, uint64_t bytes);

  // Counts the open unary calls of rocescope's services, and cancels those beyond the limits.
  // Without certificates, clients are not distinguished, and the number is not limited. The object
  // and `gate` must outlive the server.
  std::unique_ptr<grpc::experimental::ServerInterceptorFactoryInterface> Interceptors(
      const Gate& gate);

 private:
  class Call;
  class InterceptorFactory;
  using Clock = std::chrono::steady_clock;

  struct Client {
    double tokens = 0;  // calls that the client may begin now
    Clock::time_point updated;
    std::deque<Clock::time_point> waiting;  // when these calls arrived
  };
  struct OpenCall {
    std::string client;
    Clock::time_point since;
    grpc::ServerContextBase* context = nullptr;
    uint64_t bytes = 0;  // charged
    bool is_over_limit = false;
    bool is_cancelled = false;
  };

  // Returns false if the client has too many open calls. Must be followed by Close.
  bool Open(const Call* call, std::string client, grpc::ServerContextBase& context);
  void Close(const Call* call);
  // `client_mutex_` must be locked.
  Client& Find(const std::string& name, Clock::time_point now);
  std::string Refuse(std::string reason);
  void ForgetOldCalls(Client& client, Clock::time_point now);
  void Watch();
  // The mutex must be locked.
  void CancelOldCalls();
  // The mutex must not be locked: it takes milliseconds.
  void CloseFloodingConnections(BusyConnections& connections);

  const CallLimitOptions options_;
  std::atomic<uint64_t>& refused_;
  std::mutex client_mutex_;
  std::map<std::string, Client> clients_;
  size_t waiting_ = 0;                      // calls of all clients
  Clock::time_point all_swept_;             // when the old calls of all clients were forgotten
  std::atomic<uint64_t> not_admitted_ = 0;  // calls that Admit and Wait refused
  // Of the thread.
  uint64_t seen_not_admitted_ = 0;
  Clock::time_point watched_;
  bool is_sampled_ = false;
  // Separate: gRPC may begin a call on the thread that cancels another one.
  std::mutex open_mutex_;
  std::map<const Call*, OpenCall> open_;
  struct Total {
    uint32_t calls = 0;
    uint64_t bytes = 0;  // charged
  };
  std::map<std::string, Total> open_of_;  // open calls by client
  uint64_t bytes_ = 0;                    // charged to all open calls
  std::condition_variable ended_;
  bool is_ending_ = false;
  std::unique_ptr<BusyConnections> connections_;
  std::thread thread_;  // last, because it uses the others
};

}  // namespace rocescope
