// SPDX-License-Identifier: BSD-3-Clause
// Limits on the calls of each client of the gRPC server. gRPC 1.51 itself limits neither how fast a
// client begins and resets calls, nor how long it leaves a response unread, which occupies a
// thread.
#pragma once

#include <grpcpp/support/server_interceptor.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "appliance/daemon/grpc/busiest_connection.h"
#include "appliance/daemon/grpc/call_limit_options.h"

namespace rocescope {

class Gate;

// Thread-safe.
class CallLimits {
 public:
  // Adds each refused and each cancelled call to `refused`, which must outlive this object.
  CallLimits(const CallLimitOptions& options, std::atomic<uint64_t>& refused);
  ~CallLimits();

  // The ports of the server. Required for closing connections of clients that begin calls far too
  // fast.
  void SetPorts(std::vector<uint16_t> ports);

  // Counts a new call. Returns why it is refused, or "".
  std::string Begin(const std::string& client);

  // Counts the open unary calls of rocescope's services, and cancels those beyond the limits.
  // Without certificates, clients are not distinguished, and only the time is limited. The object
  // and `gate` must outlive the server.
  std::unique_ptr<grpc::experimental::ServerInterceptorFactoryInterface> Interceptors(
      const Gate& gate);

 private:
  class UnaryCall;
  class UnaryCalls;
  using Clock = std::chrono::steady_clock;

  struct Credit {
    double calls = 0;  // that the client may begin now
    Clock::time_point updated;
  };
  struct OpenCall {
    std::string client;
    Clock::time_point since;
    std::function<void()> cancel;  // null after it was called
  };

  // Returns false if the client has too many open calls. Must be followed by Close.
  bool Open(const UnaryCall* call, std::string client, std::function<void()> cancel);
  void Close(const UnaryCall* call);
  void Watch();
  // The mutex must be locked.
  void CancelOldCalls();
  void CloseFloodingConnection();

  const CallLimitOptions options_;
  std::atomic<uint64_t>& refused_;
  std::mutex credit_mutex_;
  std::map<std::string, Credit> credits_;
  std::atomic<uint64_t> too_fast_ = 0;  // calls that Begin refused
  // Of the thread.
  uint64_t seen_too_fast_ = 0;
  Clock::time_point watched_;
  bool is_sampled_ = false;
  // Separate: gRPC may begin a call on the thread that cancels another one.
  std::mutex open_mutex_;
  std::map<const UnaryCall*, OpenCall> open_;
  std::map<std::string, uint32_t> open_of_;  // number of open calls by client
  std::condition_variable ended_;
  bool is_ending_ = false;
  std::optional<BusiestConnection> connections_;
  std::thread thread_;  // last, because it uses the others
};

}  // namespace rocescope
