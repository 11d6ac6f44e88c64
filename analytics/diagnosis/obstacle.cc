// SPDX-License-Identifier: BSD-3-Clause
#include "analytics/diagnosis/obstacle.h"

#include <algorithm>
#include <set>
#include <vector>

#include "analytics/diagnosis/diagnosis_input.h"

namespace rocescope {
namespace {

void CountAddresses(const DiagnosisInput& input, Hindrance& hindrance) {
  std::set<topology::NicAddress> addresses;
  for (const FlowSummary& flow : input.parts().flows) {
    addresses.insert({.segment = flow.flow.segment, .address = flow.flow.source});
    addresses.insert({.segment = flow.flow.segment, .address = flow.flow.destination});
  }
  hindrance.addresses = static_cast<uint32_t>(addresses.size());
  hindrance.addresses_known =
      static_cast<uint32_t>(std::ranges::count_if(addresses, [&](const auto& address) {
        return input.fabric().FindNic(address) != topology::kNone;
      }));
}

// Whether packets and counter readings do not overlap in time.
bool AreOfOtherTimes(const DiagnosisInput& input) {
  if (input.windows() == 0 || input.parts().flows.empty()) return false;
  Timestamp first = Timestamp::max();
  Timestamp last = Timestamp::min();
  for (const FlowSummary& flow : input.parts().flows) {
    first = std::min(first, flow.total.first_seen);
    last = std::max(last, flow.total.last_seen);
  }
  return last < input.BeginOf(0) || first > input.EndOf(input.windows() - 1);
}

// Whether most windows have no reading of their own.
bool IsSparse(const DiagnosisInput& input) {
  return 2 * input.reading_period() > 3 * input.parts().metrics.window();
}

ReadingClass ReadingClassOf(const DiagnosisInput& input) {
  if (input.windows() == 0) return ReadingClass::kNone;
  if (IsSparse(input)) return ReadingClass::kSparse;
  return input.DoMostCoincide() ? ReadingClass::kSimultaneous : ReadingClass::kEachWindow;
}

// Whether so many links are contradicted that the topology is the likely cause. A few swapped
// cables contradict two to six.
bool IsOfAnotherFabric(const Hindrance& hindrance) {
  constexpr uint32_t kMany = 8;
  return hindrance.links_contradicted >= kMany &&
         3 * hindrance.links_contradicted >= hindrance.links_confirmed;
}

}  // namespace

Hindrance HindranceTo(const DiagnosisInput& input) {
  Hindrance hindrance;
  CountAddresses(input, hindrance);
  hindrance.reading_period = input.reading_period();
  hindrance.readings = ReadingClassOf(input);
  hindrance.links_confirmed = static_cast<uint32_t>(input.parts().cabling.confirmed);
  hindrance.links_contradicted = static_cast<uint32_t>(input.parts().cabling.contradicted);
  const auto nics = input.fabric().nics();
  const auto with_address =
      std::ranges::count_if(nics, [](const topology::Nic& nic) { return !nic.addresses.empty(); });
  const bool says_addresses = 2 * static_cast<size_t>(with_address) > nics.size();
  if ((says_addresses && 2 * hindrance.addresses_known < hindrance.addresses) ||
      IsOfAnotherFabric(hindrance)) {
    hindrance.obstacle = Obstacle::kForeignTopology;
  } else if (IsSparse(input)) {
    hindrance.obstacle = Obstacle::kSparseReadings;
  } else if (AreOfOtherTimes(input)) {
    hindrance.obstacle = Obstacle::kOtherTime;
  } else if (input.windows() > 0 && input.windows() < kEnoughWindows) {
    hindrance.obstacle = Obstacle::kFewWindows;
  }
  return hindrance;
}

}  // namespace rocescope
