// SPDX-License-Identifier: BSD-3-Clause
#include "topology/generate.h"

#include <fmt/format.h>

#include <utility>
#include <vector>

#include "topology/builder.h"
#include "topology/check.h"

namespace rocescope::topology {
namespace {

constexpr uint32_t kMaxHosts = 65'536;  // 10.n.0.1 to 10.(n+1).0.0
constexpr uint32_t kMaxPerHost = 64;    // NICs or GPUs
constexpr uint32_t kMaxSwitchPorts = 1024;

template <typename... Arguments>
tl::unexpected<Error> Refuse(fmt::format_string<Arguments...> format, Arguments&&... arguments) {
  return MakeError(ErrorCode::kInvalidArgument,
                   fmt::format(format, std::forward<Arguments>(arguments)...));
}

// The number of hosts that share a group of leaves, and the number of leaves in a group.
struct Groups {
  uint32_t leaves = 1;
  uint32_t hosts = 1;
};

uint32_t RoundedUp(uint32_t a, uint32_t b) { return a / b + (a % b != 0); }

class Generator {
 public:
  explicit Generator(const Blueprint& blueprint) : plan_(blueprint), builder_(blueprint.name) {}

  Result<Fabric::Parts> Run() {
    if (Status fits = CheckHost(); !fits) return tl::unexpected(fits.error());
    Result<Groups> groups = MakeSwitches();
    if (!groups) return tl::unexpected(groups.error());
    if (hosts_ > kMaxHosts) {
      return Refuse("{} hosts are too many; the maximum is {}", hosts_, kMaxHosts);
    }
    if (const uint64_t ports = Ports(); ports > kMaxPorts) {
      return Refuse("{} ports are too many; the maximum is {}", ports, kMaxPorts);
    }
    if (hosts_ * uint64_t{plan_.gpus_per_host.value_or(0)} > kMaxGpus) {
      return Refuse("too many GPUs; the maximum is {}", kMaxGpus);
    }
    if (Status names = CheckNames(); !names) return tl::unexpected(names.error());
    AddSwitches();
    AddHosts(*groups);
    LinkSwitches();
    return builder_.Build();
  }

 private:
  Status CheckHost() const {
    if (plan_.nics_per_host == 0 || plan_.nics_per_host > kMaxPerHost) {
      return Refuse("{} NICs per host; expected 1 to {}", plan_.nics_per_host, kMaxPerHost);
    }
    if (const uint32_t gpus = plan_.gpus_per_host.value_or(0); gpus > kMaxPerHost) {
      return Refuse("{} GPUs per host; expected 0 to {}", gpus, kMaxPerHost);
    }
    if (plan_.hosts == 0 && plan_.shape != Shape::kFatTree) {
      return Refuse("the number of hosts is missing");
    }
    return {};
  }

  // Determines the numbers of hosts and switches.
  Result<Groups> MakeSwitches() {
    switch (plan_.shape) {
      case Shape::kStar:
        return MakeStar();
      case Shape::kLeafSpine:
        return MakeLeafSpine();
      case Shape::kFatTree:
        return MakeFatTree();
    }
    return MakeError(ErrorCode::kInternal, "unknown shape");
  }

  Result<Groups> MakeStar() {
    leaves_ = 1;
    hosts_ = plan_.hosts;
    SetName("star");
    return Groups{.leaves = 1, .hosts = hosts_};
  }

  Result<Groups> MakeLeafSpine() {
    leaves_ = plan_.leaves;
    spines_ = plan_.spines;
    hosts_ = plan_.hosts;
    if (leaves_ == 0 || spines_ == 0 || plan_.parallel_links == 0) {
      return Refuse("leaf-spine needs at least one leaf, one spine and one link between them");
    }
    if (leaves_ > kMaxHosts || spines_ > kMaxSwitchPorts ||
        plan_.parallel_links > kMaxSwitchPorts) {
      return Refuse("{} leaves, {} spines, {} links between each are too many", leaves_, spines_,
                    plan_.parallel_links);
    }
    const Groups groups = {
        .leaves = LeavesOfGroup(),
        .hosts = RoundedUp(hosts_, leaves_ / std::min(leaves_, LeavesOfGroup()))};
    if (leaves_ % groups.leaves != 0) return RefuseRails(leaves_, "leaves");
    SetName("leaf-spine");
    return groups;
  }

