// SPDX-License-Identifier: BSD-3-Clause
// Decompressing streams. Both hold a fixed window (gzip 32 KiB, zstd at most 128 MiB) however much
// comes out of them, so a decompression bomb costs time but not memory.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "base/result.h"
#include "dataplane/source/byte_stream.h"

namespace rocescope {

// By the first four octets of a stream.
bool LooksLikeGzip(std::span<const uint8_t> head);
bool LooksLikeZstd(std::span<const uint8_t> head);

// All members of a gzip file (RFC 1952), one after the other. `name` goes into messages.
Result<std::unique_ptr<ByteStream>> MakeGzipStream(std::unique_ptr<ByteStream> compressed,
                                                   const std::string& name);

// All frames of a zstd file (RFC 8878), skippable ones skipped.
Result<std::unique_ptr<ByteStream>> MakeZstdStream(std::unique_ptr<ByteStream> compressed,
                                                   const std::string& name);

}  // namespace rocescope
