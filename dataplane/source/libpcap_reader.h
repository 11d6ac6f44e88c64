// SPDX-License-Identifier: BSD-3-Clause
// Reads pcapng and the rare pcap variants through libpcap.
#pragma once

#include <memory>
#include <string>

#include "base/result.h"
#include "dataplane/source/capture.h"

namespace rocescope {

// Reads everything that libpcap reads, with nanosecond timestamps. libpcap requires that all
// interfaces of a pcapng file have the same link type and snapshot length.
Result<std::unique_ptr<CaptureSource>> OpenThroughLibpcap(std::unique_ptr<ByteStream> stream,
                                                          std::string name,
                                                          const CaptureOptions& options);

}  // namespace rocescope
