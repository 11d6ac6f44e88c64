// SPDX-License-Identifier: BSD-3-Clause
// Events as server-sent events (the HTML standard, 9.2): `id` is the cursor, `event` the kind,
// `data` the Event as JSON.
#pragma once

#include <cstdint>

#include "appliance/daemon/http/http_message.h"
#include "appliance/daemon/service/service.h"

namespace rocescope {

// Those after `cursor` (0: from now on); and, without an id, that another answer is there.
HttpResponse StreamEvents(Service& service, uint64_t cursor);

}  // namespace rocescope
