// SPDX-License-Identifier: BSD-3-Clause
// `rocescope support-bundle`: one archive with what a person needs to analyse a problem of an
// appliance, without secrets.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "appliance/cli/command/daemon_page.h"
#include "base/result.h"
#include "base/time.h"

namespace rocescope {

struct SupportBundleOptions {
  std::string config = "/etc/rocescope/appliance.yaml";
  DaemonPage page;
  // Without a URL on the command line, that of `http.listen` in the configuration is used.
  bool is_page_given = false;
  std::string output;
};

// Returns an ExitCode: kExitDamaged if a part is missing, which the bundle and a message name;
// kExitUsage if the output exists.
int RunSupportBundle(const SupportBundleOptions& options);

// A file of the bundle, or why it is missing.
struct BundlePart {
  std::string name;
  std::string reason;  // why it is in the bundle, as a noun phrase
  Result<std::string> content;
};

// Returns the body that the appliance answers for a path.
using PageReader = std::function<Result<std::string>(std::string_view path)>;

// Collects the parts. `read` is called with an updated URL of the appliance.
std::vector<BundlePart> CollectParts(const SupportBundleOptions& options,
                                     const std::function<PageReader(const DaemonPage&)>& reader);

// Text of the manifest: each part with its reason, and the missing ones with the error.
std::string ManifestOf(std::span<const BundlePart> parts);

// Replaces each of `secrets`, also in JSON strings, and the user, password and query of each http
// URL.
std::string WithoutSecrets(std::string text, std::span<const std::string> secrets);

}  // namespace rocescope
