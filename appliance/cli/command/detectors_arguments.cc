// SPDX-License-Identifier: BSD-3-Clause
#include <memory>
#include <string>

#include "appliance/cli/command/arguments.h"
#include "appliance/cli/command/detectors.h"

namespace rocescope {

Command AddDetectors(CLI::App& parent) {
  auto format = std::make_shared<std::string>("text");
  CLI::App* app =
      parent.add_subcommand("detectors", "List the fault detectors and what they require");
  app->footer(
      "FALSE FINDINGS PER DAY is the rate that the detector is designed for, in a healthy fabric\n"
      "of any size. WINDOWS is the minimum duration of a detectable fault at the default\n"
      "thresholds: in analysis windows, or in polling periods if counters are read less often\n"
      "than once per window.");
  AddOutputFormat(*app, *format, "one object");
  return {.app = app, .run = [format] { return RunDetectors(FormatOf(*format)); }};
}

}  // namespace rocescope
