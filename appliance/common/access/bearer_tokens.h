// SPDX-License-Identifier: BSD-3-Clause
// Tokens of HTTP clients (RFC 6750), of which the configuration contains only the digests.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "appliance/common/access/caller.h"
#include "appliance/common/config/config.h"
#include "base/result.h"

namespace rocescope {

class BearerTokens {
 public:
  struct Token {
    size_t index = 0;  // in the configuration
    // The client that has the token. Without a name in the configuration, the name is "token 1" for
    // the first token.
    Caller caller;
  };

  // Fails if a digest is not a SHA-256 digest of 64 hexadecimal digits.
  static Result<BearerTokens> Make(const std::vector<TokenConfig>& tokens);

  bool empty() const { return tokens_.empty(); }
  // Returns the token in the header value "Bearer TOKEN"; null: not one of the tokens. The time
  // does not depend on how much of a token is right.
  const Token* Find(std::string_view authorization) const;

 private:
  using Digest = std::array<uint8_t, 32>;
  std::vector<Digest> digests_;
  std::vector<Token> tokens_;  // by the index of the digest
};

}  // namespace rocescope
