// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/daemon/grpc/grpc_server.h"

#include <fmt/format.h>
#include <google/protobuf/stubs/logging.h>
#include <grpc/support/log.h>
#include <grpcpp/ext/proto_server_reflection_plugin.h>
#include <grpcpp/grpcpp.h>
#include <grpcpp/health_check_service_interface.h>
#include <grpcpp/resource_quota.h>
#include <grpcpp/security/server_credentials.h>
#include <grpcpp/security/tls_certificate_provider.h>
#include <grpcpp/security/tls_credentials_options.h>
#include <grpcpp/support/server_interceptor.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "appliance/common/access/revocations.h"
#include "appliance/common/access/role.h"
#include "appliance/common/access/tls_context.h"
#include "appliance/daemon/grpc/acceptor.h"
#include "appliance/daemon/grpc/agent_calls.h"
#include "appliance/daemon/grpc/call_limits.h"
#include "appliance/daemon/grpc/deadline.h"
#include "appliance/daemon/grpc/gate.h"
#include "appliance/daemon/grpc/handler_slots.h"
#include "appliance/daemon/grpc/watched_texts.h"
#include "appliance/daemon/service/event_reader.h"
#include "rocescope/v1/service.grpc.pb.h"

namespace rocescope {
namespace {

constexpr int kMaxThreads = 128;
constexpr int kFewestPollers = 8;
constexpr int kMaxPollers = 16;
constexpr uint32_t kMaxStreams = 64;  // each occupies a thread
constexpr uint32_t kMaxStreamsAPeer = kMaxStreams / 4;
constexpr uint32_t kMaxReflectionStreams = 8;  // each occupies a thread
constexpr uint32_t kMaxHealthStreams = 256;
constexpr int kMaxCallsAConnection = 128;         // further calls wait at the client
constexpr size_t kLeastQuota = size_t{64} << 20;  // bytes, of each of the two memory limits
constexpr auto kStreamPace = std::chrono::milliseconds(100);

// Streams of events. Each occupies a thread.
class EventStreams {
 public:
  EventStreams(Service& service, const Gate& gate) : service_(service), gate_(gate) {}

  grpc::Status Run(const grpc::ServerContext& context, uint64_t cursor,
                   grpc::ServerWriter<v1::Event>& writer) {
    const Place place(*this, gate_.PeerOf(context));
    if (!place.why_not().empty()) {
      ++service_.refusals().grpc;
      return Gate::ToStatus({.fault = ServiceFault::kTooMany, .message = place.why_not()});
    }
    EventReader reader(service_, gate_.CallerOf(context), cursor);
    Gate::Checked checked;
    // A client that does not read blocks only its own stream, in Write.
    while (!ended_ && !context.IsCancelled()) {
      if (grpc::Status again = gate_.CheckAgain(context, checked); !again.ok()) return again;
      const auto events = reader.Next();
      for (const auto& event : events) {
        if (grpc::Status again = gate_.CheckAgain(context, checked); !again.ok()) return again;
        if (!writer.Write(*event)) return grpc::Status::OK;
      }
      if (events.empty()) std::this_thread::sleep_for(kStreamPace);
    }
    return grpc::Status::OK;
  }

  void End() { ended_ = true; }

 private:
  // Counts a stream while it exists. A refused stream does not count.
  class Place {
   public:
    Place(EventStreams& streams, std::string peer) : streams_(streams), peer_(std::move(peer)) {
      const std::lock_guard lock(streams_.mutex_);
      if (streams_.count_ >= kMaxStreams) {
        why_not_ =
            fmt::format("the maximum of {} event streams is reached: try again later", kMaxStreams);
        return;
      }
      uint32_t& own = streams_.by_peer_[peer_];
      if (own >= kMaxStreamsAPeer) {
        why_not_ = fmt::format(
            "the maximum of {} event streams of one client is reached: close one of them",
            kMaxStreamsAPeer);
        return;
      }
      ++own;
      ++streams_.count_;
    }
    ~Place() {
      if (!why_not_.empty()) return;
      const std::lock_guard lock(streams_.mutex_);
      --streams_.count_;
      if (--streams_.by_peer_[peer_] == 0) streams_.by_peer_.erase(peer_);
    }
    Place(const Place&) = delete;
    // Why the stream is refused; empty: it is not.
    const std::string& why_not() const { return why_not_; }

