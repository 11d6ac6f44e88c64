// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/common/config/listen_address.h"

#include <fmt/format.h>

#include <charconv>
#include <optional>

namespace rocescope {
namespace {

std::optional<uint16_t> ReadPort(std::string_view text) {
  uint16_t port = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), port);
  if (text.empty() || error != std::errc{} || end != text.data() + text.size()) return {};
  return port;
}

}  // namespace

bool IsLoopback(const IpAddress& address) {
  if (address.IsV4()) return address.V4() >> 24 == 127;
  return address.high == 0 && address.low == 1;
}

bool IsThisHost(std::string_view host) {
  if (host.size() >= 2 && host.front() == '[' && host.back() == ']') {
    host = host.substr(1, host.size() - 2);
  }
  const Result<IpAddress> address = ParseIpAddress(host);
  return host == "localhost" || (address && IsLoopback(*address));
}

bool IsHostName(std::string_view name) {
  constexpr size_t kLongest = 253;  // RFC 1035
  constexpr std::string_view kMay =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.";
  return !name.empty() && name.size() <= kLongest && name.front() != '.' &&
         name.find_first_not_of(kMay) == std::string_view::npos;
}

Result<ListenAddress> ParseListenAddress(std::string_view text) {
  const auto wrong = [&] {
    return MakeError(ErrorCode::kInvalidArgument,
                     fmt::format("\"{}\" is not an address with a port such as 127.0.0.1:8080 or "
                                 "[::1]:8080",
                                 text));
  };
  const size_t colon = text.rfind(':');
  if (colon == std::string_view::npos) return wrong();
  std::string_view host = text.substr(0, colon);
  const bool in_brackets = host.size() >= 2 && host.front() == '[' && host.back() == ']';
  if (in_brackets) host = host.substr(1, host.size() - 2);
  const Result<IpAddress> address = ParseIpAddress(host);
  const std::optional<uint16_t> port = ReadPort(text.substr(colon + 1));
  // Without brackets the end of an IPv6 address is ambiguous.
  if (!address || !port || in_brackets == (host.find(':') == std::string_view::npos)) {
    return wrong();
  }
  return ListenAddress{.address = *address, .port = *port};
}

std::string ToString(const ListenAddress& where) {
  const std::string address = ToString(where.address);
  return where.address.IsV4() ? fmt::format("{}:{}", address, where.port)
                              : fmt::format("[{}]:{}", address, where.port);
}

}  // namespace rocescope
