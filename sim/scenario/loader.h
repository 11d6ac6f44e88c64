// SPDX-License-Identifier: BSD-3-Clause
// The reader of scenarios. load.cc reads most sections; load_fault.cc reads faults; load_benign.cc
// reads benign events and what happens to jobs in addition to their iterations; load_limits.cc
// checks what would take too much time or memory.
#pragma once

#include <fmt/format.h>

#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/text/yaml_fields.h"
#include "sim/scenario/scenario.h"

namespace rocescope::sim {

using topology::YamlErrors;
using topology::YamlMap;
using topology::YamlNode;

inline constexpr size_t kMostNames = 1u << 20;               // in one range of names
inline constexpr uint64_t kLargestSize = uint64_t{1} << 40;  // bytes
inline constexpr SimTime kShortestPeriod = kMicrosecond;     // minimum period of recurring events

// Reads the sections of a scenario; collects errors in `errors_`.
class Loader {
 public:
  explicit Loader(std::string_view file) : file_(file), errors_(std::string(file)) {}

  // `seed` and `model_to_run` override those of the file.
  Result<Scenario> Load(const YamlNode& root, std::optional<uint64_t> seed,
                        std::optional<Model> model_to_run);

 private:
  // Parses the key's value if the key is present; otherwise leaves `value` unchanged.
  template <typename T>
  void Number(const YamlMap& map, std::string_view key, uint64_t least, uint64_t most, T& value) {
    const YamlNode* node = map.Find(key);
    if (node == nullptr) return;
    if (const auto read = ReadNumber(*node, least, most, errors_)) value = static_cast<T>(*read);
  }
  void Flag(const YamlMap& map, std::string_view key, bool& value) {
    const YamlNode* node = map.Find(key);
    if (node != nullptr) value = ReadBool(*node, errors_).value_or(value);
  }
  void Text(const YamlMap& map, std::string_view key, std::string& value) {
    const YamlNode* node = map.Find(key);
    if (node == nullptr) return;
    if (const auto read = ReadText(*node, errors_)) value = std::string(*read);
  }
  template <typename Parse, typename T>
  void Parsed(const YamlMap& map, std::string_view key, Parse parse, T& value) {
    const YamlNode* node = map.Find(key);
    if (node == nullptr) return;
    const auto read = ReadParsed(*node, parse, errors_);
    if (!read) return;
    if constexpr (std::is_integral_v<T> && std::is_integral_v<std::decay_t<decltype(*read)>>) {
      if (!std::in_range<T>(*read)) {
        errors_.Add(*node,
                    fmt::format("{} must be at most {}", key, std::numeric_limits<T>::max()));
        return;
      }
    }
    value = static_cast<T>(*read);
  }
  void Ratio(const YamlMap& map, std::string_view key, double least, double most, double& value) {
    Parsed(
        map, key, [least, most](std::string_view text) { return ParseReal(text, least, most); },
        value);
  }
  void Message(const YamlMap& map, uint64_t& bytes) {
    Parsed(map, "message", ParseSize, bytes);
    if (bytes > 0 && bytes <= uint64_t{1} << 40) return;
    errors_.Add(*map.Find("message"), "message must be from 1 byte to 1024G");
  }
  static Result<double> ParseReal(std::string_view text, double least, double most);

  Status ReadFabric(const YamlNode& node);
  void ReadNetwork(const YamlNode& node);
  void ReadDcqcn(const YamlNode& node);
  void ReadTelemetry(const YamlNode& node);
  void ReadSflow(const YamlMap& map);
  void ReadOverrides(const YamlNode& node);
  void ReadJob(const YamlNode& node);
  // `local`: by rank, the index of its GPU on its host.
  void ReadPhases(const YamlNode& node, std::string_view owner, const std::vector<uint32_t>& local,
                  std::vector<JobOptions::Phase>& phases);
  void ReadPhase(const YamlNode& node, const std::vector<uint32_t>& local,
                 std::vector<JobOptions::Phase>& phases);
  void ReadGroups(const YamlNode& node, const std::vector<uint32_t>& local,
                  JobOptions::Phase& phase);
  void ReadBreaks(const YamlMap& map, const std::vector<uint32_t>& local, JobOptions& job);
  void ReadInterlude(const YamlNode& node, const std::vector<uint32_t>& local, JobOptions& job);
  void ReadCheckpoint(const YamlNode& node, JobOptions& job);
  void ReadRestart(const YamlNode& node, JobOptions& job);
  // load_limits.cc
  void CheckRunTimes(const YamlMap& map, const JobOptions& job);
  void CheckRepeated(const YamlNode& node, const FaultOptions& fault);
  void CheckOverlap(const YamlNode& node, const MaintenanceOptions& work);
  void CheckGpus(const YamlNode& node, const JobOptions& job);
  SimTime ShortestIteration(const JobOptions& job) const;
  void CheckIterations(const YamlNode& node, const JobOptions& job);
  void CheckLinkErrors(const YamlMap& map);
  void CheckMicrobursts(const YamlNode& node);
  void ReadBenign(const YamlNode& node);
  RatioRange ReadRange(const YamlMap& map, std::string_view key, double limit);
  void ReadMaintenance(const YamlNode& node);
  void ReadForeign(const YamlNode& node);
  void ReadStream(const YamlNode& node);
  void ReadFault(const YamlNode& node);
  void ReadEvery(const YamlMap& map, const YamlNode& node, FaultOptions& fault);
  void RepeatFaults();
  void ReadPlace(const YamlMap& map, FaultOptions& fault);
  void CheckParameters(const YamlMap& map, FaultKind kind);
  void CheckMagnitude(const YamlMap& map, const FaultOptions& fault);
  void CheckCabling(const YamlNode& node, const FaultOptions& fault);
  // load_effects.cc
  uint32_t LongestIpPacket() const;
  void CheckEffect(const YamlNode& node, const FaultOptions& fault);

  topology::NodeIndex SwitchAt(const YamlNode& node);
  topology::NodeIndex Host(const YamlNode& node, std::string_view name);
  std::optional<topology::NicIndex> NicAt(const YamlNode& node, std::string_view text);
  std::optional<topology::GpuIndex> GpuAt(const YamlNode& node, std::string_view text);
  std::optional<topology::PortIndex> PortAt(const YamlNode& node, std::string_view text);
  std::vector<topology::NicIndex> NicsAt(const YamlNode& node);
  bool IsPlugged(topology::NicIndex nic) const {
    return scenario_.fabric->port(scenario_.fabric->nic(nic).port).link != topology::kNone;
  }
  std::string DidYouMeanNode(std::string_view name) const;

  const std::string file_;
  YamlErrors errors_;
  Scenario scenario_;
};

}  // namespace rocescope::sim
