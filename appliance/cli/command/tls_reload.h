// SPDX-License-Identifier: BSD-3-Clause
// Reads the certificates of the servers again when their files change, and knows when they expire.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "appliance/common/access/tls_texts.h"
#include "appliance/common/process/notice.h"
#include "appliance/daemon/service/certificate_state.h"
#include "base/result.h"

namespace rocescope {

class TlsReload {
 public:
  using Clock = std::chrono::steady_clock;
  // A server whose certificates `set` replaces. `key` is its key in the configuration.
  struct Server {
    std::string key;
    TlsTexts texts;
    std::function<Status(const TlsTexts&)> set;
  };

  // Servers without TLS are ignored.
  TlsReload(std::vector<Server> servers, Notify notify);

  // Looks at the files every two seconds. Changed files are read once they have not changed for
  // that long, so that a certificate and its key are replaced together. Files that cannot be used
  // are tried again, and the previous certificates stay in effect. `at_once`: reads all files now.
  // Returns true if States changed.
  bool Look(Clock::time_point now, bool at_once = false);

  std::vector<CertificateState> States() const;

 private:
  struct Watched {
    Server server;
    CertificateState state;
    std::string identity;  // identity of the files in effect
    std::string seen;      // by the previous look
  };

  void Read(Watched& watched);
  void Describe(Watched& watched) const;

  std::vector<Watched> servers_;
  const Notify notify_;
  Clock::time_point due_;
};

}  // namespace rocescope
