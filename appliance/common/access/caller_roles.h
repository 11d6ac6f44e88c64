// SPDX-License-Identifier: BSD-3-Clause
// Which roles a caller has, by the names in its certificate.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "appliance/common/access/role.h"
#include "appliance/common/config/config.h"

namespace rocescope {

class CallerRoles {
 public:
  CallerRoles() = default;
  explicit CallerRoles(const GrpcConfig& config);

  // Of all names together. A listed name such as "*.gpu.example" stands for those with any first
  // label.
  Roles Of(const std::vector<std::string>& names) const;

 private:
  std::map<std::string, Roles> by_name_;
};

// Why whoever shows a certificate with these names, or none, may not `do_what` ("call X").
std::string WhyNotAllowed(const std::vector<std::string>& names, std::string_view do_what);

}  // namespace rocescope
