// SPDX-License-Identifier: BSD-3-Clause
#include "sim/emit/erspan.h"

#include "dataplane/wire/ethernet.h"
#include "dataplane/wire/ip.h"
#include "dataplane/wire/mirror.h"

namespace rocescope::sim {
namespace {

constexpr int64_t kSecondNs = 1'000'000'000;
constexpr uint8_t kPlatformWithSeconds = 5;
constexpr uint32_t kSwitchIdMask = 0x3ff;                   // ten bits in the platform sub-header
constexpr uint32_t kGreBytes = wire::GreHeader::kSize + 4;  // with the sequence number field

}  // namespace

std::span<uint8_t> BeginErspanCopy(CollectorPort& port, SimTime now, ErspanSession& session,
                                   const ErspanCopy& copy) {
  const uint32_t sequence = session.sequence++;
  const uint32_t inside = kGreBytes + static_cast<uint32_t>(wire::Erspan3Header::kSize) +
                          (copy.names_port ? wire::ErspanPlatformSubheader::kSize : 0) +
                          copy.kept_bytes;
  const uint32_t length = session.envelope.Bytes() + inside;
  const std::span<uint8_t> room = port.Begin(now, length);
  if (room.empty()) return {};
  wire::ByteWriter out(room.first(length - copy.kept_bytes));
  WriteEnvelope(out, session.envelope, wire::kIpProtocolGre, static_cast<uint16_t>(sequence),
                inside);
  Write(out, wire::GreHeader{
                 .has_sequence = true, .protocol = wire::kEtherTypeErspan3, .sequence = sequence});
  const int64_t ns = ToNanoseconds(port.WallTime(now) + session.clock_error);
  Write(out, wire::Erspan3Header{
                 .truncated = copy.kept_bytes < copy.frame_bytes,
                 .session = session.number,
                 .timestamp = static_cast<uint32_t>(copy.names_port ? ns % kSecondNs : ns / 100),
                 .egress = copy.egress,
                 .granularity = copy.names_port ? wire::ErspanGranularity::kIeee1588
                                                : wire::ErspanGranularity::k100Nanoseconds,
                 .has_platform_subheader = copy.names_port});
  if (copy.names_port) {
    Write(out, wire::ErspanPlatformSubheader{
                   .platform_id = kPlatformWithSeconds,
                   .info = (session.switch_id & kSwitchIdMask) << 16 | (copy.port_index & 0xffff),
                   .word = static_cast<uint32_t>(ns / kSecondNs)});
  }
  return room.subspan(length - copy.kept_bytes, copy.kept_bytes);
}

}  // namespace rocescope::sim
