// SPDX-License-Identifier: BSD-3-Clause
// rocescope's own reader of plain pcap files (draft-ietf-opsawg-pcap). libpcap's loop costs more
// than decoding a frame.
#pragma once

#include <memory>
#include <span>
#include <string>

#include "base/result.h"
#include "dataplane/source/capture.h"

namespace rocescope {

// True if `head` begins a file for this reader: pcap version 2.4, micro- or nanoseconds, either
// byte order. Eight bytes decide; libpcap reads the other variants.
bool LooksLikePcap(std::span<const uint8_t> head);

Result<std::unique_ptr<CaptureSource>> OpenPcap(std::unique_ptr<ByteStream> stream,
                                                std::string name, const CaptureOptions& options);

}  // namespace rocescope
