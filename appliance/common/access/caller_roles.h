// SPDX-License-Identifier: BSD-3-Clause
// Roles of a client, from the names in its certificate.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "appliance/common/access/caller.h"
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
  // Returns the client with these certificate names. Its name is the first one that has a role, or
  // else the first one.
  Caller CallerOf(const std::vector<std::string>& names) const;

 private:
  // As in Caller.
  struct Grant {
    Roles roles = 0;
    std::set<std::string, std::less<>> users;
  };
  const Grant* Find(const std::string& listed) const;

  std::map<std::string, Grant> by_name_;
};

// Returns the error for a client with these certificate names (empty: the certificate has no name
// of an accepted type) that is not allowed to `do_what`, for example "call X".
std::string WhyNotAllowed(const std::vector<std::string>& names, std::string_view do_what);

// Returns the error for a client whose roles do not permit it to `do_what`. It says what tenants
// may do.
std::string WhyNotAllowed(const Caller& caller, std::string_view do_what);

}  // namespace rocescope
