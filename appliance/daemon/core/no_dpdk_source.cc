// SPDX-License-Identifier: BSD-3-Clause
// The stub for programs that are built without DPDK.
#include "appliance/daemon/core/dpdk_source.h"

namespace rocescope {

struct DpdkSource::Parts {};

Result<std::unique_ptr<DpdkSource>> DpdkSource::Open(const DpdkConfig& /*config*/,
                                                     std::function<void(const std::string&)>) {
  return MakeError(
      ErrorCode::kUnimplemented,
      "the configuration uses dpdk, but this rocescope was built without DPDK: install "
      "libdpdk-dev and configure with -DROCESCOPE_DPDK=ON (cmake --preset release)");
}

// Never instantiated.
DpdkSource::DpdkSource(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}
DpdkSource::~DpdkSource() = default;
std::vector<std::string> DpdkSource::PortNames() const { return {}; }
uint16_t DpdkSource::lcores() const { return 0; }
Status DpdkSource::Prepare(const FrameProcessor::Options&, TapId) { return {}; }
std::vector<RecordExchange*> DpdkSource::Records() { return {}; }
void DpdkSource::Start() {}
void DpdkSource::Stop() {}
SourceStatistics DpdkSource::Statistics() const { return {}; }
Senders DpdkSource::LastSenders() const { return {}; }
std::vector<std::string> DpdkSource::Problems() const { return {}; }
std::vector<uint64_t> DpdkSource::Beats() const { return {}; }
std::vector<PortFindings> DpdkSource::Ports() const { return {}; }
std::string DpdkSource::Error() const { return {}; }

}  // namespace rocescope
