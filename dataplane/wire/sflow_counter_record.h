// SPDX-License-Identifier: BSD-3-Clause
// Records in sFlow's counter samples: counter_data ("sFlow Version 5", section 5.3; "sFlow Host
// Structures" of July 2010; "sFlow NVML GPU Structures", whose enterprise number is NVIDIA's).
// Counters only grow and wrap; an agent writes all ones for those that it does not have.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "dataplane/wire/reader.h"
#include "dataplane/wire/sflow.h"
#include "dataplane/wire/writer.h"

namespace rocescope::wire {

inline constexpr uint32_t kSflowEnterpriseNvidia = 5703;

// sflow.org/developers/structures.php.
enum SflowCounterRecordTag : uint32_t {
  kSflowInterfaceCounters = 1,
  kSflowEthernetCounters = 2,
  kSflowHostDescription = 2000,
  kSflowHostCpu = 2003,
  kSflowHostMemory = 2004,
  kSflowHostNetwork = 2006,
  kSflowGpu = SflowTag(kSflowEnterpriseNvidia, 1),
};

namespace internal {

// Records whose fields are all of one width, read and written in the order of a list.
template <typename Record, typename Visit>
constexpr void ReadWords(ByteReader& in, Record& record, Visit visit) {
  visit(record, [&in](std::string_view, auto& field) {
    if constexpr (sizeof(field) == 8) {
      field = in.U64();
    } else {
      field = in.U32();
    }
  });
}
template <typename Record, typename Visit>
constexpr void WriteWords(ByteWriter& out, const Record& record, Visit visit) {
  visit(record, [&out](std::string_view, const auto& field) {
    if constexpr (sizeof(field) == 8) {
      out.U64(field);
    } else {
      out.U32(field);
    }
  });
}

}  // namespace internal

// if_counters: generic interface counters (RFC 2863).
struct SflowInterfaceRecord {
  static constexpr size_t kSize = 88;
  uint32_t index = 0;
  uint32_t type = 6;       // ethernetCsmacd
  uint64_t speed = 0;      // bit/s
  uint32_t direction = 1;  // 1: full duplex
  uint32_t status = 3;     // bit 0: administratively up, bit 1: operationally up
  uint64_t in_octets = 0;
  uint32_t in_unicast = 0;
  uint32_t in_multicast = 0;
  uint32_t in_broadcast = 0;
  uint32_t in_discards = 0;
  uint32_t in_errors = 0;
  uint32_t in_unknown = 0;
  uint64_t out_octets = 0;
  uint32_t out_unicast = 0;
  uint32_t out_multicast = 0;
  uint32_t out_broadcast = 0;
  uint32_t out_discards = 0;
  uint32_t out_errors = 0;
  uint32_t promiscuous = 0;

  // The fields, with their names, in the order of the wire.
  static constexpr auto kFields = [](auto& r, auto visit) {
    visit("index", r.index);
    visit("type", r.type);
    visit("speed", r.speed);
    visit("direction", r.direction);
    visit("status", r.status);
    visit("in_octets", r.in_octets);
    visit("in_unicast", r.in_unicast);
    visit("in_multicast", r.in_multicast);
    visit("in_broadcast", r.in_broadcast);
    visit("in_discards", r.in_discards);
    visit("in_errors", r.in_errors);
    visit("in_unknown", r.in_unknown);
    visit("out_octets", r.out_octets);
    visit("out_unicast", r.out_unicast);
    visit("out_multicast", r.out_multicast);
    visit("out_broadcast", r.out_broadcast);
    visit("out_discards", r.out_discards);
    visit("out_errors", r.out_errors);
    visit("promiscuous", r.promiscuous);
  };
};
constexpr void Read(ByteReader& in, SflowInterfaceRecord& h) {
  internal::ReadWords(in, h, SflowInterfaceRecord::kFields);
}
constexpr void Write(ByteWriter& out, const SflowInterfaceRecord& h) {
  internal::WriteWords(out, h, SflowInterfaceRecord::kFields);
}
static_assert(EncodedSize<SflowInterfaceRecord>() == SflowInterfaceRecord::kSize);

// ethernet_counters (RFC 3635), in frames.
struct SflowEthernetRecord {
  static constexpr size_t kSize = 52;
  uint32_t alignment_errors = 0;
  uint32_t fcs_errors = 0;
  uint32_t single_collisions = 0;
  uint32_t multiple_collisions = 0;
  uint32_t sqe_test_errors = 0;
  uint32_t deferred_transmissions = 0;
  uint32_t late_collisions = 0;
  uint32_t excessive_collisions = 0;
  uint32_t internal_transmit_errors = 0;
  uint32_t carrier_sense_errors = 0;
  uint32_t too_long_frames = 0;
  uint32_t internal_receive_errors = 0;
  uint32_t symbol_errors = 0;

