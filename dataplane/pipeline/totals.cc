// SPDX-License-Identifier: BSD-3-Clause
#include "dataplane/pipeline/totals.h"

namespace rocescope {

void DataplaneTotals::Add(const FrameProcessor& processor,
                          const std::vector<MirrorStream>& followed) {
  counters += processor.counters();
  flows += processor.flows().statistics();
  const std::vector<Tap> more = processor.taps().taps();
  for (size_t i = 0; i < more.size(); ++i) {
    if (i < taps.size()) {
      taps[i].frames += more[i].frames;
    } else {
      taps.push_back(more[i]);
    }
  }
  MergeMirrorStreams(mirrors, followed);
  // All datagrams of a sender arrive at one core (dataplane/telemetry/README.md).
  const std::vector<TelemetrySource> senders = processor.telemetry().Sources();
  telemetry.insert(telemetry.end(), senders.begin(), senders.end());
}

}  // namespace rocescope
