// SPDX-License-Identifier: BSD-3-Clause
#include <chrono>
#include <string_view>

#include "appliance/cli/command/arguments.h"
#include "appliance/common/config/duration.h"
#include "base/time.h"

namespace rocescope {
namespace {

// A longer timeout could overflow the clock.
Result<Duration> ParseTimeout(std::string_view text) {
  constexpr Duration kMost = std::chrono::hours(24);
  const Result<Duration> timeout = ParseDuration(text);
  if (!timeout || *timeout <= kMost) return timeout;
  return MakeError(ErrorCode::kInvalidArgument, fmt::format("\"{}\" is longer than one day", text));
}

}  // namespace

void AddClient(CLI::App& app, JobsClientOptions& client) {
  app.add_option("--appliance", client.appliance, "gRPC address of the appliance")
      ->type_name("HOST:PORT")
      ->capture_default_str();
  AddParsed(app, "--timeout", "TIME", "Timeout for the request. Default: 2s", ParseTimeout,
            [&client](Duration timeout) {
              client.timeout = std::chrono::ceil<std::chrono::milliseconds>(timeout);
            });
  app.add_option("--ca", client.ca,
                 "CA certificate (PEM) that signs the appliance's certificate; enables TLS")
      ->type_name("FILE");
  app.add_option("--cert", client.certificate, "Client certificate (PEM)")->type_name("FILE");
  app.add_option("--key", client.key, "Private key of the client certificate (PEM)")
      ->type_name("FILE");
}

}  // namespace rocescope
