// SPDX-License-Identifier: BSD-3-Clause
// Saves bandwidth: gzip, and responses without a body to clients that have the content already.
#pragma once

#include <string>
#include <string_view>

#include "appliance/daemon/http/http_message.h"

namespace rocescope {

// Whether the value of an Accept-Encoding header allows gzip (RFC 9110, section 12.5.3).
bool AcceptsGzip(std::string_view accept_encoding);

// Returns the text in gzip format, or an empty string if it cannot be compressed.
std::string Gzip(std::string_view text);

// Gives a successful response without a stream an ETag, turns it into 304 if the client has this
// content, and compresses bodies of at least 1 KiB if the client accepts gzip.
void ApplyContentCoding(const HttpRequest& request, HttpResponse& response);

}  // namespace rocescope
