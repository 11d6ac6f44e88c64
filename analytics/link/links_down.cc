// SPDX-License-Identifier: BSD-3-Clause
#include "analytics/link/links_down.h"

#include "dataplane/record/metric.h"

namespace rocescope {
namespace {

Entity EntityOf(const topology::Fabric& fabric, topology::PortIndex port) {
  const topology::NicIndex nic = fabric.NicOf(port);
  if (nic == topology::kNone) return {.kind = EntityKind::kPort, .index = port};
  return {.kind = EntityKind::kNic, .index = nic};
}

bool WasNeverUp(const topology::Fabric& fabric, const MetricStore& metrics,
                const topology::Link& link) {
  bool is_down = false;
  for (const topology::PortIndex port : link.ends) {
    const Entity entity = EntityOf(fabric, port);
    const MetricSeries* enabled = metrics.Find(entity, Metric::kAdminUp);
    if (enabled != nullptr && enabled->last() == 0u) return false;
    const MetricSeries* up = metrics.Find(entity, Metric::kLinkUp);
    if (up == nullptr) continue;
    if (up->was_ever_nonzero()) return false;
    is_down = is_down || up->last() == 0u;
  }
  return is_down;
}

}  // namespace

std::vector<topology::LinkIndex> LinksNeverUp(const topology::Fabric& fabric,
                                              const MetricStore& metrics) {
  std::vector<topology::LinkIndex> links;
  for (topology::LinkIndex link = 0; link < fabric.links().size(); ++link) {
    if (WasNeverUp(fabric, metrics, fabric.link(link))) links.push_back(link);
  }
  return links;
}

}  // namespace rocescope
