// SPDX-License-Identifier: BSD-3-Clause
// A port: eight queues, a transmitter that PFC can pause for each priority, and the link to its
// peer. A frame on an idle link costs one event, its arrival.
#pragma once

#include <array>
#include <cstdint>

#include "sim/engine/engine.h"
#include "sim/net/frame.h"

namespace rocescope::sim {

class Port;

// Why a frame was lost.
enum class LossCause : uint8_t {
  kLinkDown,
  kWireFault,  // gray loss: no counter
  kBitError,   // bad FCS at the next MAC
  kBufferFull,
  kNoRoute,
  kTtlExpired,
  kBlackhole,
  kTooLong,     // above the MTU of the egress port
  kDeviceDown,  // switch or NIC crashed
  kBadIcrc,     // the receiving NIC's iCRC check failed
  kSelective,   // a switch drops one kind of frame
  kWatchdog,    // a PFC watchdog emptied the queue
  kCount
};
inline constexpr size_t kLossCauses = static_cast<size_t>(LossCause::kCount);

// A switch, or a NIC.
class Device {
 public:
  virtual ~Device() = default;
  // A frame has arrived completely; the device owns it now.
  virtual void Receive(Frame& frame, Port& port) = 0;
  // A frame starts to leave through `port`; it has left its queue.
  virtual void Departs(Frame& frame, Port& port) = 0;
  // A frame was dropped from or at its queue; the device owns it now.
  virtual void Loses(Frame& frame, Port& port, LossCause cause) = 0;
  // The transmitter is idle. A NIC returns its next frame, or returns nullptr and calls Port::Wake
  // later. A switch sends only what it queued.
  virtual Frame* Pull(Port&) { return nullptr; }
  virtual bool Pulls() const { return false; }
};

// Faults of a link. Called for every frame in order of arrival, except PFC frames and frames that
// were delayed before.
class WireFault {
 public:
  enum class Fate : uint8_t {
    kPasses,
    kLost,      // dropped without a counter
    kBitError,  // the next MAC counts a bad FCS and drops the frame
    kDelayed,   // arrives after delay(), so that later frames overtake it
  };
  virtual ~WireFault() = default;
  virtual Fate FateOf(const Frame& frame) = 0;
  // Returns the delay of the last frame, if its fate was kDelayed.
  virtual SimTime delay() const { return 0; }
};

// Codewords with errors since the start of the run, at the receiving end of a link.
struct FecCounts {
  uint64_t corrected = 0;
  uint64_t uncorrected = 0;
};
class FecSource {
 public:
  virtual ~FecSource() = default;
  virtual FecCounts FecAt(SimTime now) = 0;  // `now` must not decrease
};

// State shared by all parts of a network.
struct Shared {
  Engine& engine;
  FramePool frames;
  std::array<uint64_t, kLossCauses> lost{};  // frames of queue pairs
  uint64_t pauses_out = 0;                   // PFC frames in flight

  explicit Shared(Engine& the_engine) : engine(the_engine) {}
  void Lose(Frame& frame, LossCause cause) {
    if (frame.kind == FrameKind::kPause) {
      RetirePause(frame);
      return;
    }
    ++lost[static_cast<size_t>(cause)];
    frames.GiveBack(frame);
  }
  void RetirePause(Frame& frame) {
    --pauses_out;
    frames.GiveBack(frame);
  }
};

struct PortCounters {
  uint64_t tx_frames = 0;
  uint64_t tx_bytes = 0;  // without FCS
  uint64_t rx_frames = 0;
  uint64_t rx_bytes = 0;
  uint64_t fcs_errors = 0;
  uint64_t ttl_expired = 0;  // received and dropped, like no_route
  uint64_t no_route = 0;
  uint64_t too_long = 0;   // dropped before sending, like discarded
  uint64_t discarded = 0;  // dropped because the link was down or a watchdog emptied the queue
  uint64_t went_down = 0;  // number of times that the link went down
  uint64_t harmless_discards = 0;  // received frames that the switch does not process (LLDP)
  std::array<uint64_t, kPriorities> pause_tx{};
  std::array<uint64_t, kPriorities> pause_rx{};
  std::array<SimTime, kPriorities>
      paused{};  // time that the transmitter was paused, up to its last change
  // Time that this port paused its peer, up to its last change.
  std::array<SimTime, kPriorities> pausing{};
  std::array<uint64_t, kPriorities> ecn_marked{};
  std::array<uint64_t, kPriorities> dropped{};  // received and dropped because the buffer was full
  std::array<uint64_t, kPriorities> watermark{};  // maximum queue length in bytes
  // Number of times that a watchdog drained the queue.
  std::array<uint64_t, kPriorities> watchdog{};
};

class Port {
 public:
  Port(Shared& shared, Device& device, uint32_t number, uint64_t bits_per_second)
      : shared_(shared), device_(device), number_(number), bits_per_second_(bits_per_second) {}
  Port(const Port&) = delete;
  Port& operator=(const Port&) = delete;

