// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/common/access/certificate_name.h"

#include <algorithm>
#include <array>
#include <cstddef>

namespace rocescope {
namespace {

// The index is a CertificateNameType.
constexpr std::array<std::string_view, 4> kPrefixes = {"", "uri:", "email:", "ip:"};

}  // namespace

std::string ConfiguredName(CertificateNameType type, std::string_view name) {
  if (name.empty()) return "";
  if (type == CertificateNameType::kDns &&
      std::any_of(kPrefixes.begin() + 1, kPrefixes.end(),
                  [&](std::string_view prefix) { return name.starts_with(prefix); })) {
    return "";
  }
  return std::string(kPrefixes[static_cast<size_t>(type)]).append(name);
}

}  // namespace rocescope
