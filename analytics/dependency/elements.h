// SPDX-License-Identifier: BSD-3-Clause
// Numbers and names of all elements in one snapshot.
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
  // Both arguments must outlive this object.
  Elements(const topology::Fabric& fabric, const Attribution& attribution);

  const topology::Fabric& fabric() const { return fabric_; }
  const Attribution& attribution() const { return attribution_; }

  // Numbers start at 0 and are ordered by kind and index. Hosts and switches have separate ranges.
  // Each of the two ranges has a number for every node, so some numbers are unused.
  uint32_t count() const { return first_[kElementKinds]; }
  uint32_t NumberOf(const Element& element) const {
    return first_[static_cast<size_t>(element.kind)] + element.index;
  }
  Element At(uint32_t number) const;
  bool Has(const Element& element) const;

  // `member` and `communicator` are indices into Job::ranks and Job::communicators.
  Element Rank(uint32_t job, uint32_t member) const {
    return {.kind = ElementKind::kRank, .index = first_rank_[job] + member};
  }
  Element Communicator(uint32_t job, uint32_t communicator) const {
    return {.kind = ElementKind::kCommunicator, .index = first_communicator_[job] + communicator};
  }
  Element Node(topology::NodeIndex node) const {
    return {fabric_.node(node).IsSwitch() ? ElementKind::kSwitch : ElementKind::kHost, node};
  }

  // Finds an element by name: "leaf0", "host3", "host3:mlx5_1", "host3:gpu:5", "leaf0:Ethernet4", a
  // link's two ports in any order separated by a hyphen, the ID of a job or communicator,
  // JOB:rank:NUMBER, or a NIC's address. If a name is shared, a job takes precedence over its
  // largest communicator and a NIC over its port. A job can also be found by the scheduler's job
  // number or name, if it is unique, and by its name in reports. Returns nothing for unknown names.
  // Takes time at most linear in the ranks of all jobs.
  std::optional<Element> Find(std::string_view name) const;
  // The element must exist. Ranks without a number are named JOB:HOST:PROCESS, or JOB:HOST:DEVICE
  // if the process is unknown.
  std::string NameOf(const Element& element) const;
  // Names of all elements.
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
  std::vector<uint32_t> first_rank_;  // indexed by job: number of its first rank among all ranks
  // Number of each job's first communicator among all communicators.
  std::vector<uint32_t> first_communicator_;
  std::array<uint32_t, kElementKinds + 1> first_{};  // number of the first element of each kind
};

}  // namespace rocescope
