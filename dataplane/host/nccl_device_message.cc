// SPDX-License-Identifier: BSD-3-Clause
#include "dataplane/host/nccl_message.h"

namespace rocescope {
namespace {

constexpr size_t kMaxListedDevices = 32;  // MAX_IB_DEVS in NCCL's src/transport/net_ib.cc

// `eth0:172.30.0.25<0>` or `eth0:fe80::1%eth0<0>`
void ReadSocket(LineScanner& scanner, NcclProcess& process) {
  const std::string_view interface = scanner.Until(":");
  scanner.Literal(":");
  const std::string_view address = scanner.Until("<");
  scanner.Literal("<");
  if (!scanner.ok()) return;
  process.oob_interface = interface;
  if (const auto parsed = ParseIpAddress(address.substr(0, address.find('%')))) {
    process.oob_address = *parsed;
  }
}

// ` [0]mlx5_0:1/RoCE [1]mlx5_1:1/RoCE [RO]; OOB eth0:10.0.0.1<0>`; with merged ports in 2.20: `
// [0]={[0] mlx5_0:1/RoCE, [1] mlx5_1:1/RoCE} [RO]; OOB ...`.
MessageOutcome ReadUsing(LineScanner& scanner, NcclProcess& process) {
  std::vector<NcclDevice> devices;
  int net_device = -1;
  while (scanner.ok()) {
    scanner.SkipSpaces();
    if (scanner.Accept("[RO]")) continue;
    if (scanner.Accept(";")) break;
    scanner.Literal("[");
    const int index = static_cast<int>(scanner.Integer(0, kMaxDevices));
    scanner.Literal("]");
    if (scanner.Accept("={")) {
      net_device = index;
      continue;
    }
    scanner.SkipSpaces();
    NcclDevice device{.index = index, .net_device = net_device};
    device.name = scanner.Until(":");
    scanner.Literal(":");
    device.port = static_cast<int>(scanner.Integer(0, 255));
    scanner.Literal("/");
    device.link_layer = scanner.Until(" ,};");
    if (devices.size() < kMaxListedDevices) devices.push_back(std::move(device));
    scanner.Accept(",");
    if (scanner.Accept("}")) net_device = -1;
  }
  scanner.Literal(" OOB ");
  if (scanner.ok()) ReadSocket(scanner, process);
  if (!scanner.ok()) return Malformed(scanner);
  process.devices = std::move(devices);
  return Read();
}

// `Made virtual device [0] name=mlx5_0+mlx5_1 speed=800000 ndevs=2`
MessageOutcome ReadVirtualDevice(LineScanner& scanner, size_t line, NcclProcess& process) {
  NcclVirtualDevice device{.line = line};
  scanner.Literal("[");
  device.net_device = static_cast<int>(scanner.Integer(0, kMaxDevices));
  scanner.Literal("] name=");
  device.name = scanner.Until(" ");
  scanner.Literal(" speed=");
  device.speed = scanner.Integer(INT32_MIN, INT32_MAX);
  scanner.Literal(" ndevs=");
  device.device_count = static_cast<int>(scanner.Integer(0, kMaxDevices));
  if (!scanner.ok()) return Malformed(scanner);
  process.virtual_devices.push_back(std::move(device));
  return Read();
}

}  // namespace

MessageOutcome ReadDeviceMessage(const NcclLine& frame, size_t line, NcclProcessReader& reader) {
  LineScanner scanner(frame.message);
  if (scanner.Accept("NET/IB : Using ")) return ReadUsing(scanner, reader.facts);
  if (scanner.Accept("NET/IB : Made virtual device ")) {
    return ReadVirtualDevice(scanner, line, reader.facts);
  }
  if (scanner.Accept("Bootstrap : Using ") || scanner.Accept("Bootstrap: Using ")) {
    if (scanner.Accept("[")) scanner.SkipPast("]");  // before 2.8: the index of an interface
    ReadSocket(scanner, reader.facts);
    return scanner.ok() ? Read() : Malformed(scanner);
  }
  if (scanner.Accept("NCCL version ")) {
    reader.facts.version = scanner.Until(" ");
    return scanner.ok() ? Read() : Malformed(scanner);
  }
  return {};
}

}  // namespace rocescope
