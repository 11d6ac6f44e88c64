// SPDX-License-Identifier: BSD-3-Clause
// The dashboard with its data in one file. See appliance/dashboard/README.md, "A page of its own".
#pragma once

#include <string>

#include "base/result.h"

namespace rocescope {

class Service;

// Returns an HTML document with all data of the newest snapshot of `service`, under the heading
// `title`. Long lists are truncated and state their full length. The error is kUnimplemented if the
// program was built without the dashboard.
Result<std::string> StoredPage(Service& service, const std::string& title);

}  // namespace rocescope
