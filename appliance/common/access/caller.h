// SPDX-License-Identifier: BSD-3-Clause
// The client that makes a call, as its transport has identified it.
#pragma once

#include <functional>
#include <set>
#include <string>
#include <string_view>

#include "appliance/common/access/role.h"

namespace rocescope {

struct Caller {
  // Name in the certificate, or of the token. Empty: not identified, because the listener is on
  // loopback and requires neither certificates nor tokens.
  std::string name;
  Roles roles = 0;
  // Role tenant: users of the scheduler whose jobs belong to the client. No element is empty.
  std::set<std::string, std::less<>> users;

  bool Has(CallerRole role) const { return (roles & Of(role)) != 0; }
  // Whether the client may read data of all jobs, and of the fabric. Otherwise, only of its own
  // jobs.
  bool MayReadAll() const { return (roles & kReadAccess) != 0; }
  // Whether jobs of this user of the scheduler belong to the client.
  bool IsUser(std::string_view user) const { return users.contains(user); }
};

// Returns a client that is not identified and may call everything: one of a loopback listener
// without certificates and tokens, or the appliance itself.
inline const Caller& LocalCaller() {
  static const Caller caller = {.name = "", .roles = kAllRoles, .users = {}};
  return caller;
}

}  // namespace rocescope
