// SPDX-License-Identifier: BSD-3-Clause
// Derives the fabric from ns-3 nodes, their devices and channels.
#pragma once

#include <ns3/net-device.h>
#include <ns3/node.h>
#include <ns3/ptr.h>

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "sim/ns3_export/exporter.h"
#include "sim/ns3_export/frame_bytes.h"
#include "topology/fabric.h"

namespace rocescope::ns3_export {

struct AddedNode {
  ns3::Ptr<ns3::Node> node;
  std::string name;
  topology::Tier tier = topology::Tier::kHost;
};

struct Fabric {
  topology::Fabric fabric;
  // Indexed by PortIndex.
  std::vector<ns3::Ptr<ns3::NetDevice>> devices;
  std::vector<LinkLayer> link_layers;
};

// The switches get mirror sessions as the options say, and addresses of ERSPAN and sFlow from
// 172.16.0.0 on. The error names the node and the device.
Result<Fabric> FabricOf(const std::vector<AddedNode>& nodes, const Options& options);

}  // namespace rocescope::ns3_export
