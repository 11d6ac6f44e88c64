// SPDX-License-Identifier: BSD-3-Clause
// OpenSSL contexts for Asio; gRPC has its own. Both sides present a certificate.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "appliance/common/access/tls_texts.h"
#include "base/result.h"

namespace boost::asio::ssl {
class context;
}
struct ssl_st;

namespace rocescope {

using TlsContext = std::shared_ptr<boost::asio::ssl::context>;

// Creates a context for TLS 1.3, or 1.2 with forward secrecy. Revoked certificates (`crl`) are
// refused. The peer must present a certificate
// signed by `peer_ca`. The error names the file that cannot be used.
Result<TlsContext> ServerTls(const TlsTexts& texts);
Result<TlsContext> ClientTls(const TlsTexts& texts);

// Returns the subject alternative names of the verified peer certificate or, if it has none, its
// common name (RFC 6125, 6.4.4), written as in the configuration (certificate_name.h).
std::vector<std::string> NamesOfPeer(const ssl_st& connection);

}  // namespace rocescope
