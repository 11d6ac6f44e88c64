// SPDX-License-Identifier: BSD-3-Clause
// A port: eight queues, a transmitter that PFC can hold priority by priority, and the wire to its
// peer. A frame that meets an idle wire costs one event, its arrival.
#pragma once

#include <array>
#include <cstdint>

#include "sim/engine/engine.h"
#include "sim/net/frame.h"

namespace rocescope::sim {

class Port;

// Why a frame ended other than at its receiver.
enum class LossCause : uint8_t {
  kLinkDown,
  kWireFault,  // gray loss
  kBitError,   // bad FCS at the next MAC
  kBufferFull,
  kNoRoute,
  kTtlExpired,
  kBlackhole,
  kTooLong,     // for the egress port's MTU
  kDeviceDown,  // switch or NIC crashed
  kBadIcrc,     // the receiving NIC's check
  kSelective,   // a switch that loses frames of one kind
  kWatchdog,    // a PFC watchdog emptied the queue
  kCount
};
inline constexpr size_t kLossCauses = static_cast<size_t>(LossCause::kCount);

// A switch, or a NIC.
class Device {
 public:
  virtual ~Device() = default;
  // A frame has arrived whole; the device owns it now.
  virtual void Receive(Frame& frame, Port& port) = 0;
  // A frame begins to leave through `port`; it left its queue.
  virtual void Departs(Frame& frame, Port& port) = 0;
  // A frame ended in its queue, or was not let in; the device owns it now.
  virtual void Loses(Frame& frame, Port& port, LossCause cause) = 0;
  // The transmitter has nothing to send: a NIC makes its next frame now, or says nullptr and calls
  // Port::Wake later. A switch has nothing but what it put into the queues.
  virtual Frame* Pull(Port&) { return nullptr; }
  virtual bool Pulls() const { return false; }
};

// What a link's faults do to frames on it. Asked in the order of arrival, of every frame but those
// of PFC.
class WireFault {
 public:
  enum class Fate : uint8_t {
    kPasses,
    kLost,      // without a trace
    kBitError,  // the next MAC counts a bad FCS and drops it
  };
  virtual ~WireFault() = default;
  virtual Fate FateOf(const Frame& frame) = 0;
};

// What is common to all parts of a network.
struct Shared {
  Engine& engine;
  FramePool frames;
  std::array<uint64_t, kLossCauses> lost{};  // frames of queue pairs
  uint64_t pauses_out = 0;                   // of PFC, on their way

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
  uint64_t ttl_expired = 0;  // received and dropped, as no_route
  uint64_t no_route = 0;
  uint64_t too_long = 0;   // not sent, as discarded
  uint64_t discarded = 0;  // the link was down, or a watchdog empties the queue
  uint64_t went_down = 0;  // times
  std::array<uint64_t, kPriorities> pause_tx{};
  std::array<uint64_t, kPriorities> pause_rx{};
  std::array<SimTime, kPriorities>
      paused{};  // that the transmitter was held, up to its last change
  std::array<SimTime, kPriorities> pausing{};  // that the peer was held, likewise
  std::array<uint64_t, kPriorities> ecn_marked{};
  std::array<uint64_t, kPriorities> dropped{};    // received, and the buffer was full
  std::array<uint64_t, kPriorities> watermark{};  // most octets queued
  std::array<uint64_t, kPriorities> watchdog{};   // times that it let a held queue go
};

class Port {
 public:
  Port(Shared& shared, Device& device, uint32_t number, uint64_t bits_per_second)
      : shared_(shared), device_(device), number_(number), bits_per_second_(bits_per_second) {}
  Port(const Port&) = delete;
  Port& operator=(const Port&) = delete;

  // Both ports get to know each other, and are up.
  static void Connect(Port& a, Port& b, SimTime delay);

  void Enqueue(Frame& frame);
  // Before everything that waits, whatever is paused.
  void SendPause(uint8_t priorities, uint16_t quanta);
  // There may be something to Pull.
  void Wake();

  void SetUp(bool up);
  void SetRate(uint64_t bits_per_second) { bits_per_second_ = bits_per_second; }
  void SetDelay(SimTime delay) { delay_ = delay; }
  void SetFault(WireFault* fault) { fault_ = fault; }  // of frames that this port sends
  // Loses what waits with this priority, and what is still to come: a watchdog's action "drop".
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
  // Since when it is paused, without a break; kNever if it is not.
  SimTime PausedSince(uint32_t priority) const {
    return IsPaused(priority) ? paused_since_[priority] : kNever;
  }
  // Up to now, also of a pause under way: that the peer held this port, and this one the peer.
  SimTime PausedFor(uint32_t priority) const;
  SimTime PausingFor(uint32_t priority) const;

 private:
  // Control (congestion notifications, acknowledgements where they are set apart) goes first.
  static constexpr uint32_t kStrict = 5;  // priorities from here on

  void TryTransmit();
  Frame* Next();
  void Transmit(Frame& frame);
  void Arrive();
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
  bool wakes_ = false;  // Free is waiting
  WireFault* fault_ = nullptr;

  SimTime busy_until_ = 0;
  SimTime last_arrival_ = 0;
  uint8_t waiting_ = 0;   // mask of priorities with frames
  uint8_t paused_ = 0;    // mask
  uint8_t dropping_ = 0;  // mask
  uint8_t shut_ = 0xff;   // mask: what is not let in; all while the link is down
  uint8_t pausing_ = 0;   // mask: the peer was told to
  uint8_t turn_ = 0;      // the priority below kStrict that was served last
  FrameQueue urgent_;
  std::array<FrameQueue, kPriorities> queues_;
  std::array<uint64_t, kPriorities> queued_{};
  uint64_t queued_all_ = 0;
  FrameQueue in_flight_;
  std::array<SimTime, kPriorities> paused_since_{};
  std::array<SimTime, kPriorities> paused_until_{};
  std::array<SimTime, kPriorities> pausing_since_{};
  PortCounters counters_;

  MemberEvent<Port, &Port::Arrive> arrival_{*this};
  MemberEvent<Port, &Port::Free> free_{*this};
  Timer<Port, &Port::PauseEnds> pause_timer_{shared_.engine, *this};
};

}  // namespace rocescope::sim
