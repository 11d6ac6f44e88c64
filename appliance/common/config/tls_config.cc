// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/common/config/tls_config.h"

#include <fmt/format.h>

namespace rocescope {

Status CheckTls(std::span<const ListenAddress> listen, const TlsConfig& config) {
  if (!config.certificate.empty() && !config.key.empty() && !config.client_ca.empty()) return {};
  if (config.IsThere()) {
    return MakeError(ErrorCode::kInvalidArgument,
                     "incomplete TLS configuration: set all of certificate, key and client_ca");
  }
  for (const ListenAddress& where : listen) {
    if (where.IsLoopback()) continue;
    return MakeError(ErrorCode::kInvalidArgument,
                     fmt::format("{} is not a loopback address and requires certificate, key and "
                                 "client_ca",
                                 ToString(where)));
  }
  return {};
}

}  // namespace rocescope
