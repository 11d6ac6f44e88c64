// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/daemon/grpc/acceptor.h"

#include <fcntl.h>
#include <sys/resource.h>

#include <algorithm>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <thread>
#include <utility>

#include "base/thread_name.h"

namespace rocescope {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using SystemError = boost::system::error_code;

constexpr std::chrono::milliseconds kPause{100};  // after a failed accept

uint64_t DescriptorLimit() {
  rlimit limit{};
  return getrlimit(RLIMIT_NOFILE, &limit) == 0 ? limit.rlim_cur : 1024;
}

}  // namespace

uint64_t ReservedDescriptors(uint64_t limit) { return std::min<uint64_t>(limit / 4, 256); }

struct Acceptor::Parts {
  explicit Parts(std::atomic<uint64_t>& counter) : refused(counter) {}

  asio::io_context context{1};
  tcp::acceptor acceptor{context};
  asio::steady_timer pause{context};
  ListenAddress where;
  std::atomic<uint64_t>& refused;
  Take take;
  std::thread thread;
  bool is_stopping = false;  // used by the thread only

  void Accept() {
    acceptor.async_accept([this](const SystemError& error, tcp::socket socket) {
      if (is_stopping) return;
      if (error) return AcceptLater();
      Pass(std::move(socket));
      Accept();
    });
  }

  void AcceptLater() {
    pause.expires_after(kPause);
    pause.async_wait([this](const SystemError& error) {
      if (!error && !is_stopping) Accept();
    });
  }

  void Pass(tcp::socket socket) {
    // The kernel uses the lowest free number, so this one shows how many are in use.
    const auto number = static_cast<uint64_t>(socket.native_handle());
    const uint64_t limit = DescriptorLimit();
    if (number >= limit - ReservedDescriptors(limit)) {
      ++refused;
      return;  // closes the socket
    }
    SystemError failed;
    socket.set_option(tcp::no_delay(true), failed);
    socket.native_non_blocking(true, failed);
    if (!failed) fcntl(socket.native_handle(), F_SETFD, FD_CLOEXEC);
    const int released = failed ? -1 : socket.release(failed);
    if (!failed) take(released);
  }
};

Result<std::unique_ptr<Acceptor>> Acceptor::Listen(const ListenAddress& where,
                                                   std::atomic<uint64_t>& refused) {
  auto parts = std::make_unique<Parts>(refused);
  SystemError error;
  const auto address = asio::ip::make_address(ToString(where.address), error);
  const tcp::endpoint endpoint(address, where.port);
  if (!error) parts->acceptor.open(endpoint.protocol(), error);
  if (!error) parts->acceptor.set_option(tcp::acceptor::reuse_address(true), error);
  if (!error) parts->acceptor.bind(endpoint, error);
  if (!error) parts->acceptor.listen(tcp::acceptor::max_listen_connections, error);
  if (error) return MakeError(ErrorCode::kUnavailable, error.message());
  parts->where = {.address = where.address, .port = parts->acceptor.local_endpoint().port()};
  return std::unique_ptr<Acceptor>(new Acceptor(std::move(parts)));
}

Acceptor::Acceptor(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}

Acceptor::~Acceptor() { Stop(); }

void Acceptor::Start(Take take) {
  parts_->take = std::move(take);
  parts_->Accept();
  parts_->thread = std::thread([parts = parts_.get()] {
    NameThread("grpc-accept");
    parts->context.run();
  });
}

void Acceptor::Stop() {
  if (!parts_->thread.joinable()) return;
  asio::post(parts_->context, [parts = parts_.get()] {
    parts->is_stopping = true;
    SystemError ignored;
    parts->acceptor.close(ignored);
    parts->pause.cancel();
  });
  parts_->thread.join();
}

const ListenAddress& Acceptor::where() const { return parts_->where; }

}  // namespace rocescope
