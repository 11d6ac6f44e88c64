// SPDX-License-Identifier: BSD-3-Clause
#include "sim/profile/mirror_copy.h"

#include <fmt/format.h>

#include <array>
#include <fstream>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "dataplane/wire/ethernet.h"
#include "dataplane/wire/ip.h"
#include "dataplane/wire/mirror.h"
#include "sim/emit/pcap_file.h"
#include "sim/engine/random.h"

namespace rocescope::sim {
namespace {

constexpr uint32_t kMagicNanoseconds = 0xa1b23c4d;
constexpr size_t kFileHeader = 24;
constexpr size_t kRecordHeader = 16;
constexpr int64_t kSecondNs = 1'000'000'000;
// A larger gap in the sequence numbers of a session means that the capture is damaged or pieced
// together.
constexpr uint32_t kMostMissing = 1u << 20;

uint32_t LoadLittleEndian(const uint8_t* from) {
  return uint32_t{from[0]} | uint32_t{from[1]} << 8 | uint32_t{from[2]} << 16 |
         uint32_t{from[3]} << 24;
}

// The parts of an ERSPAN packet that a copy needs.
struct Encapsulation {
  IpAddress source;
  uint16_t session = 0;
  uint32_t sequence = 0;
  bool is_ipv4 = false;
  size_t gre = 0;  // position of the GRE header
};

std::optional<Encapsulation> ReadEncapsulation(std::span<const uint8_t> frame) {
  wire::ByteReader in(frame);
  wire::EthernetHeader ethernet;
  Read(in, ethernet);
  Encapsulation found;
  uint8_t protocol = 0;
  if (ethernet.ether_type == wire::kEtherTypeIpv4) {
    wire::Ipv4Header ip;
    Read(in, ip);
    found.is_ipv4 = true;
    found.source = IpAddress::FromV4(ip.source);
    protocol = ip.protocol;
    found.gre = wire::EthernetHeader::kSize + wire::Ipv4Header::kSize;
  } else if (ethernet.ether_type == wire::kEtherTypeIpv6) {
    wire::Ipv6Header ip;
    Read(in, ip);
    found.source = ip.source;
    protocol = ip.next_header;
    found.gre = wire::EthernetHeader::kSize + wire::Ipv6Header::kSize;
  }
  wire::GreHeader gre;
  Read(in, gre);
  wire::Erspan3Header erspan;
  Read(in, erspan);
  if (!in.ok() || protocol != wire::kIpProtocolGre || !gre.has_sequence ||
      gre.protocol != wire::kEtherTypeErspan3) {
    return std::nullopt;
  }
  found.sequence = gre.sequence;
  found.session = erspan.session;
  return found;
}

// Changes the sequence number, and the IPv4 identification, which has its lower bits.
void Renumber(std::span<uint8_t> frame, const Encapsulation& at, uint32_t sequence) {
  if (at.is_ipv4) {
    const auto ip_bytes = frame.subspan(wire::EthernetHeader::kSize, wire::Ipv4Header::kSize);
    wire::ByteReader in(ip_bytes);
    wire::Ipv4Header ip;
    Read(in, ip);
    ip.identification = static_cast<uint16_t>(sequence);
    ip.checksum = wire::Ipv4Checksum(ip);
    wire::ByteWriter out(ip_bytes);
    Write(out, ip);
  }
  wire::ByteReader in(frame.subspan(at.gre));
  wire::GreHeader gre;
  Read(in, gre);
  gre.sequence = sequence;
  wire::ByteWriter out(frame.subspan(at.gre));
  Write(out, gre);
}

// The frames of one session, each with the decision whether it is mirrored.
class Sampler {
 public:
  Sampler(uint32_t sampling, uint64_t seed, uint64_t number)
      : sampling_(sampling), random_(seed, "mirror sampling", number) {}

  // Returns the new sequence number of a frame; nullopt if it is not mirrored.
  std::optional<uint32_t> Take(uint32_t sequence) {
    const uint32_t missing = sequence - expected_;
    if (missing < kMostMissing) {
      for (uint32_t i = 0; i < missing; ++i) {
        if (IsChosen()) ++next_;  // a copy that was lost on the way
      }
      expected_ = sequence + 1;
    }
    if (!IsChosen()) return std::nullopt;
    return next_++;
  }

 private:
  bool IsChosen() { return random_.Below(sampling_) == 0; }

  const uint32_t sampling_;
  Random random_;
  uint32_t expected_ = 0;
  uint32_t next_ = 0;
};

}  // namespace

Result<uint64_t> CopyMirror(const std::string& from, const std::string& to,
                            const topology::Fabric& fabric, const MirrorCopyOptions& options) {
  std::ifstream in(from, std::ios::binary);
  if (!in) return MakeError(ErrorCode::kNotFound, fmt::format("{}: cannot be opened", from));
  std::array<uint8_t, kFileHeader> header{};
  const auto read = [&](uint8_t* at, size_t bytes) {
    in.read(reinterpret_cast<char*>(at), static_cast<std::streamsize>(bytes));
    return static_cast<size_t>(in.gcount());
  };
  if (read(header.data(), header.size()) < header.size() ||
      LoadLittleEndian(header.data()) != kMagicNanoseconds) {
    return MakeError(ErrorCode::kInvalidArgument,
                     fmt::format("{}: not a capture of rocescope-sim (expected a little-endian "
                                 "pcap file with nanoseconds)",
                                 from));
  }
  auto out = PcapFile::Open(to);
  if (!out) return tl::unexpected(out.error());
  std::map<std::pair<topology::NodeIndex, uint16_t>, Sampler> samplers;
  uint64_t frames = 0;
  for (uint64_t number = 1;; ++number) {
    std::array<uint8_t, kRecordHeader> record{};
    const auto damaged = [&](std::string_view what) {
      return MakeError(ErrorCode::kInvalidArgument,
                       fmt::format("{}: frame {}: {}", from, number, what));
    };
    const size_t got = read(record.data(), record.size());
    if (got == 0) break;
    const uint32_t captured = LoadLittleEndian(&record[8]);
    const std::span<uint8_t> room = (*out)->Room();
    if (got < record.size() || captured > FrameSink::kMaxBytes) return damaged("invalid header");
    if (read(room.data(), captured) < captured) return damaged("the file is truncated");
    const std::span<uint8_t> frame = room.first(captured);
    const auto encapsulation = ReadEncapsulation(frame);
    if (!encapsulation) return damaged("expected an ERSPAN type III packet");
    const topology::NodeIndex node = fabric.FindSwitchByErspan(encapsulation->source);
    if (node == topology::kNone) return damaged("its sender is not in topology.yaml");
    if (options.leaf_only && fabric.node(node).tier != topology::Tier::kLeaf) continue;
    const auto key = std::pair(node, encapsulation->session);
    const uint64_t stream = uint64_t{node} << 16 | encapsulation->session;
    auto& sampler = samplers.try_emplace(key, options.sampling, options.seed, stream).first->second;
    const std::optional<uint32_t> sequence = sampler.Take(encapsulation->sequence);
    if (!sequence) continue;
    Renumber(frame, *encapsulation, *sequence);
    (*out)->Add(FromNanoseconds(int64_t{LoadLittleEndian(&record[0])} * kSecondNs +
                                LoadLittleEndian(&record[4])),
                captured, LoadLittleEndian(&record[12]));
    ++frames;
  }
  if (Status closed = (*out)->Close(); !closed) return tl::unexpected(closed.error());
  return frames;
}

}  // namespace rocescope::sim
