// SPDX-License-Identifier: BSD-3-Clause
// For tests of calls: a server of a box that receives nothing, in the clear and with certificates.
#pragma once

#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "appliance/grpc/grpc_server.h"
#include "appliance/service/service_fixture.h"
#include "rocescope/v1/service.grpc.pb.h"

namespace rocescope {

inline constexpr ListenAddress kAnyPort = {.address = IpAddress::FromV4(0x7f000001)};

class GrpcTest : public ServiceTest {
 protected:
  void Serve(const GrpcConfig& config) {
    auto server = GrpcServer::Start(config, *service_);
    ASSERT_TRUE(server) << server.error().message;
    server_ = *std::move(server);
  }
  std::string Target() const { return ToString(server_->listens().at(0)); }
  std::shared_ptr<grpc::Channel> Open() const {
    return grpc::CreateChannel(Target(), grpc::InsecureChannelCredentials());
  }
  ~GrpcTest() override { server_.reset(); }

  std::unique_ptr<GrpcServer> server_;
};

// A certification authority, a certificate for the box, and one for each name.
class TlsTest : public GrpcTest {
 protected:
  void MakeCertificates(const std::vector<std::string>& names) {
    Run("openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 "
        "-subj /CN=ca -keyout ca.key -out ca.pem");
    Sign("box", "-addext subjectAltName=IP:127.0.0.1");
    for (const std::string& name : names) Sign(name, "-addext subjectAltName=DNS:" + name);
  }
  GrpcConfig Config() const {
    return {.listen = {kAnyPort},
            .certificate = (folder_ / "box.pem").string(),
            .key = (folder_ / "box.key").string(),
            .client_ca = (folder_ / "ca.pem").string()};
  }
  std::shared_ptr<grpc::Channel> OpenAs(const std::string& name) const {
    grpc::SslCredentialsOptions options;
    options.pem_root_certs = Read("ca.pem");
    if (!name.empty()) {
      options.pem_private_key = Read(name + ".key");
      options.pem_cert_chain = Read(name + ".pem");
    }
    return grpc::CreateChannel(Target(), grpc::SslCredentials(options));
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

  void Sign(const std::string& name, const std::string& more, std::string common_name = "") const {
    if (common_name.empty()) common_name = name;
    Run("openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj /CN=" + common_name +
        " " + more + " -keyout " + name + ".key -out " + name + ".csr");
    Run("openssl x509 -req -copy_extensions copy -days 2 -CA ca.pem -CAkey ca.key -CAcreateserial "
        "-in " +
        name + ".csr -out " + name + ".pem");
  }
  std::string Read(const std::string& name) const {
    std::ifstream file(folder_ / name);
    return {std::istreambuf_iterator<char>(file), {}};
  }

 private:
  void Run(const std::string& command) const {
    const std::string quiet = "cd " + folder_.string() + " && " + command + " 2>/dev/null";
    ASSERT_EQ(std::system(quiet.c_str()), 0) << command;
  }
};

}  // namespace rocescope
