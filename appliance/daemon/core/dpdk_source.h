// SPDX-License-Identifier: BSD-3-Clause
// DPDK ports as a source: the EAL, its lcores and its ports. The EAL's main lcore runs in a
// separate thread, so that the appliance's other threads keep their CPU affinity.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "appliance/common/config/config.h"
#include "appliance/common/process/notice.h"
#include "appliance/daemon/core/record_source.h"
#include "base/result.h"
#include "dataplane/pipeline/frame_processor.h"

namespace rocescope {

class DpdkSource : public RecordSource {
 public:
  // Initialises the EAL and the ports. Possible once per process. Returns kUnimplemented if the
  // program was built without DPDK.
  static Result<std::unique_ptr<DpdkSource>> Open(const DpdkConfig& config, Notify notify);

  virtual std::vector<std::string> PortNames() const = 0;
  virtual uint16_t lcores() const = 0;

  // Configures the lcores and starts the ports. `processor.taps` must contain a tap with the name
  // of each port, from number `first_tap` on. Must be called before the functions of RecordSource.
  virtual Status Prepare(const FrameProcessor::Options& processor, TapId first_tap) = 0;
};

}  // namespace rocescope
