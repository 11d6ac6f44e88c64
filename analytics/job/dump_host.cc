// SPDX-License-Identifier: BSD-3-Clause
#include "analytics/job/dump_host.h"

#include <algorithm>
#include <set>

namespace rocescope {

DumpHost::DumpHost(const RdmaDump& dump, const HostIndex& hosts) : entries_(hosts.Find(dump.host)) {
  if (const Result<IpAddress> literal = ParseIpAddress(dump.host)) literal_ = *literal;
  if (literal_ && entries_.empty()) entries_ = hosts.At(*literal_);
  if (literal_ && entries_.size() > 1) entries_.clear();  // tenants share the address
}

std::vector<IpAddress> DumpHost::AddressesOf(const RdmaQueuePair& qp) const {
  std::set<IpAddress> of_port;
  std::set<IpAddress> of_host;
  std::set<IpAddress> out_of_band;
  for (const HostEntry* entry : entries_) {
    for (const auto& [port, addresses] : entry->addresses) {
      of_host.insert(addresses.begin(), addresses.end());
      if (port.device != qp.device || (qp.port && port.port != *qp.port)) continue;
      of_port.insert(addresses.begin(), addresses.end());
    }
    out_of_band.insert(entry->out_of_band.begin(), entry->out_of_band.end());
  }
  if (!of_port.empty() && !qp.device.empty()) return {of_port.begin(), of_port.end()};
  const bool knows_ports = std::ranges::any_of(entries_, [](const HostEntry* entry) {
    return std::ranges::any_of(entry->addresses,
                               [](const auto& of) { return !of.first.device.empty(); });
  });
  // Logs contain the addresses of other ports, but not of this one.
  if (knows_ports && !qp.device.empty()) return {};
  if (!of_host.empty()) return {of_host.begin(), of_host.end()};
  if (literal_) return {*literal_};
  return {out_of_band.begin(), out_of_band.end()};
}

std::vector<RankPlace> DumpHost::RanksOf(uint64_t process_id) const {
  std::set<RankPlace> all;
  for (const HostEntry* entry : entries_) {
    const auto [first, last] = entry->processes.equal_range(process_id);
    for (auto at = first; at != last; ++at) all.insert(at->second);
  }
  return {all.begin(), all.end()};
}

}  // namespace rocescope
