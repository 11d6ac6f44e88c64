// SPDX-License-Identifier: BSD-3-Clause
// A switch: looks up the next hops, chooses one by a hash of the flow, queues in the shared buffer,
// marks (WRED/ECN), and pauses those who send too much (PFC).
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

struct EcnOptions {  // of every egress queue: none below the minimum, all above the maximum
  uint64_t minimum = 100'000;  // octets
  uint64_t maximum = 400'000;
  double maximum_probability = 0.2;  // at the maximum
};

// What of a packet enters the hash: all of the five-tuple, or addresses alone.
enum class HashFields : uint8_t { kFiveTuple, kAddresses };

struct SwitchOptions {
  BufferOptions buffer;
  EcnOptions ecn;
  uint8_t ecn_priorities = 1u << 3;  // mask
  uint64_t hash_seed = 0;
  HashFields hash_fields = HashFields::kFiveTuple;
  bool spray = false;   // each packet by dice
  uint32_t mtu = 9216;  // octets of IP: a longer frame is lost
  uint16_t pause_quanta = 0xffff;
  WatchdogOptions watchdog;
  uint64_t random_seed = 0;
};

// What a switch does wrong, frame by frame.
struct SwitchFaults {
  double corrupts = 0;    // probability that it damages a frame
  double loses_cnps = 0;  // probability that it loses one
  // The class that CNPs wait in here, instead of theirs; the next switch trusts their DSCP again.
  std::optional<uint8_t> cnp_priority;
  std::optional<EcnOptions> ecn;  // thresholds that it uses instead of its own
};

class Switch;

// Sees every frame as it arrives, before anything can happen to it; as it begins to leave; and as
// it is lost.
class SwitchObserver {
 public:
  virtual ~SwitchObserver() = default;
  virtual void Arrives(const Switch& at, const Port& port, const Frame& frame) = 0;
  virtual void Queues(const Switch& at, const Port& port, const Frame& frame) = 0;
  virtual void Departs(const Switch& at, const Port& port, const Frame& frame,
                       uint64_t queue_bytes) = 0;
  // `out` is the port that it was for, or nullptr if none was chosen yet; one that found the buffer
  // full has its TTL counted down. What is lost with a link or the whole switch, or to a watchdog,
  // is not told.
  virtual void Loses(const Switch& /*at*/, const Port* /*out*/, const Frame& /*frame*/,
                     LossCause /*cause*/) {}
};

// Who knows where a destination lies. Ports by their number in the switch, from 0.
class Forwarding {
 public:
  virtual ~Forwarding() = default;
  struct Hops {
    const uint16_t* ports;
    uint32_t count;
  };
  virtual Hops NextHops(uint32_t switch_number, const Frame& frame) = 0;
  // The digest of the fields alone.
  virtual uint64_t Digest(const Frame& frame, HashFields fields) const = 0;
};

class Switch final : public Device {
 public:
  Switch(Shared& shared, Forwarding& forwarding, uint32_t number, SwitchOptions options);

  // Before Start.
  Port& AddPort(uint64_t bits_per_second);
  void Start();  // the ports are connected

  void Receive(Frame& frame, Port& port) override;
  void Departs(Frame& frame, Port& port) override;
  void Loses(Frame& frame, Port& port, LossCause cause) override;

  void SetObserver(SwitchObserver* observer) { observer_ = observer; }
  SwitchOptions& options() { return options_; }
  void SetAlpha(double alpha) { buffer_.SetAlpha(alpha); }
  // The port that a frame would leave by; nullptr: none, or another one each time (spraying).
  const Port* WouldChoose(const Frame& frame) {
    return options_.spray ? nullptr : Choose(frame, options_.hash_fields);
  }
  SwitchFaults& faults() { return faults_; }
  // Frames that ended here, by cause, and those that left damaged.
  uint64_t lost(LossCause cause) const { return lost_[static_cast<size_t>(cause)]; }
  uint64_t corrupted() const { return corrupted_; }
  // CNPs that found others waiting before them, in a class that is not theirs.
  uint64_t held_up_cnps() const { return held_up_cnps_; }
  // Frames whose mark, or none, is not what its own thresholds would have given them.
  uint64_t marked_otherwise() const { return marked_otherwise_; }
  // Frames that its hash sent elsewhere than that of the five-tuple would have.
  uint64_t misdirected() const { return misdirected_; }
  void SetUp(bool up);  // crash, and reboot: ports go down, queues are lost
  bool is_up() const { return up_; }
  void SetBlackhole(uint32_t destination, bool on);  // NIC that it silently forwards to nowhere

  uint32_t number() const { return number_; }
  size_t port_count() const { return ports_.size(); }
  Port& port(size_t number) { return *ports_[number]; }
  const Port& port(size_t number) const { return *ports_[number]; }
  const SharedBuffer& buffer() const { return buffer_; }
  SharedBuffer& buffer() { return buffer_; }

 private:
  struct Upstream {  // of a port's priority
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
  std::vector<Upstream> upstream_;  // by port and priority
  std::vector<uint32_t> blackholes_;
  SwitchObserver* observer_ = nullptr;
  SwitchFaults faults_;
  std::array<uint64_t, kLossCauses> lost_{};
  uint64_t corrupted_ = 0;
  uint64_t held_up_cnps_ = 0;
  uint64_t marked_otherwise_ = 0;
  uint64_t misdirected_ = 0;
  bool up_ = true;
  Timer<Switch, &Switch::Refresh> refresh_timer_;
  PauseWatchdog watchdog_;
};

}  // namespace rocescope::sim
