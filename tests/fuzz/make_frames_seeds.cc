// SPDX-License-Identifier: BSD-3-Clause
// Writes the seeds of frames_fuzz.cc (which documents their format) to a directory.
#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "dataplane/wire/opcode.h"
#include "tests/support/frame_builder.h"
#include "tests/support/frame_mix.h"

namespace rocescope::test {
namespace {

constexpr uint8_t kAbsolute = 4;
constexpr uint8_t kAdvance = 8;
constexpr uint8_t kRepeat = 0x80;

class Seed {
 public:
  explicit Seed(uint8_t options) { Number(options, 1); }

  // `after` is in units of 10 us since the last frame.
  Seed& Add(const Bytes& frame, uint16_t after = 1, uint8_t what = 0) {
    Number(what, 1);
    Number(after, 2);
    return Bytes(frame);
  }
  Seed& AddAt(int64_t time_ns, const Bytes& frame, uint8_t what = 0) {
    Number(what | kAbsolute, 1);
    Number(static_cast<uint64_t>(time_ns), 8);
    return Bytes(frame);
  }
  Seed& Repeat(uint16_t after, uint8_t what = 0) {
    Number(what | kRepeat, 1);
    Number(after, 2);
    return *this;
  }

  bool Write(const std::filesystem::path& path) const {
    std::ofstream file(path, std::ios::binary);
    file.write(reinterpret_cast<const char*>(bytes_.data()),
               static_cast<std::streamsize>(bytes_.size()));
    return file.good();
  }

 private:
  Seed& Bytes(const Bytes& frame) {
    Number(frame.size(), 2);
    bytes_.insert(bytes_.end(), frame.begin(), frame.end());
    return *this;
  }
  void Number(uint64_t value, int size) {
    for (int shift = 8 * (size - 1); shift >= 0; shift -= 8) {
      bytes_.push_back(static_cast<uint8_t>(value >> shift));
    }
  }

  Bytes bytes_;
};

Bytes WriteOf(uint32_t psn) {
  return RoceFrame()
      .Bth({.opcode = wire::kOpcodeWriteOnly,
            .destination_qpn = {17},
            .ack_request = true,
            .psn = psn})
      .Reth({.virtual_address = 0x7f0000001000, .rkey = 5, .dma_length = 8})
      .Payload(8)
      .Build();
}

Bytes AcknowledgeOf(uint32_t psn, uint8_t syndrome) {
  return RoceFrame("10.0.0.2", "10.0.0.1")
      .Bth({.opcode = wire::kOpcodeAcknowledge, .destination_qpn = {33}, .psn = psn})
      .Aeth({.syndrome = syndrome, .msn = psn})
      .Build();
}

Bytes Mirrored(uint32_t psn, uint32_t sequence, int64_t time_ns) {
  return InErspan3(
      WriteOf(psn),
      {.session = 3,
       .timestamp = static_cast<uint32_t>(time_ns % 1'000'000'000),
       .granularity = wire::ErspanGranularity::kIeee1588},
      sequence,
      {.platform_id = 5, .info = 17, .word = static_cast<uint32_t>(time_ns / 1'000'000'000)});
}

// Gaps, retransmissions and a NAK, at two taps, across intervals.
Seed Connection() {
  Seed seed(0x03);
  for (const uint32_t psn : {0, 1, 3, 2, 4, 7, 5, 6, 7}) {
    seed.Add(WriteOf(psn), 1, 0).Repeat(1, 1).Add(AcknowledgeOf(psn, psn == 7 ? 0x60 : 0x1f), 2);
  }
  return seed.Add(WriteOf(0), 30'000, kAdvance).Add(WriteOf(0xffffff), 1).Add(WriteOf(0), 1);
}

Seed Messages() {
  Seed seed(0x07);
  const auto packet = [&seed](uint8_t opcode, uint32_t psn) {
    Frame frame = RoceFrame().Bth({.opcode = opcode, .destination_qpn = {17}, .psn = psn});
    if (opcode == wire::kOpcodeWriteFirst || opcode == wire::kOpcodeReadRequest) {
      frame.Reth({.rkey = 5, .dma_length = 3000});
    }
    if (opcode == wire::kOpcodeReadResponseFirst || opcode == wire::kOpcodeReadResponseLast) {
      frame.Aeth({.syndrome = 0x1f});
    }
    seed.Add(frame.Payload(opcode == wire::kOpcodeReadRequest ? 0 : 100).Build());
  };
  packet(wire::kOpcodeWriteFirst, 0);
  packet(wire::kOpcodeWriteMiddle, 1);
  packet(wire::kOpcodeWriteLast, 2);
  packet(wire::kOpcodeReadRequest, 3);
  packet(wire::kOpcodeReadResponseFirst, 3);
  packet(wire::kOpcodeReadResponseMiddle, 4);
  packet(wire::kOpcodeReadResponseLast, 5);
  packet(wire::kOpcodeSendFirst, 6);
  packet(wire::kOpcodeSendLast, 7);
  return seed;
}

// A sequence with a loss, a clock that jumps, and a clock that wraps.
Seed Mirrors() {
  constexpr int64_t kNow = 1'700'000'000'000'000'000;
  Seed seed(0x52);
  for (uint32_t n : {0, 1, 4, 3}) seed.Add(Mirrored(n, n, kNow + n * 10'000), 1, 1);
  seed.Add(Mirrored(5, 5, 0)).Add(Mirrored(6, 6, kNow));
  seed.Add(InErspan3(WriteOf(7), {.session = 4, .timestamp = 0xffffffff}, 1), 1, 2);
  seed.Add(InErspan3(WriteOf(8), {.session = 4, .timestamp = 5}, 2), 1, 2);
  seed.Add(InErspan3(WriteOf(9), {.session = 4, .timestamp = 5}, 3,
                     {.platform_id = 3, .word = 0x7fffffff / 100'000}));
  return seed.Add(InErspan2(WriteOf(10), {.session = 5}, 9)).Add(InVxlan(WriteOf(11), 500));
}

// Times at both ends of the 64-bit range.
Seed FarTimes() {
  Seed seed(0x11);
  for (const int64_t time :
       {int64_t{1'700'000'000'000'000'000}, INT64_MAX, int64_t{0}, INT64_MIN}) {
    seed.AddAt(time, WriteOf(1)).AddAt(time, Mirrored(2, 1, 1'700'000'000'000'000'000), kAdvance);
  }
  return seed;
}

Seed Mixed() {
  Seed seed(0xc6);
  const FrameMix mix(48);
  for (const RawFrame& raw : mix.frames()) {
    seed.Add({raw.bytes.begin(), raw.bytes.end()}, 100, static_cast<uint8_t>(raw.tap));
  }
  return seed;
}

}  // namespace
}  // namespace rocescope::test

int main(int argc, char** argv) {
  using namespace rocescope::test;
  if (argc != 2) {
    fmt::print(stderr, "usage: make_frames_seeds FOLDER\n");
    return 2;
  }
  const std::filesystem::path folder = argv[1];
  if (Connection().Write(folder / "connection") && Messages().Write(folder / "messages") &&
      Mirrors().Write(folder / "mirrors") && FarTimes().Write(folder / "far_times") &&
      Mixed().Write(folder / "mixed")) {
    return 0;
  }
  fmt::print(stderr, "make_frames_seeds: cannot write to {}; does the directory exist?\n", argv[1]);
  return 1;
}
