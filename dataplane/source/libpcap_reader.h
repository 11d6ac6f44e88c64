// SPDX-License-Identifier: BSD-3-Clause
// pcapng and the rare pcap variants, through libpcap.
#pragma once

#include <memory>
#include <string>

#include "base/result.h"
#include "dataplane/source/capture.h"

namespace rocescope {

// Whatever libpcap reads, with nanosecond timestamps. A pcapng file must have one link type and
// snapshot length for all its interfaces: libpcap's limit.
Result<std::unique_ptr<CaptureSource>> OpenThroughLibpcap(std::unique_ptr<ByteStream> stream,
                                                          std::string name,
                                                          const CaptureOptions& options);

}  // namespace rocescope
