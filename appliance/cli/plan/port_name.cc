// SPDX-License-Identifier: BSD-3-Clause
// Sources:
// NX-OS: Cisco Nexus 9000 Series NX-OS Interfaces Configuration Guide (Release 10.5(x)),
//   "Configuring Basic Interface Parameters": `interface ethernet slot/port`, and slot/port/lane
//   with breakout; slot 1 has all ports of a fixed switch. Numbers begin at 1. Configuration Guide
//   of the Nexus 2000: chassis/slot/port.
// EOS: Arista EOS User Manual, "Ethernet Ports" and "Layer 1 Profiles": Ethernet1 or Ethernet1/1
//   (port/lane) on fixed switches, Ethernet3/1/1 (card/port/lane) on modular ones. Numbers begin
//   at 1.
// SONiC: sonic-net/sonic-buildimage device/*/port_config.ini: EthernetN, where N is the number of
//   the first lane, so that ports of four lanes are Ethernet0, Ethernet4 and so on. Other names,
//   such as etp1 or Eth1/1, are aliases, which the command line refuses unless the interface naming
//   mode is `alias` (sonic-utilities doc/Command-Reference.md, "Interface Naming Mode"). eth0 is
//   the management port.
#include "appliance/cli/plan/port_name.h"

#include <algorithm>
#include <map>

namespace rocescope::plan {
namespace {

using std::string_view;

constexpr size_t kMostDigits = 4;

std::string Lower(string_view text) {
  std::string lower(text);
  std::ranges::transform(lower, lower.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  return lower;
}

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

struct Parts {
  string_view letters;
  string_view numbers;    // "1/2"
  size_t count = 0;       // of numbers; 0: not numbers with / between them
  bool has_zero = false;  // one of them is 0
};

Parts Split(string_view name) {
  const auto digit = std::ranges::find_if(name, IsDigit);
  const auto at = static_cast<size_t>(digit - name.begin());
  Parts parts = {.letters = name.substr(0, at), .numbers = name.substr(at)};
  string_view rest = parts.numbers;
  while (!rest.empty()) {
    const string_view number = rest.substr(0, rest.find('/'));
    // Leading zeros are no form of any platform.
    if (number.empty() || number.size() > kMostDigits || !std::ranges::all_of(number, IsDigit) ||
        (number.size() > 1 && number.front() == '0')) {
      return {.letters = parts.letters, .numbers = parts.numbers};
    }
    ++parts.count;
    parts.has_zero |= number == "0";
    if (number.size() == rest.size()) break;
    rest.remove_prefix(number.size() + 1);
    if (rest.empty()) return {.letters = parts.letters, .numbers = parts.numbers};
  }
  return parts;
}

bool MeansEthernet(string_view letters) {
  const std::string lower = Lower(letters);
  return !lower.empty() && string_view("ethernet").starts_with(lower);
}

}  // namespace

PortName PortNameOf(Vendor vendor, string_view given) {
  const Parts parts = Split(given);
  const PortName as_given = {.text = std::string(given), .is_valid = false};
  if (parts.count == 0) return as_given;
  const std::string lower = Lower(parts.letters);
  const PortName ethernet = {.text = "Ethernet" + std::string(parts.numbers)};
  const PortName unchanged = {.text = std::string(given)};
  switch (vendor) {
    case Vendor::kNone:
      return unchanged;
    case Vendor::kSonic:
      if (parts.count != 1) return as_given;
      if (parts.letters == "PortChannel") return unchanged;
      return lower == "ethernet" ? ethernet : as_given;
    case Vendor::kEos:
      if (parts.has_zero) return as_given;
      if (lower == "port-channel" && parts.count == 1) return unchanged;
      return MeansEthernet(parts.letters) && parts.count <= 3 ? ethernet : as_given;
    case Vendor::kNxos:
      if (parts.has_zero) return as_given;
      if (lower == "port-channel" && parts.count == 1) return unchanged;
      return MeansEthernet(parts.letters) && (parts.count == 2 || parts.count == 3) ? ethernet
                                                                                    : as_given;
  }
  return as_given;
}

std::vector<PortName> PortNamesOf(const topology::Fabric& fabric, topology::NodeIndex node,
                                  Vendor vendor) {
  const topology::Node& owner = fabric.node(node);
  std::vector<PortName> names;
  std::map<std::string, size_t> uses;
  for (uint32_t i = 0; i < owner.port_count; ++i) {
    names.push_back(PortNameOf(vendor, fabric.port(owner.first_port + i).name));
    ++uses[names.back().text];
  }
  for (uint32_t i = 0; i < owner.port_count; ++i) {
    const std::string& given = fabric.port(owner.first_port + i).name;
    if (names[i].text != given && uses[names[i].text] > 1) {
      names[i] = {.text = given, .is_valid = false};
    }
  }
  return names;
}

}  // namespace rocescope::plan
