// SPDX-License-Identifier: BSD-3-Clause
// Own reader of plain pcap files (draft-ietf-opsawg-pcap), since libpcap's loop costs more than
// decoding a frame does.
#pragma once

#include <memory>
#include <span>
#include <string>

#include "base/result.h"
#include "dataplane/source/capture.h"

namespace rocescope {

// Whether a file that begins so is one for this reader: version 2.4, micro- or nanoseconds, either
// byte order. Eight octets decide; other pcap variants are libpcap's.
bool LooksLikePcap(std::span<const uint8_t> head);

Result<std::unique_ptr<CaptureSource>> OpenPcap(std::unique_ptr<ByteStream> stream,
                                                std::string name, const CaptureOptions& options);

}  // namespace rocescope