   private:
    EventStreams& streams_;
    const std::string peer_;
    std::string why_not_;
  };

  Service& service_;
  const Gate& gate_;
  std::mutex mutex_;  // guards the next two
  uint32_t count_ = 0;
  std::map<std::string, uint32_t> by_peer_;
  std::atomic<bool> ended_ = false;
};

// Base of the generated services: authorises and executes calls.
class Calls {
 public:
  Calls(Service& service, EventStreams& streams, const Gate& gate, CallLimits& limits,
        HandlerSlots& readers, HandlerSlots& writers)
      : service_(service),
        streams_(streams),
        gate_(gate),
        limits_(limits),
        readers_(readers),
        writers_(writers) {}

 protected:
  template <typename Request, typename Response>
  grpc::Status Run(const grpc::ServerContext& context, const char* method, Roles access,
                   ServiceStatus (::rocescope::Service::*call)(const Caller&, const Request&,
                                                               Response&),
                   const Request& request, Response& response) {
    // gRPC calls the function for cancelled calls, too.
    if (limits_.IsOverLimit(context)) return grpc::Status::CANCELLED;
    if (grpc::Status admitted = gate_.Admit(context, method); !admitted.ok()) return admitted;
    if (grpc::Status fits = Charge(context, request.SpaceUsedLong()); !fits.ok()) return fits;
    // CallLimits cancels calls that wait too long.
    const auto slot =
        SlotsOf(access).Take(gate_.PeerOf(context), [&] { return context.IsCancelled(); });
    if (!slot) return grpc::Status::CANCELLED;
    const ServiceStatus answered = (service_.*call)(gate_.CallerOf(context), request, response);
    // The message and its encoding exist until the client has read the response.
    grpc::Status status = answered
                              ? Charge(context, response.SpaceUsedLong() + response.ByteSizeLong())
                              : Gate::ToStatus(answered.error());
    if (!status.ok()) response = Response();  // frees the memory, unlike Clear
    return status;
  }

  Service& service_;
  EventStreams& streams_;
  const Gate& gate_;

 private:
  grpc::Status Charge(const grpc::ServerContext& context, uint64_t bytes) {
    const std::string why_not = limits_.Charge(context, bytes);
    return why_not.empty() ? grpc::Status::OK
                           : Gate::ToStatus({.fault = ServiceFault::kTooMany, .message = why_not});
  }
  HandlerSlots& SlotsOf(Roles access) {
    return access == kRegisterAccess || access == kOperateAccess ? writers_ : readers_;
  }

