// SPDX-License-Identifier: BSD-3-Clause
// The TLS files with which a service authenticates itself and its clients.
#pragma once

#include <span>
#include <string>

#include "appliance/common/config/listen_address.h"
#include "base/result.h"

namespace rocescope {

// Paths of PEM files. Either the first three are set or none.
struct TlsConfig {
  std::string certificate;
  std::string key;
  std::string client_ca;
  std::string crl;  // certificate revocation lists; empty: none

  bool IsThere() const {
    return !certificate.empty() || !key.empty() || !client_ca.empty() || !crl.empty();
  }

  friend bool operator==(const TlsConfig&, const TlsConfig&) = default;
};

// Returns an error if only some of the files are set, or if none is set and an address is not
// loopback: other addresses require authenticated clients.
Status CheckTls(std::span<const ListenAddress> listen, const TlsConfig& config);

}  // namespace rocescope
