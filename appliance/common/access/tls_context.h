// SPDX-License-Identifier: BSD-3-Clause
// OpenSSL's side of TLS where Asio speaks it; gRPC has its own. Both sides show a certificate.
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

// TLS 1.2 or later; the other side must show a certificate of `peer_ca`. The error says which of
// the three texts cannot be used.
Result<TlsContext> ServerTls(const TlsTexts& texts);
Result<TlsContext> ClientTls(const TlsTexts& texts);

// In the certificate of who was let in: its alternative names, or, where it has none, the common
// one (RFC 6125, 6.4.4). As gRPC tells them.
std::vector<std::string> NamesOfPeer(const ssl_st& connection);

}  // namespace rocescope