  CallLimits& limits_;
  HandlerSlots& readers_;
  HandlerSlots& writers_;
};

// Implements the generated services: each call checks the client's role and calls the function of
// Service of the same name.
#define ROCESCOPE_SERVICE_BEGIN(service)                            \
  class service##Calls final : public v1::service::Service, Calls { \
   public:                                                          \
    using Calls::Calls;
#define ROCESCOPE_CALL(service, name, request, response, path, access)                             \
  grpc::Status name(grpc::ServerContext* context, const v1::request* in, v1::response* out)        \
      override {                                                                                   \
    return Run(*context, "/rocescope.v1." #service "/" #name, access, &::rocescope::Service::name, \
               *in, *out);                                                                         \
  }
#define ROCESCOPE_STREAM(service, name, request, response, path, access)                    \
  grpc::Status name(grpc::ServerContext* context, const v1::request* in,                    \
                    grpc::ServerWriter<v1::response>* writer) override {                    \
    if (grpc::Status admitted = gate_.Admit(*context, "/rocescope.v1." #service "/" #name); \
        !admitted.ok()) {                                                                   \
      return admitted;                                                                      \
    }                                                                                       \
    return streams_.Run(*context, in->cursor(), *writer);                                   \
  }
#define ROCESCOPE_SERVICE_END(service) \
  }                                    \
  ;
#include "rocescope/v1/service_calls.inc"

// Clients must present a certificate of the authority. gRPC permits TLS 1.2 with forward secrecy
// and authenticated encryption, and TLS 1.3.
std::shared_ptr<grpc::ServerCredentials> TlsCredentials(const WatchedTexts& tls) {
  constexpr unsigned kLookEverySecond = 1;
  grpc::experimental::TlsServerCredentialsOptions options(
      std::make_shared<grpc::experimental::FileWatcherCertificateProvider>(
          tls.key(), tls.certificate(), tls.peer_ca(), kLookEverySecond));
  options.watch_root_certs();
  options.watch_identity_key_cert_pairs();
  options.set_cert_request_type(GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY);
  return grpc::experimental::TlsServerCredentials(options);
}

// `tls`: null if the configuration names no certificates.
std::shared_ptr<grpc::ServerCredentials> CredentialsOf(const WatchedTexts* tls,
                                                       const IpAddress& listen, const Gate& gate,
                                                       CallLimits& limits) {
  // Local credentials send nothing, like insecure ones, but permit a check of each call. gRPC
  // accepts only connections between these addresses with them, not in the rest of 127.0.0.0/8.
  const bool is_local = listen == IpAddress::FromV4(0x7f000001) || listen == IpAddress{.low = 1};
  if (tls == nullptr && !is_local) return grpc::InsecureServerCredentials();
  auto credentials =
      tls != nullptr ? TlsCredentials(*tls) : grpc::experimental::LocalServerCredentials(LOCAL_TCP);
  credentials->SetAuthMetadataProcessor(gate.RoleCheck(limits));
  return credentials;
}

// The lists of the texts; null if there are none.
Result<std::shared_ptr<const Revocations>> RevocationsIn(const TlsTexts& tls) {
  if (tls.crl.empty()) return nullptr;
  return Revocations::Parse(tls.crl, tls.peer_ca, tls.files.crl);
}

// Suppresses the logs of gRPC and Protobuf on standard error, where clients could cause a line for
// each failed handshake or invalid message. Failed assertions, after which gRPC aborts the process,
// are printed: otherwise nobody would know why it ended.
void SuppressLogs() {
  google::protobuf::SetLogHandler(nullptr);
  gpr_set_log_function([](gpr_log_func_args* line) {
    if (std::string_view(line->message).starts_with("assertion failed")) {
      std::fprintf(stderr,
                   "rocescope: gRPC: %s (%s:%d); are enough threads and memory permitted?\n",
                   line->message, line->file, line->line);
    }
  });
}

// gRPC aborts the process if it cannot create a thread.
::rocescope::Status CheckThreads() {
  constexpr int kNeeded = 24;  // that gRPC starts with
  std::vector<std::thread> threads;
  std::mutex blocked;
  ::rocescope::Status status;
  {
    const std::lock_guard lock(blocked);  // all threads exist at the same time
    try {
      for (int i = 0; i < kNeeded; ++i) {
        threads.emplace_back([&blocked] { const std::lock_guard wait(blocked); });
      }
    } catch (const std::system_error& error) {
      status =
          MakeError(ErrorCode::kResourceExhausted,
                    fmt::format("gRPC needs {} threads, but only {} can be created ({}); raise the "
                                "limits of processes and of memory (ulimit -u, ulimit -v)",
                                kNeeded, threads.size(), error.code().message()));
    }
  }
  for (std::thread& thread : threads) thread.join();
  return status;
}

// Adds a message to the error for requests that gRPC cannot parse, which is INTERNAL without a
// message.
class UnreadRequest final : public grpc::experimental::Interceptor {
 public:
  void Intercept(grpc::experimental::InterceptorBatchMethods* methods) override {
    using grpc::experimental::InterceptionHookPoints;
    if (methods->QueryInterceptionHookPoint(InterceptionHookPoints::PRE_SEND_STATUS)) {
      const grpc::Status status = methods->GetSendStatus();
      if (status.error_code() == grpc::StatusCode::INTERNAL && status.error_message().empty()) {
        methods->ModifySendStatus(
            Gate::ToStatus({.fault = ServiceFault::kBadRequest,
                            .message = "malformed request: cannot decode it; check that it matches "
                                       "service.proto and that all strings are valid UTF-8"}));
      }
    }
    methods->Proceed();
  }
};

class UnreadRequests final : public grpc::experimental::ServerInterceptorFactoryInterface {
 public:
  grpc::experimental::Interceptor* CreateServerInterceptor(
      grpc::experimental::ServerRpcInfo*) override {
    return new UnreadRequest;  // gRPC takes ownership
  }
};

// Limits the streams of a service of gRPC itself, whose duration the client determines. Those
// beyond the maximum are cancelled.
class LimitedStreams final : public grpc::experimental::ServerInterceptorFactoryInterface {
 public:
  // `method`: beginning of the method's path.
  LimitedStreams(std::string_view method, uint32_t max) : method_(method), max_(max) {}

