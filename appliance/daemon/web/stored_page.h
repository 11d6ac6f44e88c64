// SPDX-License-Identifier: BSD-3-Clause
// The dashboard with its data in one file. See appliance/dashboard/README.md, "A page of its own".
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"

namespace rocescope {

class Service;

struct StoredData {
  std::string json;                // an object from API paths to responses
  std::vector<std::string> notes;  // one sentence for each truncated list
};

// Returns all data of the newest snapshot of `service`. A list has at most `max_elements` elements;
// its `total_size` is that of the whole list, so that the dashboard shows that elements are
// missing.
StoredData StoreData(Service& service, int32_t max_elements = 20'000);

// Returns an HTML document with the data, under the heading `title`. The error is kUnimplemented if
// the program was built without the dashboard.
Result<std::string> StoredPage(const StoredData& data, const std::string& title);

}  // namespace rocescope
