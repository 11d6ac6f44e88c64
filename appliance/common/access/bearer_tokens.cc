// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/common/access/bearer_tokens.h"

#include <fmt/format.h>
#include <openssl/crypto.h>
#include <openssl/sha.h>

#include <boost/beast/core/string.hpp>
#include <charconv>
#include <string>

namespace rocescope {

namespace {

CallerRole RoleOf(TokenRole role) {
  switch (role) {
    case TokenRole::kOperator:
      return CallerRole::kOperator;
    case TokenRole::kTenant:
      return CallerRole::kTenant;
    case TokenRole::kViewer:
      break;
  }
  return CallerRole::kViewer;
}

}  // namespace

Result<BearerTokens> BearerTokens::Make(const std::vector<TokenConfig>& tokens) {
  BearerTokens made;
  for (const TokenConfig& token : tokens) {
    const std::string& text = token.sha256;
    const size_t index = made.tokens_.size();
    made.tokens_.push_back(
        {.index = index,
         .caller = {.name = token.name.empty() ? fmt::format("token {}", index + 1) : token.name,
                    .roles = Of(RoleOf(token.role)),
                    .users = {token.users.begin(), token.users.end()}}});
    Digest& digest = made.digests_.emplace_back();
    bool is_valid = text.size() == 2 * digest.size();
    for (size_t i = 0; is_valid && i < digest.size(); ++i) {
      const char* const begin = text.data() + 2 * i;
      const auto read = std::from_chars(begin, begin + 2, digest[i], 16);
      is_valid = read.ec == std::errc() && read.ptr == begin + 2;
    }
    if (is_valid) continue;
    return MakeError(ErrorCode::kInvalidArgument,
                     fmt::format("\"{}\" is not the SHA-256 digest of a token: expected 64 "
                                 "hexadecimal digits, as `sha256sum` prints them",
                                 text));
  }
  return made;
}

const BearerTokens::Token* BearerTokens::Find(std::string_view authorization) const {
  constexpr std::string_view kScheme = "Bearer ";
  // Schemes are case-insensitive (RFC 9110, 11.1).
  if (!boost::beast::iequals(authorization.substr(0, kScheme.size()), kScheme)) return nullptr;
  const std::string_view token = authorization.substr(kScheme.size());
  Digest digest;
  SHA256(reinterpret_cast<const unsigned char*>(token.data()), token.size(), digest.data());
  const Token* found = nullptr;
  for (size_t i = 0; i < digests_.size(); ++i) {
    if (CRYPTO_memcmp(digests_[i].data(), digest.data(), digest.size()) == 0) found = &tokens_[i];
  }
  return found;
}

}  // namespace rocescope
