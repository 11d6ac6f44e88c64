// SPDX-License-Identifier: BSD-3-Clause
// DPDK ports as a source: the EAL, its lcores and its ports. The EAL's main lcore runs in a
// separate thread, so that the appliance's other threads keep their CPU affinity.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "appliance/common/config/config.h"
#include "base/result.h"
#include "dataplane/pipeline/frame_processor.h"
#include "dataplane/pipeline/frame_worker.h"
#include "dataplane/pipeline/record_exchange.h"
#include "dataplane/pipeline/source_statistics.h"
#include "dataplane/port/port_findings.h"

namespace rocescope {

class DpdkSource {
 public:
  // Initialises the EAL and the ports. Possible once per process. Returns kUnimplemented if the
  // program was built without DPDK.
  static Result<std::unique_ptr<DpdkSource>> Open(const DpdkConfig& config,
                                                  std::function<void(const std::string&)> tell);
  ~DpdkSource();

  std::vector<std::string> PortNames() const;
  uint16_t lcores() const;

  // Configures the lcores and starts the ports. `processor.taps` contains the port names from
  // `first_tap` on.
  Status Prepare(const FrameProcessor::Options& processor, TapId first_tap);
  // One for each lcore.
  std::vector<RecordExchange*> Records();

  // Receives from Start to Stop. Stop waits until all lcores have handed over their records, so the
  // reader must continue until then. Call each once.
  void Start();
  void Stop();

  // Thread-safe, after Prepare.
  SourceStatistics Statistics() const;
  Senders LastSenders() const;  // senders of all lcores
  std::vector<std::string> Problems() const;
  std::vector<uint64_t> Beats() const;  // one per lcore: increases several times per second
  std::vector<PortFindings> Ports() const;
  std::string Error() const;  // why it stopped; empty: running

 private:
  struct Parts;
  explicit DpdkSource(std::unique_ptr<Parts> parts);

  std::unique_ptr<Parts> parts_;
};

}  // namespace rocescope
