// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/common/access/tls_texts.h"

#include <fmt/format.h>

#include <cstdint>
#include <utility>

#include "appliance/common/files/text_file.h"

namespace rocescope {

Result<TlsTexts> ReadTls(const TlsConfig& config, std::string_view key_of_config) {
  TlsTexts tls{.files = config};
  if (!config.IsThere()) return tls;
  if (const Status all = CheckTls({}, config); !all) return tl::unexpected(all.error());
  for (const auto& [path, text] :
       {std::pair(&config.certificate, &tls.certificate), std::pair(&config.key, &tls.key),
        std::pair(&config.client_ca, &tls.peer_ca), std::pair(&config.crl, &tls.crl)}) {
    if (path == &config.crl && path->empty()) continue;
    constexpr uintmax_t kLargest = uintmax_t{1} << 20;
    Result<std::string> read = ReadTextFile(*path, kLargest);
    if (!read) return tl::unexpected(read.error());
    if (read->empty()) {
      const std::string where =
          key_of_config.empty() ? ""
                                : fmt::format(" (key `{}` of the configuration)", key_of_config);
      return MakeError(ErrorCode::kInvalidArgument,
                       fmt::format("{}: the file is empty{}", *path, where));
    }
    *text = *std::move(read);
  }
  return tls;
}

}  // namespace rocescope
