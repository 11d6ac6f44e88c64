// SPDX-License-Identifier: BSD-3-Clause
// State of a server's certificates, for health and metrics.
#pragma once

#include <optional>
#include <string>

#include "base/time.h"

namespace rocescope {

struct CertificateState {
  std::string server;  // key in the configuration: "http" or "grpc"
  // The server's certificate or the CA of its clients, whichever is first.
  Timestamp expires_at;
  Timestamp renew_by;                // after that, health reports that it expires
  std::optional<Timestamp> crl_due;  // when the next revocation lists were promised
  std::string problem;               // why the last reload failed; empty: it succeeded

  friend bool operator==(const CertificateState&, const CertificateState&) = default;
};

}  // namespace rocescope
