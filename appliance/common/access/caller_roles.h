// SPDX-License-Identifier: BSD-3-Clause
// Roles of a client, from the names in its certificate.
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

  // Returns the union of the roles of all names. A configured name such as "*.gpu.example" matches
  // any first label.
  Roles Of(const std::vector<std::string>& names) const;

 private:
  std::map<std::string, Roles> by_name_;
};

// Returns the error for a client with these certificate names (empty: the certificate has no name
// of an accepted type) that is not allowed to `do_what`, for example "call X".
std::string WhyNotAllowed(const std::vector<std::string>& names, std::string_view do_what);

}  // namespace rocescope
