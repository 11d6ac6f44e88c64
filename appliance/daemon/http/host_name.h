// SPDX-License-Identifier: BSD-3-Clause
// Check of the Host header, against DNS rebinding: a web page of another site can make a browser
// send requests to our address under its own host name; the Host header then contains that name.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace rocescope {

// Returns whether the value of a Host header is an IP address, "localhost" or one of `names`, with
// or without a port from 1 to 65535. An empty value (HTTP/1.0) is accepted.
bool IsOwnHost(std::string_view host, std::span<const std::string> names = {});

// Returns whether the value of an Origin header (RFC 6454), such as "https://scope.example:8443",
// is the origin of a page of the appliance: that of the request's Host header, or an origin with
// one of `names`, whatever its port, because a proxy may replace the Host header. Other addresses,
// which IsOwnHost accepts, are other sites.
bool IsOwnOrigin(std::string_view origin, std::string_view host,
                 std::span<const std::string> names = {});

}  // namespace rocescope
