// SPDX-License-Identifier: BSD-3-Clause
#include "sim/benign/benign.h"

#include <cmath>

#include "sim/engine/random.h"

namespace rocescope::sim {

std::string_view NameOf(BenignKind kind) {
  switch (kind) {
    case BenignKind::kFrameError:
      return "frame_error";
    case BenignKind::kMicroburst:
      return "microburst";
    case BenignKind::kHarmlessDiscards:
      return "harmless_discards";
    case BenignKind::kLinkDrain:
      return "link_drain";
    case BenignKind::kSwitchUpgrade:
      return "switch_upgrade";
    case BenignKind::kHostReboot:
      return "host_reboot";
    case BenignKind::kJobStop:
      return "job_stop";
    case BenignKind::kJobRestart:
      return "job_restart";
    case BenignKind::kInterlude:
      return "interlude";
    case BenignKind::kCheckpoint:
      return "checkpoint";
    case BenignKind::kForeignTraffic:
      return "foreign_traffic";
    case BenignKind::kGpuClock:
      return "gpu_clock";
  }
  return {};
}

double GpuPace(uint64_t seed, topology::GpuIndex gpu, double spread) {
  if (spread <= 0) return 1;
  return 1 / (1 - spread * Random(seed, "gpu pace", gpu).Uniform());
}

double DrawRatio(const RatioRange& range, uint64_t seed, std::string_view purpose,
                 topology::PortIndex sender) {
  if (!range.on()) return 0;
  return range.least * std::pow(range.most / range.least, Random(seed, purpose, sender).Uniform());
}

double CorrectedRate(double pre_fec_bit_error_ratio, double bits_per_second) {
  // The share of codewords with at least one wrong bit. Uncorrected ones are negligible among them.
  const double share = -std::expm1(kCodewordBits * std::log1p(-pre_fec_bit_error_ratio));
  return bits_per_second / kCodewordBits * share;
}

double DamageRate(double bit_error_ratio, double bits_per_second, bool fec) {
  return bit_error_ratio * bits_per_second / (fec ? kBitErrorsOfUncorrected : 1);
}

}  // namespace rocescope::sim
