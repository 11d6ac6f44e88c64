// SPDX-License-Identifier: BSD-3-Clause
#include <memory>
#include <string>

#include "appliance/cli/command/arguments.h"
#include "appliance/cli/command/decode.h"
#include "appliance/cli/command/input_arguments.h"

namespace rocescope {

Command AddDecode(CLI::App& parent) {
  struct State {
    CaptureArguments captures;
    DecodeOptions options;
    std::string format = "jsonl";
  };
  auto state = std::make_shared<State>();
  CLI::App* app = parent.add_subcommand("decode", "Print each frame as one JSON object per line");
  app->footer(
      "The keys and their units are documented in appliance/README.md; 64-bit integers are "
      "strings.\n"
      "The last line on standard error is the ledger, which accounts for every frame.\n"
      "\n"
      "Examples:\n"
      "  rocescope decode capture.pcap -o jsonl\n"
      "  rocescope decode --icrc --qp 46 leaf1.pcapng leaf2.pcapng.zst | jq .psn\n"
      "  tcpdump -i eth1 -w - udp port 4791 | rocescope decode -");
  state->captures.AddTo(*app);
  app->add_option("-o,--output", state->format,
                  "Output format. jsonl: one JSON object for each frame.")
      ->type_name("FORMAT")
      ->check(CLI::IsMember({"jsonl"}))
      ->capture_default_str();
  app->add_flag("--icrc", state->options.check_icrc,
                "Compute the ICRC of frames that are not truncated (key icrc_ok).");
  AddIntPort(*app, [state](uint16_t port) { state->options.ports.int_reports = port; });
  AddTimeFilter(*app, state->options.filter);
  AddPacketFilter(*app, state->options.filter);
  return {.app = app, .run = [state] {
            state->options.captures = state->captures.Take();
            CheckFilter(state->options.filter);
            return RunDecode(state->options);
          }};
}

}  // namespace rocescope