  grpc::experimental::Interceptor* CreateServerInterceptor(
      grpc::experimental::ServerRpcInfo* call) override {
    if (!std::string_view(call->method()).starts_with(method_)) return nullptr;
    return new Stream(*call, open_, max_);  // gRPC takes ownership
  }

 private:
  class Stream final : public grpc::experimental::Interceptor {
   public:
    Stream(grpc::experimental::ServerRpcInfo& call, std::atomic<uint32_t>& open, uint32_t max)
        : call_(call), open_(open), is_over_limit_(open_++ >= max) {}
    ~Stream() override { --open_; }

    void Intercept(grpc::experimental::InterceptorBatchMethods* methods) override {
      using grpc::experimental::InterceptionHookPoints;
      if (is_over_limit_ &&
          methods->QueryInterceptionHookPoint(InterceptionHookPoints::POST_RECV_INITIAL_METADATA)) {
        call_.server_context()->TryCancel();
      }
      methods->Proceed();
    }

   private:
    grpc::experimental::ServerRpcInfo& call_;
    std::atomic<uint32_t>& open_;
    const bool is_over_limit_;
  };

  const std::string_view method_;
  const uint32_t max_;
  std::atomic<uint32_t> open_ = 0;
};

Error CannotListen(const ListenAddress& where, const std::string& reason) {
  return {.code = ErrorCode::kUnavailable,
          .message = fmt::format("cannot listen for gRPC on {}: {}; check that no other program "
                                 "uses the port (key `grpc` of the configuration)",
                                 ToString(where), reason)};
}

size_t DefaultQuota(const Service& service) {
  return std::max<size_t>(service.daemon().memory_budget() / 8, kLeastQuota);
}

CallLimitOptions WithDefaults(CallLimitOptions options, const Service& service) {
  if (!options.max_bytes) options.max_bytes = DefaultQuota(service);
  return options;
}

}  // namespace

struct GrpcServer::Parts {
  Parts(Service& service, const GrpcConfig& config, const GrpcLimits& limits)
      : call_limits(WithDefaults(limits.calls, service), service.refusals().grpc),
        readers(limits.calls.max_readers),
        writers(limits.calls.max_writers),
        gate(config.tls.IsThere(), CallerRoles(config)),
        streams(service, gate),
#define ROCESCOPE_SERVICE_BEGIN(name) name(service, streams, gate, call_limits, readers, writers),
#include "rocescope/v1/service_calls.inc"
        agents(service.agents(), gate, service.daemon().config().agents) {
  }

