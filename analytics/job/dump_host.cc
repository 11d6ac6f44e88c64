// SPDX-License-Identifier: BSD-3-Clause
#include "analytics/job/dump_host.h"

#include <algorithm>
#include <set>

namespace rocescope {

DumpHost::DumpHost(const RdmaDump& dump, const HostIndex& hosts) : entries_(hosts.Find(dump.host)) {
  if (const Result<IpAddress> literal = ParseIpAddress(dump.host)) literal_ = *literal;
  if (literal_ && entries_.empty()) entries_ = hosts.At(*literal_);
  if (literal_ && entries_.size() > 1) entries_.clear();  // tenants share the address
  std::set<IpAddress> of_host;
  std::set<IpAddress> out_of_band;
  for (const HostEntry* entry : entries_) {
    for (const auto& [port, addresses] : entry->addresses) {
      of_host.insert(addresses.begin(), addresses.end());
      knows_ports_ = knows_ports_ || !port.device.empty();
    }
    out_of_band.insert(entry->out_of_band.begin(), entry->out_of_band.end());
  }
  of_host_.assign(of_host.begin(), of_host.end());
  out_of_band_.assign(out_of_band.begin(), out_of_band.end());
}

std::vector<IpAddress> DumpHost::AddressesOf(const RdmaQueuePair& qp) const {
  if (!qp.device.empty()) {
    std::set<IpAddress> of_port;
    for (const HostEntry* entry : entries_) {
      for (const auto& [port, addresses] : entry->addresses) {
        if (port.device != qp.device || (qp.port && port.port != *qp.port)) continue;
        of_port.insert(addresses.begin(), addresses.end());
      }
    }
    if (!of_port.empty()) return {of_port.begin(), of_port.end()};
    // Logs contain the addresses of other ports, but not of this one.
    if (knows_ports_) return {};
  }
  if (!of_host_.empty()) return of_host_;
  if (literal_) return {*literal_};
  return out_of_band_;
}

std::vector<RankPlace> DumpHost::RanksOf(uint64_t process_id) const {
  std::set<RankPlace> all;
  for (const HostEntry* entry : entries_) {
    const auto ranks = entry->processes.find(process_id);
    if (ranks != entry->processes.end()) all.insert(ranks->second.begin(), ranks->second.end());
  }
  return {all.begin(), all.end()};
}

}  // namespace rocescope
