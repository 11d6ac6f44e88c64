// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/agent/agent_link.h"

#include <fmt/format.h>
#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <random>
#include <thread>
#include <utility>

#include "appliance/agent/clock_estimate.h"
#include "appliance/agent/sendable_text.h"
#include "dataplane/source/wall_clock.h"
#include "rocescope/v1/agent.grpc.pb.h"

namespace rocescope {
namespace {

using Steady = std::chrono::steady_clock;
using Stream = grpc::ClientReaderWriter<v1::AgentMessage, v1::ApplianceMessage>;
constexpr auto kWatch = std::chrono::milliseconds(100);

std::shared_ptr<grpc::Channel> OpenChannel(const AgentLink::Options& options) {
  std::shared_ptr<grpc::ChannelCredentials> credentials = grpc::InsecureChannelCredentials();
  if (!options.certificate.empty()) {
    credentials = grpc::SslCredentials({.pem_root_certs = options.appliance_ca,
                                        .pem_private_key = options.key,
                                        .pem_cert_chain = options.certificate});
  }
  grpc::ChannelArguments arguments;
  // Each Connect makes one attempt: gRPC's own reconnect backoff must not add to ours.
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  // The host's HTTP proxy is meant for the Internet, not for the appliance.
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  return grpc::CreateCustomChannel(options.appliance, credentials, arguments);
}

}  // namespace

struct AgentLink::Parts {
  Parts(Options given, BatchBuffer& held) : options(std::move(given)), buffer(held) {}

  // Runs one connection from hello to its end and returns why it ended.
  grpc::Status Connect();
  void Read(Stream& stream);
  void Send(Stream& stream);
  v1::AgentMessage Heartbeat();
  void Run();
  void Watch();
  bool Sleep(std::chrono::milliseconds time);

  const Options options;
  BatchBuffer& buffer;
  std::atomic<bool> stop = false;

  std::mutex mutex;  // guards all members below
  std::condition_variable changed;
  grpc::ClientContext* context = nullptr;  // context of the current connection
  Steady::time_point heard;                // when the last message arrived
  bool welcome = false;
  bool broken = false;
  bool is_silent = false;  // cancelled because the appliance sent nothing
  uint64_t taken = 0;
  ClockEstimate clock;
  AgentCondition condition;

