// SPDX-License-Identifier: BSD-3-Clause
// Server-sent events (HTML standard, 9.2): `id` is the cursor, `event` the kind, `data` the Event
// as JSON.
#pragma once

#include <cstdint>

#include "appliance/daemon/http/http_message.h"
#include "appliance/daemon/service/service.h"

namespace rocescope {

// Streams the events after `cursor` (0: the active faults, then new events) and, without an id,
// announcements of new snapshots, as far as the client may read them.
HttpResponse StreamEvents(Service& service, const Caller& caller, uint64_t cursor);

}  // namespace rocescope
