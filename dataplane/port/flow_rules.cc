// SPDX-License-Identifier: BSD-3-Clause
#include "dataplane/port/flow_rules.h"

#include <rte_byteorder.h>
#include <rte_flow.h>
#include <rte_version.h>

#include <array>

#include "dataplane/wire/ip.h"
#include "dataplane/wire/opcode.h"

namespace rocescope {
namespace {

struct Sign {
  const char* name;
  uint8_t opcode;
};
constexpr std::array kSigns = {Sign{.name = "CNP", .opcode = wire::kOpcodeCnp},
                               Sign{.name = "ACK", .opcode = wire::kOpcodeAcknowledge}};

// The BTH's opcode, its first octet: an item of its own since DPDK 23.07, before that octets behind
// the UDP header.
class OpcodeItem {
 public:
  explicit OpcodeItem(uint8_t opcode) : opcode_(opcode) {
#if RTE_VERSION >= RTE_VERSION_NUM(23, 7, 0, 0)
    spec_.hdr.opcode = opcode_;
    mask_.hdr.opcode = 0xff;
    item_ = {.type = RTE_FLOW_ITEM_TYPE_IB_BTH, .spec = &spec_, .last = nullptr, .mask = &mask_};
#else
    spec_.relative = 1;
    spec_.length = 1;
    spec_.pattern = &opcode_;
    mask_.relative = 1;  // of rte_flow_item_raw_mask, which C++ does not see, and all octets
    mask_.search = 1;
    mask_.offset = -1;
    mask_.limit = 0xffff;
    mask_.length = 0xffff;
    mask_.pattern = &all_;
    item_ = {.type = RTE_FLOW_ITEM_TYPE_RAW, .spec = &spec_, .last = nullptr, .mask = &mask_};
#endif
  }
  OpcodeItem(const OpcodeItem&) = delete;
  OpcodeItem& operator=(const OpcodeItem&) = delete;

  const rte_flow_item& item() const { return item_; }

 private:
  uint8_t opcode_;
#if RTE_VERSION >= RTE_VERSION_NUM(23, 7, 0, 0)
  rte_flow_item_ib_bth spec_{};
  rte_flow_item_ib_bth mask_{};
#else
  uint8_t all_ = 0xff;
  rte_flow_item_raw spec_{};
  rte_flow_item_raw mask_{};
#endif
  rte_flow_item item_{};
};

// Empty, or why the driver does not take it.
std::string Steer(uint16_t port, uint16_t queue, uint8_t opcode) {
  rte_flow_item_udp udp{};
  udp.hdr.dst_port = rte_cpu_to_be_16(wire::kUdpPortRoce);
  rte_flow_item_udp udp_mask{};
  udp_mask.hdr.dst_port = 0xffff;
  const OpcodeItem bth(opcode);
  const std::array<rte_flow_item, 5> pattern = {{
      {.type = RTE_FLOW_ITEM_TYPE_ETH, .spec = nullptr, .last = nullptr, .mask = nullptr},
      {.type = RTE_FLOW_ITEM_TYPE_IPV4, .spec = nullptr, .last = nullptr, .mask = nullptr},
      {.type = RTE_FLOW_ITEM_TYPE_UDP, .spec = &udp, .last = nullptr, .mask = &udp_mask},
      bth.item(),
      {.type = RTE_FLOW_ITEM_TYPE_END, .spec = nullptr, .last = nullptr, .mask = nullptr},
  }};
  const rte_flow_action_queue to{.index = queue};
  const std::array<rte_flow_action, 2> actions = {{
      {.type = RTE_FLOW_ACTION_TYPE_QUEUE, .conf = &to},
      {.type = RTE_FLOW_ACTION_TYPE_END, .conf = nullptr},
  }};
  rte_flow_attr attributes{};
  attributes.ingress = 1;
  rte_flow_error error{};
  const bool taken =
      rte_flow_validate(port, &attributes, pattern.data(), actions.data(), &error) == 0 &&
      rte_flow_create(port, &attributes, pattern.data(), actions.data(), &error) != nullptr;
  if (taken) return {};
  return error.message == nullptr ? "the driver does not say why" : error.message;
}

}  // namespace

SteeringRules SteerCongestionSigns(uint16_t port, uint16_t queue) {
  SteeringRules rules;
  for (const Sign& sign : kSigns) {
    std::string refused = Steer(port, queue, sign.opcode);
    if (refused.empty()) {
      rules.installed.emplace_back(sign.name);
    } else {
      rules.refused = std::move(refused);
    }
  }
  return rules;
}

}  // namespace rocescope
