// SPDX-License-Identifier: BSD-3-Clause
// Readers of single values and of the sections of a plan. They add errors to a list.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "base/text/yaml_fields.h"
#include "base/time.h"
#include "testbeds/ovs_lab/endpoint/job_plan.h"
#include "testbeds/ovs_lab/endpoint/pacer.h"
#include "testbeds/ovs_lab/endpoint/queue_pair.h"
#include "topology/fabric.h"

namespace rocescope::endpoint {

// Reads the keys of one map. A key that only the simulator supports is an error.
class PlanMap {
 public:
  PlanMap(const topology::YamlNode& node, std::string_view what,
          std::initializer_list<std::string_view> keys,
          std::initializer_list<std::string_view> unsupported, topology::YamlErrors& errors);

  const topology::YamlNode* Find(std::string_view key) const { return map_.Find(key); }
  const topology::YamlNode* Require(std::string_view key) const { return map_.Require(key); }

  // Each leaves the value unchanged if the key is missing or invalid.
  void Number(std::string_view key, uint64_t least, uint64_t most, uint32_t& value) const;
  void Number(std::string_view key, uint64_t least, uint64_t most, uint64_t& value) const;
  void Flag(std::string_view key, bool& value) const;
  void Text(std::string_view key, std::string& value) const;
  void Real(std::string_view key, double least, double most, double& value) const;
  void Time(std::string_view key, Duration least, Duration& value) const;
  void Size(std::string_view key, uint64_t most, uint64_t& value) const;
  void Speed(std::string_view key, double& value) const;

 private:
  topology::YamlMap map_;
  topology::YamlErrors& errors_;
};

JobOptions ReadJob(const topology::YamlNode& node, const topology::Fabric& fabric, uint64_t number,
                   topology::YamlErrors& errors);
// `network` of a plan. `connect_timeout` and `random_first_psn` are outputs too.
void ReadNetwork(const topology::YamlNode& node, TransportOptions& transport,
                 Duration& connect_timeout, bool& random_first_psn, topology::YamlErrors& errors);
// "20M" (bit/s) or "1500pps" (packets per second).
Result<RateLimit> ParseRateLimit(std::string_view text);

}  // namespace rocescope::endpoint