  std::thread sender;
  std::thread watcher;
};

// Reads the appliance's messages.
void AgentLink::Parts::Read(Stream& stream) {
  v1::ApplianceMessage message;
  while (stream.Read(&message)) {
    const Timestamp now = WallClock();
    const std::lock_guard lock(mutex);
    heard = Steady::now();
    taken = message.accepted_sequence();
    if (std::exchange(welcome, true)) {
      buffer.Take(taken);
    } else {
      buffer.Begin(taken);
    }
    if (message.echo_ns() != 0) {
      clock.Add(FromNanoseconds(message.echo_ns()), FromNanoseconds(message.now_ns()), now);
    }
    changed.notify_all();
  }
  const std::lock_guard lock(mutex);
  broken = true;
  changed.notify_all();
  buffer.Wake();
}

v1::AgentMessage AgentLink::Parts::Heartbeat() {
  const BatchBuffer::Counts counts = buffer.counts();
  v1::AgentMessage message;
  v1::AgentHeartbeat& heartbeat = *message.mutable_heartbeat();
  const std::lock_guard lock(mutex);
  heartbeat.set_lost_batches(counts.lost_batches);
  heartbeat.set_lost_bytes(counts.lost_bytes);
  heartbeat.set_discarded_batches(counts.discarded_batches);
  heartbeat.set_buffered_bytes(counts.buffered_bytes);
  heartbeat.set_log_lines(condition.log_lines);
  heartbeat.set_dropped_log_lines(condition.log_lines_cut);
  // The appliance keeps at most this many problems of at most this length.
  constexpr int kMaxProblems = 20;
  constexpr size_t kLongestProblem = 256;
  for (const std::string& trouble : condition.problems) {
    if (heartbeat.problems_size() == kMaxProblems) break;
    heartbeat.add_problems(SendableText(trouble, kLongestProblem));
  }
  if (const auto offset = clock.Best()) {
    heartbeat.set_clock_offset_ns(offset->ahead.count());
    heartbeat.set_clock_uncertainty_ns(offset->error.count());
  }
  heartbeat.set_now_ns(ToNanoseconds(WallClock()));
  return message;
}

void AgentLink::Parts::Send(Stream& stream) {
  uint64_t sent = 0;
  {
    std::unique_lock lock(mutex);
    changed.wait(lock, [&] { return welcome || broken || stop; });
    if (!welcome) return;
    sent = taken;
  }
  options.notify(Severity::kInfo,
                 fmt::format("connected to the appliance at {}", options.appliance));
  // Sequence and size of each batch that is sent but not acknowledged.
  std::deque<std::pair<uint64_t, uint64_t>> under_way;
  uint64_t bytes = 0;
  Steady::time_point heartbeat_due = Steady::now();
  while (true) {
    {
      std::unique_lock lock(mutex);
      // Do not fill gRPC's buffers with batches that may have to be sent again.
      changed.wait_until(lock, heartbeat_due, [&] {
        while (!under_way.empty() && under_way.front().first <= taken) {
          bytes -= under_way.front().second;
          under_way.pop_front();
        }
        return broken || stop || bytes < options.most_bytes_under_way;
      });
      if (broken || stop) return;
    }
    const auto now = Steady::now();
    if (now >= heartbeat_due) {
      heartbeat_due = now + options.heartbeat;
      if (!stream.Write(Heartbeat())) return;
    }
    if (bytes >= options.most_bytes_under_way) continue;
    const auto wait = std::chrono::ceil<std::chrono::milliseconds>(heartbeat_due - now);
    const auto batch = buffer.After(sent, std::max(wait, std::chrono::milliseconds(1)));
    if (!batch) continue;
    v1::AgentMessage message;
    message.mutable_batch()->ParseFromString(batch->bytes);
    message.mutable_batch()->set_sequence(batch->sequence);
    if (!stream.Write(message)) return;
    sent = batch->sequence;
    under_way.emplace_back(sent, batch->bytes.size());
    bytes += batch->bytes.size();
  }
}

grpc::Status AgentLink::Parts::Connect() {
  const auto stub = v1::Agents::NewStub(OpenChannel(options));
  grpc::ClientContext call;
  {
    const std::lock_guard lock(mutex);
    if (stop) return grpc::Status::CANCELLED;
    context = &call;
    heard = Steady::now();
    welcome = broken = is_silent = false;
  }
  const auto stream = stub->Report(&call);
  v1::AgentMessage hello;
  hello.mutable_hello()->set_host(options.host);
  hello.mutable_hello()->set_session_id(options.session);
  hello.mutable_hello()->set_version(options.version);
  stream->Write(hello);
  std::thread reader([&] { Read(*stream); });
  Send(*stream);
  if (stop) {
    v1::AgentMessage goodbye;
    goodbye.mutable_goodbye();
    stream->Write(goodbye);
    stream->WritesDone();
  }
  // Otherwise the stream has ended. Cancelling it here would replace the status of the appliance.
  reader.join();
  grpc::Status status = stream->Finish();
  const std::lock_guard lock(mutex);
  context = nullptr;
  changed.notify_all();
  if (is_silent) {
    return {grpc::StatusCode::DEADLINE_EXCEEDED,
            fmt::format("no message for {:g} s",
                        std::chrono::duration<double>(options.timeout).count())};
  }
  return status;
}

// Cancels a connection on which the appliance has sent nothing for too long.
void AgentLink::Parts::Watch() {
  while (!stop) {
    Sleep(kWatch);
    const std::lock_guard lock(mutex);
    if (context == nullptr || Steady::now() - heard <= options.timeout) continue;
    is_silent = true;
    context->TryCancel();
  }
  // After a stop, waits this long for the stream to finish.
  constexpr auto kFarewell = std::chrono::seconds(2);
  std::unique_lock lock(mutex);
  if (!changed.wait_for(lock, kFarewell, [&] { return context == nullptr; })) {
    context->TryCancel();
  }
}

// Returns false if the link is stopping.
bool AgentLink::Parts::Sleep(std::chrono::milliseconds time) {
  std::unique_lock lock(mutex);
  return !changed.wait_for(lock, time, [&] { return stop.load(); });
}

void AgentLink::Parts::Run() {
  std::mt19937_64 random(options.session);
  std::chrono::milliseconds wait = options.first_wait;
  std::string told;
  while (!stop) {
    const grpc::Status status = Connect();
    if (stop) break;
    {
      const std::lock_guard lock(mutex);
      if (std::exchange(welcome, false)) {
        wait = options.first_wait;
        told.clear();
      }
    }
    const std::string why =
        status.ok() ? "the appliance closed the connection" : status.error_message();
    if (std::exchange(told, why) != why) {
      options.notify(
          Severity::kWarning,
          fmt::format(
              "connection to the appliance at {} failed: {}; retrying with a backoff of up to {} s",
              options.appliance, why, options.longest_wait.count() / 1000));
    }
    // Wait between half and all of the backoff: otherwise the agents of a whole fabric reconnect at
    // the same time.
    std::uniform_int_distribution<int64_t> spread(wait.count() / 2, wait.count());
    if (!Sleep(std::chrono::milliseconds(spread(random)))) break;
    wait = std::min(2 * wait, options.longest_wait);
  }
}

AgentLink::AgentLink(Options options, BatchBuffer& buffer)
    : parts_(std::make_unique<Parts>(std::move(options), buffer)) {
  parts_->sender = std::thread([this] { parts_->Run(); });
  parts_->watcher = std::thread([this] { parts_->Watch(); });
}

AgentLink::~AgentLink() {
  {
    const std::lock_guard lock(parts_->mutex);
    parts_->stop = true;
    parts_->changed.notify_all();
  }
  parts_->buffer.Wake();
  parts_->sender.join();
  parts_->watcher.join();
}

void AgentLink::SetCondition(AgentCondition condition) {
  const std::lock_guard lock(parts_->mutex);
  parts_->condition = std::move(condition);
}

bool AgentLink::IsConnected() const {
  const std::lock_guard lock(parts_->mutex);
  return parts_->welcome && !parts_->broken;
}

}  // namespace rocescope
