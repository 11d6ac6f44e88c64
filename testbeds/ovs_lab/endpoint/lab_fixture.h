// SPDX-License-Identifier: BSD-3-Clause
// A small fabric and plans for tests.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "testbeds/ovs_lab/endpoint/lab_plan.h"
#include "topology/generate.h"

namespace rocescope::endpoint {

inline constexpr Timestamp kStart = FromNanoseconds(1'800'000'000'000'000'000);

// Hosts host0... with the addresses 10.n.0.1...
inline topology::Fabric MakeFabric(uint32_t hosts, uint32_t nics = 1, uint32_t gpus = 1) {
  return topology::Generate({.hosts = hosts,
                             .nics_per_host = nics,
                             .gpus_per_host = gpus,
                             .leaves = 2,
                             .spines = 2})
      .value();
}

inline LabPlan MakePlan(const std::string& text, topology::Fabric fabric) {
  auto plan = ParseLabPlan(text, "plan.yaml", std::move(fabric));
  if (!plan) {
    ADD_FAILURE() << plan.error().message;
    return {};
  }
  return *std::move(plan);
}

}  // namespace rocescope::endpoint