  Result<Groups> MakeFatTree() {
    const uint32_t k = plan_.k;
    if (k < 2 || k % 2 != 0 || k > 64) {
      return Refuse("k is {}; a fat tree needs an even k from 2 to 64", k);
    }
    half_ = k / 2;
    leaves_ = spines_ = k * half_;
    cores_ = half_ * half_;
    const Groups groups = {.leaves = LeavesOfGroup(),
                           .hosts = plan_.rail_optimised ? half_ : half_ / plan_.nics_per_host};
    if (half_ % groups.leaves != 0) return RefuseRails(half_, "leaves in a pod");
    if (groups.hosts == 0) {
      return Refuse("{} NICs per host do not fit on a leaf with {} ports towards hosts",
                    plan_.nics_per_host, half_);
    }
    const uint32_t room = leaves_ / groups.leaves * groups.hosts;
    hosts_ = plan_.hosts == 0 ? room : plan_.hosts;
    if (hosts_ > room) {
      return Refuse(
          "{} hosts do not fit: a fat tree with k {} connects at most {} hosts with {} NICs each",
          hosts_, k, room, plan_.nics_per_host);
    }
    SetName("fat-tree");
    return groups;
  }

  tl::unexpected<Error> RefuseRails(uint32_t leaves, std::string_view what) const {
    return Refuse("{} {} cannot be divided evenly among {} rails", leaves, what,
                  plan_.nics_per_host);
  }

  uint32_t LeavesOfGroup() const { return plan_.rail_optimised ? plan_.nics_per_host : 1; }

  void SetName(std::string_view shape) {
    if (builder_.parts().name.empty()) builder_.parts().name = shape;
  }

  uint64_t Ports() const {
    const uint64_t fabric_links = cores_ > 0 ? uint64_t{leaves_} * half_ * 2
                                             : uint64_t{leaves_} * spines_ * plan_.parallel_links;
    return 2 * (fabric_links + uint64_t{hosts_} * plan_.nics_per_host);
  }

  Status CheckNames() const {
    const auto check = [](const std::vector<std::string>& names, uint32_t count,
                          std::string_view what) -> Status {
      if (names.empty() || names.size() == count) return {};
      return Refuse("{} names for {} {}", names.size(), count, what);
    };
    if (Status hosts = check(plan_.host_names, hosts_, "hosts"); !hosts) return hosts;
    if (Status leaves = check(plan_.leaf_names, leaves_, "leaves"); !leaves) return leaves;
    if (Status spines = check(plan_.spine_names, spines_, "spines"); !spines) return spines;
    return check(plan_.core_names, cores_, "cores");
  }

  static std::string NameOf(const std::vector<std::string>& names, Tier tier, uint32_t number) {
    return names.empty() ? fmt::format("{}{}", topology::NameOf(tier), number) : names[number];
  }

  void AddSwitches() {
    const auto add = [this](Tier tier, uint32_t count, uint32_t per_pod,
                            const std::vector<std::string>& names) {
      for (uint32_t i = 0; i < count; ++i) {
        const uint32_t id = ++switches_;
        const IpAddress loopback = IpAddress::FromV4(0xac100000u + id);
        builder_.AddNode({.name = NameOf(names, tier, i),
                          .tier = tier,
                          .pod = per_pod == 0 ? kNone : i / per_pod,
                          .erspan_source = loopback,
                          .sflow_agent = loopback,
                          .int_switch_id = id});
      }
    };
    add(Tier::kLeaf, leaves_, half_, plan_.leaf_names);
    add(Tier::kSpine, spines_, half_, plan_.spine_names);
    add(Tier::kCore, cores_, 0, plan_.core_names);
  }

