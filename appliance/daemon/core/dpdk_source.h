// SPDX-License-Identifier: BSD-3-Clause
// DPDK's ports as a source of the box: EAL, its lcores, and the ports that they receive from. EAL's
// main lcore is a thread of its own, so that the box's other threads keep their cores.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "appliance/common/config/config.h"
#include "base/result.h"
#include "dataplane/pipeline/frame_processor.h"
#include "dataplane/pipeline/frame_worker.h"
#include "dataplane/pipeline/source_statistics.h"
#include "dataplane/pipeline/record_exchange.h"
#include "dataplane/port/port_findings.h"

namespace rocescope {

class DpdkSource {
 public:
  // Starts EAL and sets the ports up. Once a process. The error of a program that was built without
  // DPDK is kUnimplemented.
  static Result<std::unique_ptr<DpdkSource>> Open(const DpdkConfig& config,
                                                  std::function<void(const std::string&)> tell);
  ~DpdkSource();

  std::vector<std::string> PortNames() const;
  uint16_t lcores() const;

  // What each lcore does, and starts the ports. `processor.taps` has their names from `first_tap`
  // on.
  Status Prepare(const FrameProcessor::Options& processor, TapId first_tap);
  // One for each lcore.
  std::vector<RecordExchange*> Records();

  // Receives from Start to Stop, which waits until all lcores have handed over all they had: the
  // reader of records must go on until then. Once.
  void Start();
  void Stop();

  // Any thread, any time after Prepare.
  SourceStatistics Statistics() const;
  Senders LastSenders() const;  // of all lcores
  std::vector<std::string> Problems() const;
  std::vector<uint64_t> Beats() const;  // of each lcore: grows some times a second
  std::vector<PortFindings> Ports() const;
  std::string Error() const;  // why it ended; empty: it did not

 private:
  struct Parts;
  explicit DpdkSource(std::unique_ptr<Parts> parts);

  std::unique_ptr<Parts> parts_;
};

}  // namespace rocescope
