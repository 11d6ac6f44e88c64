// SPDX-License-Identifier: BSD-3-Clause
#include "dataplane/port/flow_rules.h"

#include <rte_byteorder.h>
#include <rte_flow.h>
#include <rte_version.h>

#include <array>

#include "dataplane/wire/ip.h"
#include "dataplane/wire/opcode.h"
#include "dataplane/wire/roce.h"

namespace rocescope {
namespace {

struct Sign {
  const char* name;
  uint8_t opcode;
  uint8_t syndrome_mask;  // mask of the first AETH byte; 0: the packet has no AETH
  uint8_t syndrome;
};
// IBTA vol. 1, 9.7.5.2.8: bits 6 and 5 of a NAK's syndrome are 11.
constexpr std::array kSigns = {
    Sign{.name = "CNPs", .opcode = wire::kOpcodeCnp, .syndrome_mask = 0, .syndrome = 0},
    Sign{.name = "NAKs",
         .opcode = wire::kOpcodeAcknowledge,
         .syndrome_mask = 0x60,
         .syndrome = 0x60}};

// Matches one byte at an offset after the previous item.
class ByteItem {
 public:
  ByteItem(int32_t offset, uint8_t value, uint8_t mask) : value_(value), mask_byte_(mask) {
    spec_.relative = 1;
    spec_.offset = offset;
    spec_.length = 1;
    spec_.pattern = &value_;
    mask_.relative = 1;  // rte_flow_item_raw_mask, which is not available in C++, with all bytes
    mask_.search = 1;
    mask_.offset = -1;
    mask_.limit = 0xffff;
    mask_.length = 0xffff;
    mask_.pattern = &mask_byte_;
  }
  ByteItem(const ByteItem&) = delete;
  ByteItem& operator=(const ByteItem&) = delete;

  rte_flow_item item() const {
    return {.type = RTE_FLOW_ITEM_TYPE_RAW, .spec = &spec_, .last = nullptr, .mask = &mask_};
  }

 private:
  uint8_t value_;
  uint8_t mask_byte_;
  rte_flow_item_raw spec_{};
  rte_flow_item_raw mask_{};
};

// The opcode is the first byte of the BTH. DPDK has an item for it since 23.07.
#if RTE_VERSION >= RTE_VERSION_NUM(23, 7, 0, 0)
class OpcodeItem {
 public:
  explicit OpcodeItem(uint8_t opcode) {
    spec_.hdr.opcode = opcode;
    mask_.hdr.opcode = 0xff;
  }
  OpcodeItem(const OpcodeItem&) = delete;
  OpcodeItem& operator=(const OpcodeItem&) = delete;

  static constexpr int32_t kBeforeAeth = 0;
  rte_flow_item item() const {
    return {.type = RTE_FLOW_ITEM_TYPE_IB_BTH, .spec = &spec_, .last = nullptr, .mask = &mask_};
  }

 private:
  rte_flow_item_ib_bth spec_{};
  rte_flow_item_ib_bth mask_{};
};
#else
class OpcodeItem : public ByteItem {
 public:
  explicit OpcodeItem(uint8_t opcode) : ByteItem(0, opcode, 0xff) {}

  static constexpr int32_t kBeforeAeth = wire::Bth::kSize - 1;
};
#endif

// Returns an empty string, or the reason why the driver rejects the rule.
std::string Steer(uint16_t port, uint16_t queue, const Sign& sign) {
  rte_flow_item_udp udp{};
  udp.hdr.dst_port = rte_cpu_to_be_16(wire::kUdpPortRoce);
  rte_flow_item_udp udp_mask{};
  udp_mask.hdr.dst_port = 0xffff;
  const OpcodeItem bth(sign.opcode);
  const ByteItem aeth(OpcodeItem::kBeforeAeth, sign.syndrome, sign.syndrome_mask);
  constexpr rte_flow_item kEnd = {
      .type = RTE_FLOW_ITEM_TYPE_END, .spec = nullptr, .last = nullptr, .mask = nullptr};
  const std::array<rte_flow_item, 6> pattern = {{
      {.type = RTE_FLOW_ITEM_TYPE_ETH, .spec = nullptr, .last = nullptr, .mask = nullptr},
      {.type = RTE_FLOW_ITEM_TYPE_IPV4, .spec = nullptr, .last = nullptr, .mask = nullptr},
      {.type = RTE_FLOW_ITEM_TYPE_UDP, .spec = &udp, .last = nullptr, .mask = &udp_mask},
      bth.item(),
      sign.syndrome_mask != 0 ? aeth.item() : kEnd,
      kEnd,
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
  return error.message == nullptr ? "the driver gives no reason" : error.message;
}

}  // namespace

SteeringRules SteerCongestionSignals(uint16_t port, uint16_t queue) {
  SteeringRules rules;
  for (const Sign& sign : kSigns) {
    std::string refused = Steer(port, queue, sign);
    if (refused.empty()) {
      rules.installed.emplace_back(sign.name);
    } else {
      rules.not_installed.emplace_back(sign.name);
      rules.refused = std::move(refused);
    }
  }
  return rules;
}

}  // namespace rocescope
