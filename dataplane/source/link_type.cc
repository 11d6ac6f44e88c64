// SPDX-License-Identifier: BSD-3-Clause
#include "dataplane/source/link_type.h"

#include <fmt/format.h>
#include <pcap/pcap.h>

namespace rocescope {

Result<LinkType> LinkTypeFromNumber(int number, const std::string& capture) {
  switch (number) {
    case static_cast<int>(LinkType::kEthernet):
      return LinkType::kEthernet;
    case 12:  // DLT_RAW on Linux, which some old files contain
    case static_cast<int>(LinkType::kRawIp):
      return LinkType::kRawIp;
    case static_cast<int>(LinkType::kLinuxCooked):
      return LinkType::kLinuxCooked;
    case static_cast<int>(LinkType::kIpv4):
      return LinkType::kIpv4;
    case static_cast<int>(LinkType::kIpv6):
      return LinkType::kIpv6;
    case static_cast<int>(LinkType::kLinuxCooked2):
      return LinkType::kLinuxCooked2;
    default:
      break;
  }
  const char* description = pcap_datalink_val_to_description(number);
  return MakeError(
      ErrorCode::kInvalidArgument,
      fmt::format("{}: link type {} ({}) is not supported; expected Ethernet (1), raw IP (101, "
                  "228, 229) or Linux cooked (113, 276): capture on an Ethernet interface",
                  capture, number, description != nullptr ? description : "unknown"));
}

}  // namespace rocescope
