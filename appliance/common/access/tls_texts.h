// SPDX-License-Identifier: BSD-3-Clause
// Contents of the PEM files for TLS.
#pragma once

#include <string>
#include <string_view>

#include "appliance/common/config/tls_config.h"
#include "base/result.h"

namespace rocescope {

// Contents of the PEM files; empty: no TLS.
struct TlsTexts {
  std::string certificate;  // own certificate and intermediate certificates
  std::string key;
  std::string peer_ca;  // authority that signs the certificates of peers
  std::string crl;      // certificate revocation lists; empty: none
  TlsConfig files;      // paths of the files

  bool IsThere() const { return !certificate.empty(); }
  // Whether the contents are equal, wherever the files are.
  bool HasSameContent(const TlsTexts& other) const {
    return certificate == other.certificate && key == other.key && peer_ca == other.peer_ca &&
           crl == other.crl;
  }
};

// Reads the files. Must be called before privileges are dropped, because private keys usually
// belong to root. The error contains the file and, if not empty, `key_of_config`.
Result<TlsTexts> ReadTls(const TlsConfig& config, std::string_view key_of_config);

}  // namespace rocescope