  static constexpr auto kFields = [](auto& r, auto visit) {
    visit("alignment_errors", r.alignment_errors);
    visit("fcs_errors", r.fcs_errors);
    visit("single_collisions", r.single_collisions);
    visit("multiple_collisions", r.multiple_collisions);
    visit("sqe_test_errors", r.sqe_test_errors);
    visit("deferred_transmissions", r.deferred_transmissions);
    visit("late_collisions", r.late_collisions);
    visit("excessive_collisions", r.excessive_collisions);
    visit("internal_transmit_errors", r.internal_transmit_errors);
    visit("carrier_sense_errors", r.carrier_sense_errors);
    visit("too_long_frames", r.too_long_frames);
    visit("internal_receive_errors", r.internal_receive_errors);
    visit("symbol_errors", r.symbol_errors);
  };
};
constexpr void Read(ByteReader& in, SflowEthernetRecord& h) {
  internal::ReadWords(in, h, SflowEthernetRecord::kFields);
}
constexpr void Write(ByteWriter& out, const SflowEthernetRecord& h) {
  internal::WriteWords(out, h, SflowEthernetRecord::kFields);
}
static_assert(EncodedSize<SflowEthernetRecord>() == SflowEthernetRecord::kSize);

// host_descr. The texts point into what was read.
struct SflowHostRecord {
  static constexpr size_t kSize = 32;  // with both texts empty
  std::string_view name;               // at most 64 octets
  std::array<uint8_t, 16> uuid{};
  uint32_t machine = 0;      // 3: x86_64
  uint32_t system = 0;       // 2: Linux
  std::string_view release;  // at most 32 octets
};

namespace internal {

inline void ReadText(ByteReader& in, std::string_view& text) {
  const size_t length = in.U32();
  const std::span<const uint8_t> bytes = in.Bytes(length);
  text = {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  in.Skip((4 - bytes.size() % 4) % 4);
}
constexpr void WriteText(ByteWriter& out, std::string_view text) {
  out.U32(static_cast<uint32_t>(text.size()));
  for (const char c : text) out.U8(static_cast<uint8_t>(c));
  out.Zeros((4 - text.size() % 4) % 4);
}

}  // namespace internal

inline void Read(ByteReader& in, SflowHostRecord& h) {
  internal::ReadText(in, h.name);
  for (uint8_t& octet : h.uuid) octet = in.U8();
  h.machine = in.U32();
  h.system = in.U32();
  internal::ReadText(in, h.release);
}
constexpr void Write(ByteWriter& out, const SflowHostRecord& h) {
  internal::WriteText(out, h.name);
  out.Bytes(h.uuid);
  out.U32(h.machine);
  out.U32(h.system);
  internal::WriteText(out, h.release);
}
static_assert(EncodedSize<SflowHostRecord>() == SflowHostRecord::kSize);

// host_cpu. Loads are IEEE 754 singles, kept as their bits; times are milliseconds.
struct SflowCpuRecord {
  static constexpr size_t kSize = 68;
  uint32_t load_one = 0;
  uint32_t load_five = 0;
  uint32_t load_fifteen = 0;
  uint32_t running = 0;  // processes
  uint32_t total = 0;
  uint32_t processors = 0;
  uint32_t speed_mhz = 0;
  uint32_t uptime_s = 0;
  uint32_t user_ms = 0;
  uint32_t nice_ms = 0;
  uint32_t system_ms = 0;
  uint32_t idle_ms = 0;
  uint32_t wait_ms = 0;
  uint32_t interrupt_ms = 0;
  uint32_t soft_interrupt_ms = 0;
  uint32_t interrupts = 0;
  uint32_t context_switches = 0;

  static constexpr auto kFields = [](auto& r, auto visit) {
    visit("load_one", r.load_one);
    visit("load_five", r.load_five);
    visit("load_fifteen", r.load_fifteen);
    visit("running", r.running);
    visit("total", r.total);
    visit("processors", r.processors);
    visit("speed_mhz", r.speed_mhz);
    visit("uptime_s", r.uptime_s);
    visit("user_ms", r.user_ms);
    visit("nice_ms", r.nice_ms);
    visit("system_ms", r.system_ms);
    visit("idle_ms", r.idle_ms);
    visit("wait_ms", r.wait_ms);
    visit("interrupt_ms", r.interrupt_ms);
    visit("soft_interrupt_ms", r.soft_interrupt_ms);
    visit("interrupts", r.interrupts);
    visit("context_switches", r.context_switches);
  };
};
constexpr void Read(ByteReader& in, SflowCpuRecord& h) {
  internal::ReadWords(in, h, SflowCpuRecord::kFields);
}
constexpr void Write(ByteWriter& out, const SflowCpuRecord& h) {
  internal::WriteWords(out, h, SflowCpuRecord::kFields);
}
static_assert(EncodedSize<SflowCpuRecord>() == SflowCpuRecord::kSize);

// host_memory, in octets; the paging counts are pages.
struct SflowMemoryRecord {
  static constexpr size_t kSize = 72;
  uint64_t total = 0;
  uint64_t free = 0;
  uint64_t shared = 0;
  uint64_t buffers = 0;
  uint64_t cached = 0;
  uint64_t swap_total = 0;
  uint64_t swap_free = 0;
  uint32_t pages_in = 0;
  uint32_t pages_out = 0;
  uint32_t swapped_in = 0;
  uint32_t swapped_out = 0;

