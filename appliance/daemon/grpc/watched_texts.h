// SPDX-License-Identifier: BSD-3-Clause
// TLS certificates in memory as files that gRPC watches for changes. The files of the configuration
// would not do: after the switch to an unprivileged user, they may be unreadable.
#pragma once

#include <array>
#include <memory>
#include <string>

#include "appliance/common/access/tls_texts.h"
#include "base/result.h"

namespace rocescope {

class WatchedTexts {
 public:
  static Result<std::unique_ptr<WatchedTexts>> Make(const TlsTexts& texts);
  ~WatchedTexts();
  WatchedTexts(const WatchedTexts&) = delete;

  // gRPC uses them within about a second.
  Status Set(const TlsTexts& texts);

  std::string certificate() const { return PathOf(0); }
  std::string key() const { return PathOf(1); }
  std::string peer_ca() const { return PathOf(2); }

 private:
  WatchedTexts() = default;
  std::string PathOf(size_t file) const;

  std::array<int, 3> files_ = {-1, -1, -1};
};

}  // namespace rocescope
