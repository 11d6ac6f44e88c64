// SPDX-License-Identifier: BSD-3-Clause
// Internal to this folder: finds the scheduler's allocation of a connection or a job.
//
// A connection between nodes of one allocation belongs to that allocation. If nodes are shared, the
// peer's node may leave only one allocation; otherwise the allocation of the GPUs nearest to the
// NICs (rails) decides. A connection that matches several allocations equally well is not
// attributed.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "analytics/connection/connection.h"
#include "analytics/job/host_facts.h"
#include "analytics/job/host_index.h"
#include "analytics/job/host_names.h"

namespace rocescope {

// Confidence of an attribution by allocated nodes. Only the order of the numbers matters. A node
// also runs other traffic than the job's, such as storage and the operator's services.
inline constexpr double kAllocatedGpus = 0.99;   // both NICs are near the allocation's GPUs
inline constexpr double kAllocatedNodes = 0.98;  // no other allocation has both nodes
// Only the GPUs distinguish it from other allocations.
inline constexpr double kAllocatedShared = 0.9;

// An allocation that holds the node of an address.
struct Holding {
  // Whether the address's NIC is the nearest one to a GPU of the allocation.
  enum class Nearness : uint8_t { kOther, kUnknown, kNear };

  uint32_t allocation = 0;  // index into HostFacts::allocations
  Nearness nearness = Nearness::kUnknown;
  int gpu = -1;  // the allocation's only GPU on this node
};

// The time from the first to the last packet of a job.
struct SeenTime {
  Timestamp from;
  Timestamp until;
};

// The allocations that match a job, ascending.
struct AllocationsOfJob {
  std::vector<uint32_t> all;
  // Without those that ended, if any did not.
  std::vector<uint32_t> preferred;

  std::optional<uint32_t> Preferred() const {
    return preferred.size() == 1 ? std::optional(preferred[0]) : std::nullopt;
  }
};

struct AllocationAnswer {
  std::optional<uint32_t> allocation;
  double confidence = 0;
  bool is_ambiguous = false;  // several allocations match
};

class AllocationIndex {
 public:
  // Keeps references to the arguments.
  AllocationIndex(const HostFacts& facts, const HostIndex& hosts);

  bool empty() const { return facts_.allocations.empty(); }
  // Sorted by allocation.
  std::span<const Holding> At(const IpAddress& address) const;
  AllocationAnswer Of(const Connection& connection) const;
  // Returns the allocations that contain all of the job's hosts and known GPUs, and that held them
  // while the job's traffic was seen.
  AllocationsOfJob Of(const Job& job, const std::optional<SeenTime>& seen) const;
  // The note of a job to which several allocations apply.
  std::string NoteOn(const std::vector<uint32_t>& several) const;

  struct Nic {
    std::string host;
    std::string device;  // empty: unknown
  };
  // Returns the NIC with this address; null: unknown, or several hosts have it.
  const Nic* NicAt(const IpAddress& address) const;
  // PCI address of a GPU according to the topology; empty: unknown.
  std::string PciOf(std::string_view host, int gpu) const;

  std::vector<std::string> Notes() const;

 private:
  struct Place {
    uint32_t allocation = 0;
    uint32_t node = 0;  // index into Allocation::nodes

    friend constexpr auto operator<=>(const Place&, const Place&) = default;
  };

  void Add(const Place& place);
  std::vector<uint32_t> HoldersOf(const JobRank& rank) const;
  std::vector<const HostGpu*> GpusOf(std::string_view host) const;

  const HostFacts& facts_;
  const HostIndex& hosts_;
  HostNames gpu_hosts_;
  std::vector<std::vector<uint32_t>> gpus_;  // by the number of the host; ascending
  HostNames node_names_;
  std::vector<std::vector<Place>> nodes_;  // by the number of the name; ascending
  std::map<IpAddress, std::vector<Holding>> at_;
  std::map<IpAddress, Nic> nics_;
  size_t count_ = 0;     // number of allocated nodes
  size_t unplaced_ = 0;  // nodes without a known address
};

}  // namespace rocescope
