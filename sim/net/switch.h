// SPDX-License-Identifier: BSD-3-Clause
// A switch: looks up next hops, selects one by a flow hash (ECMP), queues in the shared buffer,
// sets CE marks (WRED/ECN), and sends PFC pause frames.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sim/engine/engine.h"
#include "sim/engine/random.h"
#include "sim/net/buffer.h"
#include "sim/net/port.h"
#include "sim/net/watchdog.h"

namespace rocescope::sim {

// Thresholds of every egress queue: no CE marks below the minimum, all frames above the maximum.
struct EcnOptions {
  uint64_t minimum = 100'000;  // bytes
  uint64_t maximum = 400'000;
  double maximum_probability = 0.2;  // probability at the maximum
};

// The hash input: the whole five-tuple, or only the addresses.
enum class HashFields : uint8_t { kFiveTuple, kAddresses };

struct SwitchOptions {
  BufferOptions buffer;
  EcnOptions ecn;
  uint8_t ecn_priorities = 1u << 3;  // mask
  uint64_t hash_seed = 0;
  HashFields hash_fields = HashFields::kFiveTuple;
  bool spray = false;   // packet spraying: a random port for each packet
  uint32_t mtu = 9216;  // IP bytes; longer frames are dropped
  uint16_t pause_quanta = 0xffff;
  WatchdogOptions watchdog;
  uint64_t random_seed = 0;
};

// Faults of a switch that affect individual frames.
struct SwitchFaults {
  double corrupts = 0;    // probability that it damages a frame
  double loses_cnps = 0;  // probability that it drops a CNP
  // The queue to which this switch assigns CNPs instead of the queue for their DSCP. The next
  // switch selects the queue by DSCP again.
  std::optional<uint8_t> cnp_priority;
  std::optional<EcnOptions> ecn;  // thresholds used instead of the configured ones
};

class Switch;

// Observes every frame when it arrives (before any other processing), when it starts to leave, and
// when it is dropped.
class SwitchObserver {
 public:
  virtual ~SwitchObserver() = default;
  virtual void Arrives(const Switch& at, const Port& port, const Frame& frame) = 0;
  virtual void Queues(const Switch& at, const Port& port, const Frame& frame) = 0;
  virtual void Departs(const Switch& at, const Port& port, const Frame& frame,
                       uint64_t queue_bytes) = 0;
  // `out` is the selected egress port, or nullptr if none was selected yet. A frame dropped because
  // of a full buffer has its TTL already decremented. Frames lost with a link, with the whole
  // switch or to a watchdog are not reported.
  virtual void Loses(const Switch& /*at*/, const Port* /*out*/, const Frame& /*frame*/,
                     LossCause /*cause*/) {}
};

// Provides routes. Ports are numbered within the switch, from 0.
class Forwarding {
 public:
  virtual ~Forwarding() = default;
  struct Hops {
    const uint16_t* ports;
    uint32_t count;
  };
  virtual Hops NextHops(uint32_t switch_number, const Frame& frame) = 0;
  // Returns the hash of the given fields.
  virtual uint64_t Digest(const Frame& frame, HashFields fields) const = 0;
};

class Switch final : public Device {
 public:
  Switch(Shared& shared, Forwarding& forwarding, uint32_t number, SwitchOptions options);

  // Call it before Start.
  Port& AddPort(uint64_t bits_per_second);
  void Start();  // call it after the ports are connected

  void Receive(Frame& frame, Port& port) override;
  void Departs(Frame& frame, Port& port) override;
  void Loses(Frame& frame, Port& port, LossCause cause) override;

  void SetObserver(SwitchObserver* observer) { observer_ = observer; }
  SwitchOptions& options() { return options_; }
  void SetAlpha(double alpha) { buffer_.SetAlpha(alpha); }
  // Returns the egress port for a frame; nullptr if there is none or if packets are sprayed.
  const Port* WouldChoose(const Frame& frame) {
    return options_.spray ? nullptr : Choose(frame, options_.hash_fields);
  }
  SwitchFaults& faults() { return faults_; }
  // Frames lost here by cause, and frames that were damaged.
  uint64_t lost(LossCause cause) const { return lost_[static_cast<size_t>(cause)]; }
  uint64_t corrupted() const { return corrupted_; }
  // CNPs that waited behind other frames in a queue that is not theirs.
  uint64_t held_up_cnps() const { return held_up_cnps_; }
  // Frames whose CE marking differs from what the configured thresholds would give.
  uint64_t marked_otherwise() const { return marked_otherwise_; }
  // Pauses that the configured alpha would not have caused.
  uint64_t early_pauses() const { return early_pauses_; }
  // Frames whose egress port differs from what a five-tuple hash would select.
  uint64_t misdirected() const { return misdirected_; }
  // Crash and reboot: ports go down and queues are lost. After a reboot, the caller brings the
  // ports up again.
  void SetUp(bool up);
  bool is_up() const { return up_; }
  void SetBlackhole(uint32_t destination, bool on);  // silently drops traffic to this NIC

  uint32_t number() const { return number_; }
  size_t port_count() const { return ports_.size(); }
  Port& port(size_t number) { return *ports_[number]; }
  const Port& port(size_t number) const { return *ports_[number]; }
  const SharedBuffer& buffer() const { return buffer_; }
  SharedBuffer& buffer() { return buffer_; }

 private:
  struct Upstream {  // state of one priority of a port
    bool paused = false;
    SimTime refresh = kNever;
  };

  Port* Choose(const Frame& frame, HashFields fields);
  void Lose(Frame& frame, LossCause cause, const Port* out = nullptr);
  void CheckPause(Port& port, uint32_t priority);
  void CheckResume(Port& port, uint32_t priority);
  void Refresh();
  bool Marks(uint64_t queue_bytes);
  void Reclassify(Frame& cnp, const Port& out);

  Shared& shared_;
  Forwarding& forwarding_;
  const uint32_t number_;
  SwitchOptions options_;
  Random random_;
  SharedBuffer buffer_;
  std::vector<std::unique_ptr<Port>> ports_;
  std::vector<Upstream> upstream_;  // indexed by port and priority
  std::vector<uint32_t> blackholes_;
  SwitchObserver* observer_ = nullptr;
  SwitchFaults faults_;
  std::array<uint64_t, kLossCauses> lost_{};
  uint64_t corrupted_ = 0;
  uint64_t held_up_cnps_ = 0;
  uint64_t marked_otherwise_ = 0;
  uint64_t misdirected_ = 0;
  uint64_t early_pauses_ = 0;
  bool up_ = true;
  Timer<Switch, &Switch::Refresh> refresh_timer_;
  PauseWatchdog watchdog_;
};

}  // namespace rocescope::sim