  // Connects two ports and brings both up.
  static void Connect(Port& a, Port& b, SimTime delay);

  void Enqueue(Frame& frame);
  // Sends a pause frame before all queued frames, whatever is paused.
  void SendPause(uint8_t priorities, uint16_t quanta);
  // Announces that Pull may return a frame.
  void Wake();

  void SetUp(bool up);
  // What the configuration says; no effect on frames.
  void SetEnabled(bool enabled) { enabled_ = enabled; }
  bool is_enabled() const { return enabled_; }
  void SetRate(uint64_t bits_per_second) { bits_per_second_ = bits_per_second; }
  void SetDelay(SimTime delay) { delay_ = delay; }
  void SetFault(WireFault* fault) { fault_ = fault; }  // applies to frames that this port sends
  // The FEC decoder of this port; nullptr: the link reports no FEC counters.
  void SetFec(FecSource* fec) { fec_ = fec; }
  FecSource* fec() const { return fec_; }
  // Drops queued and future frames of this priority: the watchdog action "drop".
  void SetDropping(uint32_t priority, bool on);

  uint32_t number() const { return number_; }
  uint64_t bits_per_second() const { return bits_per_second_; }
  bool up() const { return up_; }
  Port* peer() const { return peer_; }
  uint64_t queued(uint32_t priority) const { return queued_[priority]; }
  uint64_t queued() const { return queued_all_; }
  SimTime busy_until() const { return busy_until_; }
  SimTime delay() const { return delay_; }
  bool IsPaused(uint32_t priority) const { return (paused_ >> priority & 1) != 0; }
  const PortCounters& counters() const { return counters_; }
  PortCounters& counters() { return counters_; }
  bool IsDropping(uint32_t priority) const { return (dropping_ >> priority & 1) != 0; }
  // Start of the current uninterrupted pause; kNever if the priority is not paused.
  SimTime PausedSince(uint32_t priority) const {
    return IsPaused(priority) ? paused_since_[priority] : kNever;
  }
  // Time up to now, including a current pause: how long the peer paused this port, and how long
  // this port paused its peer.
  SimTime PausedFor(uint32_t priority) const;
  SimTime PausingFor(uint32_t priority) const;

 private:
  // Control traffic (CNPs, and ACKs where they have their own class) is served first.
  static constexpr uint32_t kStrict = 5;  // priorities from here on are strict

  void TryTransmit();
  Frame* Next();
  void Transmit(Frame& frame);
  void Arrive();
  void Deliver(Frame& frame);  // to the peer
  void Refuse(Frame& frame);
  void Empty(uint32_t priority);
  void NotePausing(uint32_t priority, bool on);
  void ReceivePause(const Frame& frame);
  void Hold(uint32_t priority, SimTime until);
  void Release(uint32_t priority);
  void PauseEnds();
  void Free();

  Shared& shared_;
  Device& device_;
  const uint32_t number_;
  uint64_t bits_per_second_;
  Port* peer_ = nullptr;
  SimTime delay_ = 0;
  bool up_ = false;
  bool enabled_ = true;
  bool wakes_ = false;  // a Free event is scheduled
  WireFault* fault_ = nullptr;

  SimTime busy_until_ = 0;
  SimTime last_arrival_ = 0;
  uint8_t waiting_ = 0;   // mask of priorities with queued frames
  uint8_t paused_ = 0;    // mask of paused priorities
  uint8_t dropping_ = 0;  // mask of priorities that a watchdog drops
  // Mask of priorities that are not accepted; all of them while the link is down.
  uint8_t shut_ = 0xff;
  uint8_t pausing_ = 0;  // mask of priorities for which the peer was paused
  uint8_t turn_ = 0;     // last served priority below kStrict
  FrameQueue urgent_;
  std::array<FrameQueue, kPriorities> queues_;
  std::array<uint64_t, kPriorities> queued_{};
  uint64_t queued_all_ = 0;
  FrameQueue in_flight_;
  std::array<SimTime, kPriorities> paused_since_{};
  std::array<SimTime, kPriorities> paused_until_{};
  std::array<SimTime, kPriorities> pausing_since_{};
  PortCounters counters_;
  FecSource* fec_ = nullptr;

  MemberEvent<Port, &Port::Arrive> arrival_{*this};
  MemberEvent<Port, &Port::Free> free_{*this};
  Timer<Port, &Port::PauseEnds> pause_timer_{shared_.engine, *this};
};

}  // namespace rocescope::sim
