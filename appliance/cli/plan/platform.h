// SPDX-License-Identifier: BSD-3-Clause
// What switches of a vendor can mirror and sample, as far as a plan depends on it.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace rocescope::plan {

enum class Vendor : uint8_t { kNone, kSonic, kEos, kNxos };

struct Platform {
  Vendor vendor = Vendor::kNone;
  std::string_view word;   // on the command line
  std::string_view title;  // in sentences
  uint8_t erspan = 3;      // type of its copies' header
  bool erspan_is_fixed = true;
  bool names_port = false;          // the header says which port
  uint32_t truncation = 128;        // octets kept if nothing else is asked for; 0: all
  bool truncates_unsampled = true;  // else only where it also samples
  bool samples_mirrors = false;
  bool sflow_rate_per_port = false;
  bool sflow_beside_mirrors = true;
  uint32_t sflow_directions = 1;  // 2: samples what enters and what leaves
  uint64_t sflow_least = 1;       // bounds of "one packet in"
  uint64_t sflow_most = 16'777'216;
  uint32_t polling_least = 1;  // seconds
  uint32_t polling_most = 3600;
  std::span<const std::string_view> limits;  // sentences for its operator
};

const Platform& PlatformOf(Vendor vendor);
// By the command line's word; none if there is no such.
std::optional<Vendor> VendorOf(std::string_view word);

}  // namespace rocescope::plan