  ::rocescope::Status SetTls(const TlsTexts& texts) {
    // gRPC would ignore certificates that it cannot use, without an error.
    if (const auto checked = ServerTls(texts); !checked) return tl::unexpected(checked.error());
    auto lists = RevocationsIn(texts);
    if (!lists) return tl::unexpected(lists.error());
    gate.SetRevocations(*std::move(lists));
    if (tls) {
      if (const ::rocescope::Status set = tls->Set(texts); !set) return set;
    } else {
      auto made = WatchedTexts::Make(texts);
      if (!made) return tl::unexpected(made.error());
      tls = *std::move(made);
    }
    return {};
  }

  std::unique_ptr<WatchedTexts> tls;  // null: no TLS
  CallLimits call_limits;
  HandlerSlots readers;
  HandlerSlots writers;
  const Gate gate;
  EventStreams streams;
#define ROCESCOPE_SERVICE_BEGIN(name) name##Calls name;
#include "rocescope/v1/service_calls.inc"
  AgentCalls agents;
  std::vector<ListenAddress> listens;
  std::vector<std::unique_ptr<Acceptor>> acceptors;
  std::unique_ptr<grpc::Server> server;
};

Result<std::unique_ptr<GrpcServer>> GrpcServer::Start(const GrpcConfig& config, Service& service,
                                                      const GrpcLimits& limits) {
  const Result<TlsTexts> tls = ReadTls(config.tls, "grpc");
  if (!tls) return tl::unexpected(tls.error());
  return Start(config, *tls, service, limits);
}

Result<std::unique_ptr<GrpcServer>> GrpcServer::Start(const GrpcConfig& config, const TlsTexts& tls,
                                                      Service& service, const GrpcLimits& limits) {
  if (const ::rocescope::Status checked = CheckTls(config.listen, config.tls); !checked) {
    return tl::unexpected(checked.error());
  }
  auto parts = std::make_unique<Parts>(service, config, limits);
  if (tls.IsThere()) {
    if (const ::rocescope::Status set = parts->SetTls(tls); !set) {
      return tl::unexpected(set.error());
    }
  }
  SuppressLogs();
  if (const ::rocescope::Status checked = CheckThreads(); !checked) {
    return tl::unexpected(checked.error());
  }
  // Without this call the linker drops the plugin (see the comment in grpcpp's header).
  grpc::reflection::InitProtoReflectionServerBuilderPlugin();
  grpc::EnableDefaultHealthCheckService(true);
  grpc::ServerBuilder builder;
  grpc::ResourceQuota quota("rocescope");
  quota.SetMaxThreads(kMaxThreads);
  // Requests that have not arrived completely are only limited by this quota: above it, gRPC resets
  // calls.
  quota.Resize(limits.memory.value_or(DefaultQuota(service)));
  builder.SetResourceQuota(quota);
  // With gRPC's default of one or two pollers, a thread is created and destroyed for almost each
  // call, and each waits for the memory map lock, which the analysis uses heavily.
  using Option = grpc::ServerBuilder::SyncServerOption;
  builder.SetSyncServerOption(Option::NUM_CQS, 1);
  builder.SetSyncServerOption(Option::MIN_POLLERS, kFewestPollers);
  builder.SetSyncServerOption(Option::MAX_POLLERS, kMaxPollers);
  builder.SetMaxReceiveMessageSize(1 << 20);
  // The limit applies to the decompressed message only after decompression, so that 1 MB could
  // become 1 GB. No client of rocescope compresses requests.
  builder.AddChannelArgument(GRPC_ARG_ENABLE_PER_MESSAGE_DECOMPRESSION, 0);
  builder.SetCompressionAlgorithmSupportStatus(GRPC_COMPRESS_DEFLATE, false);
  builder.SetCompressionAlgorithmSupportStatus(GRPC_COMPRESS_GZIP, false);
  builder.AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS, kMaxCallsAConnection);
  // The probe would let a client send megabytes of each request before gRPC notices that the quota
  // is exceeded.
  builder.AddChannelArgument(GRPC_ARG_HTTP2_BDP_PROBE, 0);
  // Detects dead peers, so that their streams end.
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS, 20'000);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, 10'000);
  // gRPC 1.51 cannot limit the number of connections, so idle ones are closed soon.
  const auto milliseconds = [](std::chrono::milliseconds time) {
    return static_cast<int>(time.count());
  };
  builder.AddChannelArgument(GRPC_ARG_SERVER_HANDSHAKE_TIMEOUT_MS, milliseconds(limits.handshake));
  builder.AddChannelArgument(GRPC_ARG_MAX_CONNECTION_IDLE_MS, milliseconds(limits.idle));
  builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
  std::vector<std::unique_ptr<grpc::experimental::ServerInterceptorFactoryInterface>> interceptors;
  // First: its destructor waits for a cancellation that runs, which uses the other interceptors.
  interceptors.push_back(parts->call_limits.Interceptors(parts->gate));
  interceptors.push_back(std::make_unique<UnreadRequests>());
  interceptors.push_back(
      std::make_unique<LimitedStreams>("/grpc.reflection.", kMaxReflectionStreams));
  interceptors.push_back(
      std::make_unique<LimitedStreams>("/grpc.health.v1.Health/Watch", kMaxHealthStreams));
  builder.experimental().SetInterceptorCreators(std::move(interceptors));
  using External = grpc::experimental::ExternalConnectionAcceptor;
  std::vector<std::unique_ptr<External>> receivers;
  for (const ListenAddress& listen : config.listen) {
    auto acceptor = Acceptor::Listen(listen, service.refusals().grpc);
    if (!acceptor) return tl::unexpected(CannotListen(listen, acceptor.error().message));
    parts->listens.push_back((*acceptor)->where());
    parts->acceptors.push_back(*std::move(acceptor));
    receivers.push_back(builder.experimental().AddExternalConnectionAcceptor(
        grpc::ServerBuilder::experimental_type::ExternalConnectionType::FROM_FD,
        CredentialsOf(parts->tls.get(), listen.address, parts->gate, parts->call_limits)));
  }
