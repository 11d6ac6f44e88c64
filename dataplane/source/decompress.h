// SPDX-License-Identifier: BSD-3-Clause
// Decompressing streams. Both use a fixed window (gzip 32 KiB, zstd at most 128 MiB) whatever the
// size of their output, so a decompression bomb takes time but no memory.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "base/result.h"
#include "dataplane/source/byte_stream.h"

namespace rocescope {

// Recognises the formats by the first four bytes of a stream.
bool LooksLikeGzip(std::span<const uint8_t> head);
bool LooksLikeZstd(std::span<const uint8_t> head);

// Decompresses all members of a gzip file (RFC 1952) in sequence. `name` is used in messages.
Result<std::unique_ptr<ByteStream>> MakeGzipStream(std::unique_ptr<ByteStream> compressed,
                                                   const std::string& name);

// Decompresses all frames of a zstd file (RFC 8878); skippable frames are skipped.
Result<std::unique_ptr<ByteStream>> MakeZstdStream(std::unique_ptr<ByteStream> compressed,
                                                   const std::string& name);

}  // namespace rocescope
