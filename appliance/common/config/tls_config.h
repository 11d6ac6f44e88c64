// SPDX-License-Identifier: BSD-3-Clause
// By which a service shows who it is, and knows who calls.
#pragma once

#include <span>
#include <string>

#include "appliance/common/config/listen_address.h"
#include "base/result.h"

namespace rocescope {

// Paths of PEM files: all three, or none.
struct TlsConfig {
  std::string certificate;
  std::string key;
  std::string client_ca;

  bool IsThere() const { return !certificate.empty() || !key.empty() || !client_ca.empty(); }

  friend bool operator==(const TlsConfig&, const TlsConfig&) = default;
};

// An error if some of the files are missing, or all, and an address is not of loopback: nobody is
// served there who has not shown who they are.
Status CheckTls(std::span<const ListenAddress> listen, const TlsConfig& config);

}  // namespace rocescope
