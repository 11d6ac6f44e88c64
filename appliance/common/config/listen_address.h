// SPDX-License-Identifier: BSD-3-Clause
// The address and port that a service listens on.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/address.h"
#include "base/result.h"

namespace rocescope {

// 127.0.0.0/8 or ::1, which other hosts cannot reach.
bool IsLoopback(const IpAddress& address);
// True for the host part of a URL that is a loopback address, with or without brackets, or
// "localhost".
bool IsThisHost(std::string_view host);

// True for at most 253 letters, digits, '-', '_' and '.', without a leading dot.
bool IsHostName(std::string_view name);

struct ListenAddress {
  IpAddress address;
  uint16_t port = 0;  // 0: the system chooses a port

  bool IsLoopback() const { return rocescope::IsLoopback(address); }

  friend bool operator==(const ListenAddress&, const ListenAddress&) = default;
};

// Parses "127.0.0.1:8080" or "[::1]:8080". A host name is an error: it may resolve to several
// addresses.
Result<ListenAddress> ParseListenAddress(std::string_view text);
std::string ToString(const ListenAddress& where);

}  // namespace rocescope
