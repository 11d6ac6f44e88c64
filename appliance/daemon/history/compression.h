// SPDX-License-Identifier: BSD-3-Clause
// Zstd frames in the history file. Each has a checksum and the length of its content.
#pragma once

#include <zstd.h>

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"

namespace rocescope {

class Compressor {
 public:
  Compressor();
  std::string Compress(std::string_view bytes);

 private:
  std::unique_ptr<ZSTD_CCtx, size_t (*)(ZSTD_CCtx*)> context_;
};

class Decompressor {
 public:
  Decompressor();
  // Fails if `frame` is not exactly one frame with a checksum and at most `most` bytes of content.
  // Allocates no more than that.
  Result<std::string> Decompress(std::string_view frame, size_t most);

 private:
  std::unique_ptr<ZSTD_DCtx, size_t (*)(ZSTD_DCtx*)> context_;
};

}  // namespace rocescope
