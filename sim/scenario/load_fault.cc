// SPDX-License-Identifier: BSD-3-Clause
// Reads faults.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <set>
#include <utility>

#include "sim/fault/cables.h"
#include "sim/fault/fault_parameter.h"
#include "sim/fault/valley.h"
#include "sim/scenario/loader.h"

namespace rocescope::sim {
namespace {

// Indexed by PlaceKind.
constexpr std::string_view kLocations[] = {"link: NODE:PORT or sender: NODE:PORT", "switch: NAME",
                                           "nic: HOST:DEVICE", "gpu: HOST:NUMBER"};

}  // namespace

void Loader::ReadFault(const YamlNode& node) {
  const YamlMap map(
      node, "a fault",
      {"kind",        "onset",   "duration",    "link",  "sender",       "switch",
       "nic",         "gpu",     "probability", "burst", "least_length", "factor",
       "delay",       "period",  "rate",        "mtu",   "alpha",        "ecn_minimum",
       "ecn_maximum", "senders", "message",     "other", "growth",       "every"},
      errors_);
  FaultOptions fault;
  const YamlNode* kind = map.Require("kind");
  if (kind == nullptr) return;
  std::array<std::string_view, kFaultKinds> names;
  for (size_t i = 0; i < kFaultKinds; ++i) names[i] = kFaultInfos[i].name;
  const auto choice = ReadChoice(*kind, names, errors_);
  if (!choice) return;
  fault.kind = static_cast<FaultKind>(*choice);
  CheckParameters(map, fault.kind);
  if (fault.kind == FaultKind::kSwappedCables &&
      (map.Find("onset") != nullptr || map.Find("duration") != nullptr ||
       map.Find("every") != nullptr)) {
    errors_.Add(
        node, "swapped_cables lasts for the whole run: onset, duration and every are not allowed");
  }
  Parsed(map, "onset", ParseSimTime, fault.onset);
  Parsed(map, "duration", ParseSimTime, fault.duration);
  if (fault.duration == 0) errors_.Add(node, "a fault's duration must be above 0");
  if (fault.onset >= scenario_.duration) {
    errors_.Add(node,
                "the fault starts after the run: its onset must be before the scenario's "
                "duration");
  }
  if (const YamlNode* every = map.Find("every")) ReadEvery(map, *every, fault);
  Ratio(map, "probability", 0, 1, fault.probability);
  Ratio(map, "burst", 1, 1e6, fault.burst);
  Number(map, "least_length", 0, 65'535, fault.least_length);
  Ratio(map, "factor", 1e-3, 1e3, fault.factor);
  Parsed(map, "delay", ParseSimTime, fault.delay);
  Parsed(map, "period", ParseSimTime, fault.period);
  Parsed(map, "rate", topology::ParseSpeed, fault.rate);
  Number(map, "mtu", 256, 9216, fault.mtu);
  Ratio(map, "alpha", 1e-6, 64, fault.alpha);
  Parsed(map, "ecn_minimum", ParseSize, fault.ecn_minimum);
  Parsed(map, "ecn_maximum", ParseSize, fault.ecn_maximum);
  Message(map, fault.message);
  Ratio(map, "growth", 1e-6, 1, fault.growth);
  CheckMagnitude(map, fault);
  if (const YamlNode* senders = map.Find("senders")) fault.senders = NicsAt(*senders);
  ReadPlace(map, fault);
  CheckRepeated(node, fault);
  scenario_.faults.push_back(std::move(fault));
}

void Loader::ReadEvery(const YamlMap& map, const YamlNode& node, FaultOptions& fault) {
  constexpr SimTime kMostOccurrences = 20'000;
  Parsed(map, "every", ParseSimTime, fault.every);
  if (fault.duration >= fault.every) {
    errors_.Add(node, "a recurring fault needs a duration that is shorter than every");
  } else if (scenario_.duration / fault.every >= kMostOccurrences) {
    errors_.Add(node, fmt::format("the fault would occur more than {} times: use a longer time for "
                                  "every, or a shorter duration of the scenario",
                                  kMostOccurrences));
  }
}

// Adds the further occurrences of the recurring faults, each as a fault of its own.
void Loader::RepeatFaults() {
  const size_t read = scenario_.faults.size();
  for (size_t i = 0; i < read; ++i) {
    const SimTime every = std::exchange(scenario_.faults[i].every, 0);
    if (every == 0) continue;
    FaultOptions next = scenario_.faults[i];
    for (next.onset += every; next.onset < scenario_.duration; next.onset += every) {
      scenario_.faults.push_back(next);
    }
  }
}

// A parameter without an effect is an error.
void Loader::CheckParameters(const YamlMap& map, FaultKind kind) {
  const FaultInfo& info = InfoOf(kind);
  const std::vector<std::string_view> own = ParametersOf(kind);
  const auto has = [&](std::string_view key) { return std::ranges::find(own, key) != own.end(); };
  for (const FaultParameter& parameter : FaultParameters()) {
    const YamlNode* const node = map.Find(parameter.name);
    if (node == nullptr || has(parameter.name) || parameter.name == "nic") continue;
    errors_.Add(*node, fmt::format("{} has no {}: its parameters are {}", info.name, parameter.name,
                                   own.empty() ? "onset and duration"
                                               : fmt::to_string(fmt::join(own, ", "))));
  }
  const YamlNode* const sender = map.Find("sender");
  const bool is_link = info.place == PlaceKind::kLink;
  if (sender != nullptr && is_link && map.Find("link") != nullptr) {
    errors_.Add(*sender, "a fault has one location: link or sender");
  } else if (sender != nullptr && is_link && !HasDirection(kind)) {
    errors_.Add(*sender, fmt::format("{} affects both directions of the link: use link instead of "
                                     "sender",
                                     info.name));
  }
  constexpr std::pair<std::string_view, PlaceKind> kPlaces[] = {{"link", PlaceKind::kLink},
                                                                {"sender", PlaceKind::kLink},
                                                                {"switch", PlaceKind::kSwitch},
                                                                {"nic", PlaceKind::kNic},
                                                                {"gpu", PlaceKind::kGpu}};
  for (const auto& [key, place] : kPlaces) {
    const YamlNode* const node = map.Find(key);
    if (node == nullptr || place == info.place || has(key)) continue;
    errors_.Add(*node, fmt::format("{} needs a location: {}, not {}", info.name,
                                   kLocations[static_cast<size_t>(info.place)], key));
  }
}

// A fault without any effect is an error, not a healthy run.
void Loader::CheckMagnitude(const YamlMap& map, const FaultOptions& fault) {
  const auto refuse = [&](std::string_view why) {
    errors_.Add(map.node(), fmt::format("{}: {}", InfoOf(fault.kind).name, why));
  };
  if (fault.kind == FaultKind::kFlap && fault.period < 2 * kShortestPeriod) {
    refuse("period must be at least 2us");
  }
  if (map.Find("probability") != nullptr && fault.probability <= 0) {
    refuse("probability must be above 0");
  }
  if (fault.kind == FaultKind::kDegradedRate && fault.factor >= 1) {
    refuse("factor is the remaining fraction of the rate and must be below 1");
  }
  if (fault.kind == FaultKind::kStraggler && map.Find("factor") != nullptr && fault.factor <= 1) {
    refuse("factor multiplies the compute time and must be above 1");
  }
  const bool has_delay =
      fault.kind == FaultKind::kAddedLatency || fault.kind == FaultKind::kReordering;
  if (has_delay && fault.delay <= 0) {
    refuse("delay must be above 0");
  }
  if (fault.delay > kMostAddedDelay) refuse("delay must be at most 1s");
  if (fault.rate < kLeastReceiverRate) refuse("rate must be at least 1M (bit/s)");
  if (fault.kind == FaultKind::kMisconfiguredEcn && fault.ecn_minimum > fault.ecn_maximum) {
    refuse("ecn_minimum must not be above ecn_maximum");
  }
  if (fault.kind == FaultKind::kPolarisation && scenario_.network.switches.spray) {
    refuse("this fault has no effect because the switches spray packets (network: spray)");
  }
}

void Loader::ReadPlace(const YamlMap& map, FaultOptions& fault) {
  const auto text = [&](const YamlNode& node) { return ReadText(node, errors_).value_or(""); };
  if (const YamlNode* link = map.Find("link")) {
    if (const auto port = PortAt(*link, text(*link))) {
      fault.link = scenario_.fabric->port(*port).link;
      if (fault.kind == FaultKind::kSwappedCables) fault.swapped[0] = *port;
    }
  }
  if (const YamlNode* other = map.Find("other")) {
    fault.swapped[1] = PortAt(*other, text(*other)).value_or(topology::kNone);
  }
  if (const YamlNode* sender = map.Find("sender")) {
    if (const auto port = PortAt(*sender, text(*sender))) {
      fault.sender = *port;
      fault.link = scenario_.fabric->port(*port).link;
    }
  }
  if (const YamlNode* at = map.Find("switch")) fault.node = SwitchAt(*at);
  if (const YamlNode* nic = map.Find("nic")) {
    fault.nic = NicAt(*nic, text(*nic)).value_or(topology::kNone);
  }
  if (const YamlNode* gpu = map.Find("gpu")) {
    fault.gpu = GpuAt(*gpu, text(*gpu)).value_or(topology::kNone);
  }
  if (!errors_.empty()) return;
  const bool missing[] = {fault.link == topology::kNone, fault.node == topology::kNone,
                          fault.nic == topology::kNone, fault.gpu == topology::kNone};
  const FaultInfo& info = InfoOf(fault.kind);
  const auto place = static_cast<size_t>(info.place);
  if (missing[place]) {
    errors_.Add(map.node(), fmt::format("{} needs a location: {}", info.name, kLocations[place]));
  }
  const bool sends = fault.kind == FaultKind::kIncast || fault.kind == FaultKind::kNoisyNeighbour;
  if (sends && fault.senders.empty()) {
    errors_.Add(map.node(), fmt::format("{} needs senders: HOST:DEVICE,...", info.name));
  }
  const std::set<topology::NicIndex> different(fault.senders.begin(), fault.senders.end());
  if (sends && different.size() < fault.senders.size()) {
    errors_.Add(*map.Find("senders"),
                fmt::format("{}: a sender is listed twice: list each NIC once", info.name));
  }
  if (sends && std::ranges::find(fault.senders, fault.nic) != fault.senders.end()) {
    errors_.Add(map.node(),
                fmt::format("{}: the receiving NIC must not be one of the senders", info.name));
  }
  if (fault.kind == FaultKind::kBlackhole && fault.nic == topology::kNone) {
    errors_.Add(map.node(),
                "blackhole needs the destination whose traffic is lost: nic: HOST:DEVICE");
  }
  if (errors_.empty()) CheckCabling(map.node(), fault);
}

// Checks kinds that need more than an existing location.
void Loader::CheckCabling(const YamlNode& node, const FaultOptions& fault) {
  if (fault.kind == FaultKind::kPfcDeadlock) {
    const auto loop = FindValleyLoop(*scenario_.fabric, fault.link);
    if (!loop) errors_.Add(node, loop.error().message);
  }
  if (fault.kind == FaultKind::kSwappedCables) {
    if (fault.swapped[0] == topology::kNone || fault.swapped[1] == topology::kNone) {
      errors_.Add(node, "swapped_cables needs two ports: link: NODE:PORT and other: NODE:PORT");
      return;
    }
    const auto swapped = SwapCables(*scenario_.fabric, fault.swapped);
    if (!swapped) errors_.Add(node, swapped.error().message);
  }
}

}  // namespace rocescope::sim
