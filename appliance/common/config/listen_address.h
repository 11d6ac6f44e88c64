// SPDX-License-Identifier: BSD-3-Clause
// Where a service listens: an address of this machine and a port.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/address.h"
#include "base/result.h"

namespace rocescope {

// 127.0.0.0/8 or ::1: nobody else can come by it.
bool IsLoopback(const IpAddress& address);
// Of a URL or target: such an address, with or without brackets, or "localhost".
bool IsThisHost(std::string_view host);

// Letters, digits, '-', '_' and '.', at most 253: what hosts are called.
bool IsHostName(std::string_view name);

struct ListenAddress {
  IpAddress address;
  uint16_t port = 0;  // 0: one that the system chooses

  bool IsLoopback() const { return rocescope::IsLoopback(address); }

  friend bool operator==(const ListenAddress&, const ListenAddress&) = default;
};

// "127.0.0.1:8080" or "[::1]:8080". A name is an error: it may stand for several addresses.
Result<ListenAddress> ParseListenAddress(std::string_view text);
std::string ToString(const ListenAddress& where);

}  // namespace rocescope