  static constexpr auto kFields = [](auto& r, auto visit) {
    visit("total", r.total);
    visit("free", r.free);
    visit("shared", r.shared);
    visit("buffers", r.buffers);
    visit("cached", r.cached);
    visit("swap_total", r.swap_total);
    visit("swap_free", r.swap_free);
    visit("pages_in", r.pages_in);
    visit("pages_out", r.pages_out);
    visit("swapped_in", r.swapped_in);
    visit("swapped_out", r.swapped_out);
  };
};
constexpr void Read(ByteReader& in, SflowMemoryRecord& h) {
  internal::ReadWords(in, h, SflowMemoryRecord::kFields);
}
constexpr void Write(ByteWriter& out, const SflowMemoryRecord& h) {
  internal::WriteWords(out, h, SflowMemoryRecord::kFields);
}
static_assert(EncodedSize<SflowMemoryRecord>() == SflowMemoryRecord::kSize);

// host_net_io, of all of a host's interfaces.
struct SflowNetworkRecord {
  static constexpr size_t kSize = 40;
  uint64_t in_octets = 0;
  uint32_t in_packets = 0;
  uint32_t in_errors = 0;
  uint32_t in_drops = 0;
  uint64_t out_octets = 0;
  uint32_t out_packets = 0;
  uint32_t out_errors = 0;
  uint32_t out_drops = 0;

  static constexpr auto kFields = [](auto& r, auto visit) {
    visit("in_octets", r.in_octets);
    visit("in_packets", r.in_packets);
    visit("in_errors", r.in_errors);
    visit("in_drops", r.in_drops);
    visit("out_octets", r.out_octets);
    visit("out_packets", r.out_packets);
    visit("out_errors", r.out_errors);
    visit("out_drops", r.out_drops);
  };
};
constexpr void Read(ByteReader& in, SflowNetworkRecord& h) {
  internal::ReadWords(in, h, SflowNetworkRecord::kFields);
}
constexpr void Write(ByteWriter& out, const SflowNetworkRecord& h) {
  internal::WriteWords(out, h, SflowNetworkRecord::kFields);
}
static_assert(EncodedSize<SflowNetworkRecord>() == SflowNetworkRecord::kSize);

// nvidia_gpu: sums over a host's GPUs, as NVML tells them.
struct SflowGpuRecord {
  static constexpr size_t kSize = 48;
  uint32_t devices = 0;
  uint32_t processes = 0;       // that compute
  uint32_t busy_ms = 0;         // a kernel was running
  uint32_t memory_busy_ms = 0;  // memory was read or written
  uint64_t memory_total = 0;    // octets
  uint64_t memory_free = 0;
  uint32_t ecc_errors = 0;   // volatile
  uint32_t energy_mj = 0;    // millijoules
  uint32_t temperature = 0;  // degrees Celsius, the hottest
  uint32_t fan_speed = 0;    // per cent, the fastest

  static constexpr auto kFields = [](auto& r, auto visit) {
    visit("devices", r.devices);
    visit("processes", r.processes);
    visit("busy_ms", r.busy_ms);
    visit("memory_busy_ms", r.memory_busy_ms);
    visit("memory_total", r.memory_total);
    visit("memory_free", r.memory_free);
    visit("ecc_errors", r.ecc_errors);
    visit("energy_mj", r.energy_mj);
    visit("temperature", r.temperature);
    visit("fan_speed", r.fan_speed);
  };
};
constexpr void Read(ByteReader& in, SflowGpuRecord& h) {
  internal::ReadWords(in, h, SflowGpuRecord::kFields);
}
constexpr void Write(ByteWriter& out, const SflowGpuRecord& h) {
  internal::WriteWords(out, h, SflowGpuRecord::kFields);
}
static_assert(EncodedSize<SflowGpuRecord>() == SflowGpuRecord::kSize);

}  // namespace rocescope::wire
