// SPDX-License-Identifier: BSD-3-Clause
// All elements of one snapshot: numbered, and known by name.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analytics/dependency/element.h"
#include "analytics/job/attribution.h"
#include "topology/fabric.h"

namespace rocescope {

class Elements {
 public:
  // Both must outlive it.
  Elements(const topology::Fabric& fabric, const Attribution& attribution);

  const topology::Fabric& fabric() const { return fabric_; }
  const Attribution& attribution() const { return attribution_; }

  // Numbers are 0 and up, by kind and index; of hosts and switches each has a number for every
  // node, be it of the other kind.
  uint32_t count() const { return first_[kElementKinds]; }
  uint32_t NumberOf(const Element& element) const {
    return first_[static_cast<size_t>(element.kind)] + element.index;
  }
  Element At(uint32_t number) const;
  bool Has(const Element& element) const;

  // By index into Job::ranks and Job::communicators.
  Element Rank(uint32_t job, uint32_t member) const {
    return {.kind = ElementKind::kRank, .index = first_rank_[job] + member};
  }
  Element Communicator(uint32_t job, uint32_t communicator) const {
    return {.kind = ElementKind::kCommunicator, .index = first_communicator_[job] + communicator};
  }
  Element Node(topology::NodeIndex node) const {
    return {fabric_.node(node).IsSwitch() ? ElementKind::kSwitch : ElementKind::kHost, node};
  }

  // "leaf0", "host3", "host3:mlx5_1", "host3:gpu:5", "leaf0:Ethernet4", a link's two ports with a
  // hyphen between them in whatever order, the id of a job or communicator, JOB:rank:NUMBER, a
  // NIC's address. Where names are shared: a job before its largest communicator, a NIC before its
  // port. A job also goes by the scheduler's number or name, if no element and no other job has it,
  // and as reports print it. None if there is no such element. Takes the time of all jobs' ranks at
  // most.
  std::optional<Element> Find(std::string_view name) const;
  // Of an element that there is. Ranks without a number are JOB:HOST:PROCESS, or JOB:HOST:NIC if
  // no process is known.
  std::string NameOf(const Element& element) const;
  // Of all elements.
  std::vector<std::string> Names() const;

 private:
  std::string NameOfRank(uint32_t index) const;
  std::optional<Element> FindAsNamed(std::string_view name) const;
  std::optional<Element> FindAllocated(std::string_view name) const;
  std::optional<Element> FindInJobs(std::string_view name) const;
  std::optional<Element> FindAt(topology::NodeIndex node, std::string_view rest) const;
  std::optional<Element> FindLink(topology::NodeIndex node, std::string_view name) const;

  const topology::Fabric& fabric_;
  const Attribution& attribution_;
  std::vector<uint32_t> first_rank_;                 // of each job, among all ranks
  std::vector<uint32_t> first_communicator_;         // likewise
  std::array<uint32_t, kElementKinds + 1> first_{};  // element of each kind, among all
};

}  // namespace rocescope
