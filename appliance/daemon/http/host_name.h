// SPDX-License-Identifier: BSD-3-Clause
// Whom a request is for. A page of another site can make a browser ask a name of its own that leads
// to our address (DNS rebinding); the Host header then still says that name.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace rocescope {

// Whether the value of a Host header is an address, "localhost" or one of `names`, with or without
// a port; or empty, as of HTTP/1.0.
bool IsOwnHost(std::string_view host, std::span<const std::string> names = {});

}  // namespace rocescope
