// SPDX-License-Identifier: BSD-3-Clause
// Tokens of HTTP clients (RFC 6750), of which the configuration contains only the digests.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace rocescope {

class BearerTokens {
 public:
  // Each digest is the SHA-256 of a token, as 64 hexadecimal digits.
  static Result<BearerTokens> Make(const std::vector<std::string>& digests);

  bool empty() const { return digests_.empty(); }
  // Returns the index of the token in the header value "Bearer TOKEN"; nullopt: not one of the
  // tokens. The time does not depend on how much of a token is right.
  std::optional<size_t> Find(std::string_view authorization) const;

 private:
  using Digest = std::array<uint8_t, 32>;
  std::vector<Digest> digests_;
};

}  // namespace rocescope
