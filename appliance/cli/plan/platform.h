// SPDX-License-Identifier: BSD-3-Clause
// Mirroring and sampling capabilities of a vendor's switches, as far as a plan depends on them.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace rocescope::plan {

enum class Vendor : uint8_t { kNone, kSonic, kEos, kNxos };

struct Platform {
  Vendor vendor = Vendor::kNone;
  std::string_view word;   // name on the command line
  std::string_view title;  // name in sentences
  uint8_t erspan = 3;      // ERSPAN type of its copies
  bool erspan_is_fixed = true;
  bool names_port = false;          // whether the header contains the port
  uint32_t truncation = 128;        // default number of bytes to keep; 0: all
  bool truncates_unsampled = true;  // false: truncates only sampled copies
  bool samples_mirrors = false;
  bool sflow_rate_per_port = false;
  bool sflow_beside_mirrors = true;
  uint32_t sflow_directions = 1;  // 2: samples ingress and egress
  uint64_t sflow_least = 1;       // bounds of the sampling divisor
  uint64_t sflow_most = 16'777'216;
  uint32_t polling_least = 1;  // seconds
  uint32_t polling_most = 3600;
  std::string_view port_form;                // an example of a port name in its configuration
  std::string_view ports_command;            // lists the names of the ports
  std::span<const std::string_view> limits;  // notes for the operator
};

const Platform& PlatformOf(Vendor vendor);
// Looks up the name on the command line; null if it is unknown.
std::optional<Vendor> VendorOf(std::string_view word);

}  // namespace rocescope::plan
