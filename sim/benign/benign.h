// SPDX-License-Identifier: BSD-3-Clause
// Events of a healthy fabric that are not faults: rare bit errors, discards in microbursts, planned
// maintenance, GPUs of different speeds. Times are absolute, so that the same options describe runs
// of milliseconds and of days.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "sim/engine/time.h"
#include "topology/fabric.h"

namespace rocescope::sim {

// Each element draws its own value with a uniform logarithm. `most` is 0: the feature is off.
struct RatioRange {
  double least = 0;
  double most = 0;
  bool on() const { return most > 0; }
};

struct BenignOptions {
  // Wrong bits per bit on each direction of a link, after forward error correction (FEC).
  RatioRange bit_error_ratio;
  // The same before FEC. If it is set, ports report corrected and uncorrected codewords.
  RatioRange pre_fec_bit_error_ratio;

  // On a share of all receiving ports, this many frames of the run have a wrong FCS.
  struct FrameErrors {
    double ports = 0;
    uint32_t frames = 1;
  };
  FrameErrors frame_errors;

  // Many NICs send a few frames to one NIC at the same time, in a lossy class. Their times are a
  // Poisson process.
  struct Microbursts {
    SimTime period = 0;  // mean time between two bursts; 0: none
    uint32_t senders = 32;
    uint32_t frames = 4;  // frames of each sender
  };
  Microbursts microbursts;

  // A share of the switch ports counts a frame that it does not process (LLDP, unknown VLAN) as
  // discarded once in each period.
  struct HarmlessDiscards {
    double ports = 0;
    SimTime period = 30 * kSecond;
  };
  HarmlessDiscards harmless_discards;

  // Each GPU has a constant speed from 1 minus this fraction to 1 of the nominal speed.
  double gpu_clock_spread = 0;

  bool has_link_errors() const {
    return bit_error_ratio.on() || pre_fec_bit_error_ratio.on() || frame_errors.ports > 0;
  }
};

enum class MaintenanceKind : uint8_t {
  kLinkDrain,      // the link is down for a while, for example to replace its transceiver
  kSwitchUpgrade,  // the switch reboots
  kHostReboot,     // the NICs of the host are down; no job may use the host
};

// Planned work. From `start`, routes avoid the element. After `drain`, it is down for `duration`.
struct MaintenanceOptions {
  MaintenanceKind kind = MaintenanceKind::kLinkDrain;
  topology::LinkIndex link = topology::kNone;
  topology::NodeIndex node = topology::kNone;  // a switch or a host
  SimTime start = 0;
  SimTime drain = 0;
  SimTime duration = kSecond;
};

// What happened in a run, for the truth.
enum class BenignKind : uint8_t {
  kFrameError,
  kMicroburst,
  kHarmlessDiscards,
  kLinkDrain,
  kSwitchUpgrade,
  kHostReboot,
  kJobStop,
  kJobRestart,
  kInterlude,
  kCheckpoint,
  kForeignTraffic,
  kGpuClock,
};
std::string_view NameOf(BenignKind kind);  // "frame_error", "link_drain", ...

struct BenignEvent {
  BenignKind kind = BenignKind::kFrameError;
  std::string place;      // as in TruthFault.place; a job's name for events of a job
  std::string direction;  // sending port, if the event concerns one direction of a link
  SimTime start = 0;
  SimTime end = 0;
  uint64_t count = 0;  // affected frames, if they are counted
};

// The compute time of a GPU relative to the nominal one: 1 to 1 / (1 - spread). It depends on the
// seed and on the GPU only.
double GpuPace(uint64_t seed, topology::GpuIndex gpu, double spread);

// The ratio that this direction of a link draws from a range. `sender` is the sending port.
double DrawRatio(const RatioRange& range, uint64_t seed, std::string_view purpose,
                 topology::PortIndex sender);

// Error rates at a port, derived from bit error ratios. A codeword of RS(544,514), the FEC of
// Ethernet from 50 Gb/s per lane (IEEE 802.3 clause 91), has 5440 bits and corrects 15 symbols.
inline constexpr double kCodewordBits = 5440;
inline constexpr double kBitErrorsOfUncorrected = 16;  // least number in an uncorrected codeword
// Codewords per second with an error that FEC corrects.
double CorrectedRate(double pre_fec_bit_error_ratio, double bits_per_second);
// Events per second that damage what is on the link: uncorrected codewords or, without FEC, single
// wrong bits.
double DamageRate(double bit_error_ratio, double bits_per_second, bool fec);

}  // namespace rocescope::sim
