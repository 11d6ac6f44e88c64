// SPDX-License-Identifier: BSD-3-Clause
// Which allocation of the scheduler a connection, or a job, belongs to. Internal to this folder.
//
// A connection between nodes of one allocation is that allocation's. Nodes may be shared: then the
// peer's node may leave one, else the GPUs do whose nearest NICs these are (rails). What several
// fit equally well is nobody's.
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

namespace rocescope {

// What being between an allocation's nodes is worth; no rule behind the numbers but their order. A
// node runs more than the job: storage, and what its operator starts.
inline constexpr double kAllocatedGpus = 0.99;   // and near its GPUs, at both ends
inline constexpr double kAllocatedNodes = 0.98;  // nobody else is at both ends
inline constexpr double kAllocatedShared = 0.9;  // the GPUs alone told it from others

// Of one allocation, at an address.
struct Holding {
  // Whether the address's NIC is the one nearest to a GPU of the allocation.
  enum class Nearness : uint8_t { kOther, kUnknown, kNear };

  uint32_t allocation = 0;  // index into HostFacts::allocations
  Nearness nearness = Nearness::kUnknown;
  int gpu = -1;  // its only GPU there
};

struct AllocationAnswer {
  std::optional<uint32_t> allocation;
  double confidence = 0;
  bool is_ambiguous = false;  // several fit
};

class AllocationIndex {
 public:
  // Keeps references.
  AllocationIndex(const HostFacts& facts, const HostIndex& hosts);

  bool empty() const { return facts_.allocations.empty(); }
  // By allocation, ascending.
  std::span<const Holding> At(const IpAddress& address) const;
  AllocationAnswer Of(const Connection& connection) const;
  // All of whose hosts, and of whose GPUs those that are known, are within the allocation. Several
  // may fit: then none, with a note.
  std::optional<uint32_t> Of(const Job& job, std::vector<std::string>& notes) const;

  struct Nic {
    std::string host;
    std::string device;  // empty: not known
  };
  // Whose address it is; null: nobody's or several hosts'.
  const Nic* NicAt(const IpAddress& address) const;
  // The fabric's, by its number; empty: not known.
  std::string PciOf(std::string_view host, int gpu) const;

  std::vector<std::string> Notes() const;

 private:
  struct Place {
    uint32_t allocation = 0;
    uint32_t node = 0;  // index into Allocation::nodes
  };

  void Add(const Place& place);
  std::vector<uint32_t> HoldersOf(const JobRank& rank) const;
  std::vector<const HostGpu*> GpusOf(std::string_view host) const;

  const HostFacts& facts_;
  const HostIndex& hosts_;
  std::map<std::string, std::vector<uint32_t>, std::less<>> gpus_;  // by HostKey
  std::map<std::string, std::vector<Place>, std::less<>> nodes_;    // by HostKey; ascending
  std::map<IpAddress, std::vector<Holding>> at_;
  std::map<IpAddress, Nic> nics_;
  size_t count_ = 0;     // of nodes
  size_t unplaced_ = 0;  // nodes of which nobody tells an address
};

}  // namespace rocescope
