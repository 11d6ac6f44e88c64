// SPDX-License-Identifier: BSD-3-Clause
// Fixture for tests of calls: a server without telemetry, with and without TLS.
#pragma once

#include <arpa/inet.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/time.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "appliance/daemon/grpc/grpc_server.h"
#include "appliance/daemon/service/service_fixture.h"
#include "rocescope/v1/agent.grpc.pb.h"
#include "rocescope/v1/service.grpc.pb.h"
#include "tests/support/certificates.h"

namespace rocescope {

inline constexpr ListenAddress kAnyPort = {.address = IpAddress::FromV4(0x7f000001)};

// Returns a TCP socket that is connected to a server on loopback.
inline int ConnectTo(const ListenAddress& server) {
  const int connection = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in where{};
  where.sin_family = AF_INET;
  where.sin_port = htons(server.port);
  where.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const timeval timeout{.tv_sec = 20, .tv_usec = 0};
  setsockopt(connection, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof timeout);
  EXPECT_EQ(connect(connection, reinterpret_cast<const sockaddr*>(&where), sizeof where), 0);
  return connection;
}

class GrpcTest : public ServiceTest {
 protected:
  void Serve(const GrpcConfig& config, const GrpcLimits& limits = {}) {
    auto server = GrpcServer::Start(config, *service_, limits);
    ASSERT_TRUE(server) << server.error().message;
    server_ = *std::move(server);
  }
  std::string Target() const { return ToString(server_->listens().at(0)); }
  std::shared_ptr<grpc::Channel> Open() const {
    return grpc::CreateChannel(Target(), grpc::InsecureChannelCredentials());
  }
  // With a connection of its own: channels to the same address share one by default.
  std::shared_ptr<grpc::Channel> OpenAnother(grpc::ChannelArguments arguments = {}) const {
    arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
    return grpc::CreateCustomChannel(Target(), grpc::InsecureChannelCredentials(), arguments);
  }
  ~GrpcTest() override { server_.reset(); }

  std::unique_ptr<GrpcServer> server_;
};

// A CA, a certificate for the appliance, and one for each name.
class TlsTest : public GrpcTest {
 protected:
  void MakeCertificates(const std::vector<std::string>& names) {
    certificates_.emplace(folder_);
    Sign("appliance", "-addext subjectAltName=IP:127.0.0.1");
    for (const std::string& name : names) Sign(name, "-addext subjectAltName=DNS:" + name);
  }
  GrpcConfig Config() const {
    return {.listen = {kAnyPort},
            .tls = {.certificate = certificates_->Path("appliance.pem"),
                    .key = certificates_->Path("appliance.key"),
                    .client_ca = certificates_->Path("ca.pem")}};
  }
  std::shared_ptr<grpc::Channel> OpenAs(const std::string& name,
                                        const grpc::ChannelArguments& arguments = {}) const {
    grpc::SslCredentialsOptions options;
    options.pem_root_certs = Read("ca.pem");
    if (!name.empty()) {
      options.pem_private_key = Read(name + ".key");
      options.pem_cert_chain = Read(name + ".pem");
    }
    return grpc::CreateCustomChannel(Target(), grpc::SslCredentials(options), arguments);
  }
  grpc::StatusCode Health(const std::string& name) {
    grpc::ClientContext context;
    v1::Health health;
    return v1::Appliance::NewStub(OpenAs(name))->GetHealth(&context, {}, &health).error_code();
  }
  grpc::StatusCode Sources(const std::string& name) {
    grpc::ClientContext context;
    v1::ListSourcesResponse sources;
    return v1::Appliance::NewStub(OpenAs(name))->ListSources(&context, {}, &sources).error_code();
  }

  // Reports for a host with this certificate, and ends the stream.
  grpc::Status Report(const std::string& name, const std::string& host) {
    grpc::ClientContext context;
    const auto stub = v1::Agents::NewStub(OpenAs(name));
    const auto stream = stub->Report(&context);
    v1::AgentMessage message;
    message.mutable_hello()->set_host(host);
    message.mutable_hello()->set_session_id(1);
    stream->Write(message);
    stream->WritesDone();
    v1::ApplianceMessage answer;
    while (stream->Read(&answer)) {
    }
    return stream->Finish();
  }

  void Sign(const std::string& name, const std::string& more,
            const std::string& common_name = "") const {
    certificates_->Sign(name, more, common_name);
  }
  void Revoke(const std::string& name) const { certificates_->Revoke(name); }
  std::string Path(const std::string& file) const { return certificates_->Path(file); }
  std::string Read(const std::string& name) const { return certificates_->Read(name); }

 private:
  std::optional<test::Certificates> certificates_;
};

}  // namespace rocescope