#define ROCESCOPE_SERVICE_BEGIN(name) builder.RegisterService(&parts->name);
#include "rocescope/v1/service_calls.inc"
  parts->agents.AddTo(builder);
  // Its destructor stops a running server, also after an exception.
  std::unique_ptr<GrpcServer> started(new GrpcServer(std::move(parts)));
  Parts& running = *started->parts_;
  running.server = builder.BuildAndStart();
  if (!running.server) {
    return MakeError(
        ErrorCode::kUnavailable,
        "the gRPC server does not start; check that the certificate and the key match and "
        "are in PEM format (key `grpc` of the configuration)");
  }
  running.agents.Begin();
  std::vector<uint16_t> listening;
  for (const ListenAddress& listen : running.listens) listening.push_back(listen.port);
  running.call_limits.SetPorts(std::move(listening));
  for (size_t i = 0; i < receivers.size(); ++i) {
    running.acceptors[i]->Start(
        [to = std::shared_ptr<External>(std::move(receivers[i]))](int socket) {
          External::NewConnectionParameters connection;
          connection.fd = socket;
          to->HandleNewConnection(&connection);
        });
  }
  return started;
}

GrpcServer::GrpcServer(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}

GrpcServer::~GrpcServer() { Stop(); }

void GrpcServer::Stop() {
  if (!parts_->server) return;
  for (const auto& acceptor : parts_->acceptors) acceptor->Stop();
  parts_->streams.End();
  parts_->server->Shutdown(After(std::chrono::seconds(2)));
  parts_->server->Wait();
  parts_->agents.End();
  parts_->server.reset();
}

::rocescope::Status GrpcServer::SetTls(const TlsTexts& tls) { return parts_->SetTls(tls); }

uint64_t GrpcServer::beats() const { return parts_->agents.beats(); }
const std::vector<ListenAddress>& GrpcServer::listens() const { return parts_->listens; }

}  // namespace rocescope
