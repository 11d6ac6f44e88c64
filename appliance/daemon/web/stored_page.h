// SPDX-License-Identifier: BSD-3-Clause
// The dashboard in one file that needs no box: appliance/dashboard/README.md, "A page of its own".
#pragma once

#include <string>

#include "base/result.h"

namespace rocescope {

class Service;

// An HTML document with all that `service` knows of its newest answer: `title` stands above it.
// Long lists are cut, and say how long they are. The error is kUnimplemented where the dashboard
// was not built into this program.
Result<std::string> StoredPage(Service& service, const std::string& title);

}  // namespace rocescope
