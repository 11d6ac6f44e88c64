// SPDX-License-Identifier: BSD-3-Clause
#include "sim/fault/outages.h"

namespace rocescope::sim {

Outages::Outages(Network& network, SimTime reroute_delay)
    : network_(network),
      reroute_delay_(reroute_delay),
      links_down_(network.fabric().links().size()),
      links_drained_(network.fabric().links().size()),
      nodes_down_(network.fabric().nodes().size()),
      nics_down_(network.fabric().nics().size()) {}

bool Outages::Count(uint32_t& reasons, bool more) {
  if (more) return reasons++ == 0;
  return reasons > 0 && --reasons == 0;
}

std::vector<topology::LinkIndex> Outages::LinksOf(topology::NodeIndex node) const {
  std::vector<topology::LinkIndex> links;
  for (const topology::Port& port : network_.fabric().PortsOf(node)) {
    if (port.link != topology::kNone) links.push_back(port.link);
  }
  return links;
}

void Outages::SetLink(topology::LinkIndex link, bool down) {
  if (Count(links_down_[link], down)) {
    for (const topology::PortIndex port : network_.fabric().link(link).ends) {
      network_.port(port).SetUp(!down);
    }
  }
}

void Outages::LinkDown(topology::LinkIndex link, bool down) {
  SetLink(link, down);
  ChangeRoutes();
}

void Outages::SwitchDown(topology::NodeIndex node, bool down) {
  if (Count(nodes_down_[node], down)) network_.switch_at(node).SetUp(!down);
  for (const topology::LinkIndex link : LinksOf(node)) LinkDown(link, down);
}

void Outages::NicDown(topology::NicIndex nic, bool down) {
  if (Count(nics_down_[nic], down)) network_.nic(nic).SetUp(!down);
  const topology::LinkIndex link = network_.fabric().port(network_.fabric().nic(nic).port).link;
  if (link != topology::kNone) LinkDown(link, down);
}

void Outages::Drain(topology::LinkIndex link, bool drained) {
  if (Count(links_drained_[link], drained)) Reroute();
}

void Outages::ChangeRoutes() {
  network_.engine().At(network_.engine().Now() + reroute_delay_, [this] { Reroute(); });
}

void Outages::Reroute() {
  std::vector<bool> avoided(links_down_.size());
  for (size_t link = 0; link < avoided.size(); ++link) {
    avoided[link] = links_down_[link] > 0 || links_drained_[link] > 0;
  }
  network_.Reroute(avoided);
}

}  // namespace rocescope::sim
