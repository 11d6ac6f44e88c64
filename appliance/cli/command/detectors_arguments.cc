// SPDX-License-Identifier: BSD-3-Clause
#include <memory>
#include <string>

#include "appliance/cli/command/arguments.h"
#include "appliance/cli/command/detectors.h"

namespace rocescope {

Command AddDetectors(CLI::App& parent) {
  auto format = std::make_shared<std::string>("text");
  CLI::App* app =
      parent.add_subcommand("detectors", "List the detectors of faults and what they need");
  app->footer(
      "FALSE FINDINGS PER DAY is the rate that the detector is designed for, in a healthy fabric "
      "of "
      "any\n"
      "size. WINDOWS is the least duration of the fault in analysis windows, at the default "
      "thresholds.\n"
      "If counters are read less often than once per window, it counts polling periods instead.");
  AddOutputFormat(*app, *format, "one object");
  return {.app = app, .run = [format] { return RunDetectors(FormatOf(*format)); }};
}

}  // namespace rocescope