  void AddHosts(const Groups& groups) {
    const uint32_t gpus = plan_.gpus_per_host.value_or(plan_.nics_per_host);
    for (uint32_t h = 0; h < hosts_; ++h) {
      const NodeIndex host =
          builder_.AddNode({.name = NameOf(plan_.host_names, Tier::kHost, h), .tier = Tier::kHost});
      std::vector<NicIndex> nics;
      for (uint32_t n = 0; n < plan_.nics_per_host; ++n) {
        nics.push_back(builder_.AddNic(
            {.host = host,
             .device = fmt::format("mlx5_{}", n),
             .pci = Pci(n, 0x08),
             .rail = n,
             .addresses = {{.address = IpAddress::FromV4(0x0a000000u + (n << 16) + h + 1)}}}));
        const uint32_t leaf = h / groups.hosts * groups.leaves + n % groups.leaves;
        const PortIndex port = builder_.parts().nics.back().port;
        builder_.AddLink(port, builder_.AddNextPort(leaf), plan_.host_bits_per_second,
                         plan_.host_delay);
      }
      for (uint32_t g = 0; g < gpus; ++g) {
        const uint32_t n = g * plan_.nics_per_host / gpus;
        builder_.AddGpu(
            {.host = host, .number = g, .pci = Pci(g, 0x0b), .rail = n, .nic = nics[n]});
      }
    }
  }

  // Devices of one kind are eight buses apart; the first one is at `bus`.
  static std::string Pci(uint32_t number, uint32_t bus) {
    return fmt::format("{:04x}:{:02x}:00.0", number / 16, bus + number % 16 * 8);
  }

  void LinkSwitches() {
    const NodeIndex first_spine = leaves_;
    if (cores_ == 0) {
      for (uint32_t leaf = 0; leaf < leaves_; ++leaf) {
        for (uint32_t spine = 0; spine < spines_; ++spine) {
          for (uint32_t i = 0; i < plan_.parallel_links; ++i) LinkUp(leaf, first_spine + spine);
        }
      }
      return;
    }
    for (uint32_t leaf = 0; leaf < leaves_; ++leaf) {
      const NodeIndex pod = first_spine + leaf / half_ * half_;
      for (uint32_t i = 0; i < half_; ++i) LinkUp(leaf, pod + i);
    }
    const NodeIndex first_core = leaves_ + spines_;
    for (uint32_t spine = 0; spine < spines_; ++spine) {
      const NodeIndex plane = first_core + spine % half_ * half_;
      for (uint32_t i = 0; i < half_; ++i) LinkUp(first_spine + spine, plane + i);
    }
  }

  void LinkUp(NodeIndex lower, NodeIndex upper) {
    const PortIndex below = builder_.AddNextPort(lower);
    builder_.AddLink(below, builder_.AddNextPort(upper), plan_.fabric_bits_per_second,
                     plan_.fabric_delay);
  }

  const Blueprint& plan_;
  Builder builder_;
  uint32_t hosts_ = 0;
  uint32_t leaves_ = 0;
  uint32_t spines_ = 0;
  uint32_t cores_ = 0;
  uint32_t half_ = 0;  // half of a fat tree's k
  uint32_t switches_ = 0;
};

}  // namespace

Result<Fabric::Parts> GenerateParts(const Blueprint& blueprint) {
  return Generator(blueprint).Run();
}

Result<Fabric> Generate(const Blueprint& blueprint) {
  auto parts = GenerateParts(blueprint);
  if (!parts) return tl::unexpected(parts.error());
  return Fabric::Make(*std::move(parts));
}

}  // namespace rocescope::topology
