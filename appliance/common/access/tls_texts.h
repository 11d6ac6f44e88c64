// SPDX-License-Identifier: BSD-3-Clause
// What the PEM files of a side of TLS hold.
#pragma once

#include <string>
#include <string_view>

#include "appliance/common/config/tls_config.h"
#include "base/result.h"

namespace rocescope {

// What three files hold, in PEM; empty: there is no TLS.
struct TlsTexts {
  std::string certificate;  // one's own, and those between it and its authority
  std::string key;
  std::string peer_ca;  // who signs the other side's
  TlsConfig files;      // whence these are

  bool IsThere() const { return !certificate.empty(); }
};

// To be called while they may be read: a key is root's, mostly. The error names the file and
// `key_of_config`, where it is named.
Result<TlsTexts> ReadTls(const TlsConfig& config, std::string_view key_of_config);

}  // namespace rocescope
