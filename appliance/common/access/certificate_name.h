// SPDX-License-Identifier: BSD-3-Clause
// Names in certificates, written as in the configuration.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace rocescope {

enum class CertificateNameType : uint8_t {
  kDns,  // DNS alternative name, or the common name of a certificate without alternative names
  kUri,
  kEmail,
  kIp,
};

// Returns the name as the configuration writes it: "gpu-7.example" for a DNS name, and with the
// prefix "uri:", "email:" or "ip:" for other types. Therefore an entry without a prefix matches
// DNS names only. Returns an empty string, which matches nothing, for an empty name, and for a DNS
// name that has one of these prefixes.
std::string ConfiguredName(CertificateNameType type, std::string_view name);

}  // namespace rocescope
