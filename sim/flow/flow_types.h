// SPDX-License-Identifier: BSD-3-Clause
// The parts of a run of the flow model: senders, lanes and groups of flows.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "sim/engine/random.h"
#include "sim/engine/time.h"
#include "sim/flow/collective_cost.h"
#include "sim/host/queue_pair.h"
#include "topology/fabric.h"

namespace rocescope::sim {

// One queue pair that sends data. It uses one path at a time.
struct FlowSender {
  QueuePair* queue_pair = nullptr;
  Exchange traffic;                               // during one execution of the collective
  uint32_t path_number = topology::kNone;         // in Paths
  uint32_t way_back_number = topology::kNone;     // in Paths, of the reverse path
  std::span<const topology::PortIndex> path;      // egress ports, the NIC's first; empty: none
  std::span<const topology::PortIndex> way_back;  // reverse path: that of its peer
  // Mean number of frames behind a lost frame. The sender retransmits them too (go-back-N).
  double frames_in_flight = 1;
  SimTime round_trip = 0;
  bool is_cut = false;          // its path or its reverse path is interrupted
  bool is_unreachable = false;  // there is no path now; `path` is the last one
  uint32_t channel = 0;         // number of the pair of ranks within the group
  Verb verb = Verb::kWrite;     // READs are simulated as WRITEs
  // Number of transfers in one execution after which the sender waits: if the last frame of such a
  // transfer is lost, the sender retransmits it only after a timeout.
  double bursts = 0;
};

// A lane: the flows of a group that cross the same contended links and therefore have the same
// rate. (The word has no relation to SerDes lanes.) The lanes of a collective progress
// independently, because a ring lets a fast connection run ahead of a slow one by almost half of
// its steps. The collective ends when its last lane ends. A lane has the same senders on the same
// paths during the whole run of the model. If paths change, the flows move to other lanes.
struct FlowLane {
  uint32_t group = 0;
  uint32_t user = 0;              // in the competition for links
  std::vector<uint32_t> senders;  // indices in FlowGroup::senders
  bool is_cut = false;            // paths of its flows are interrupted
  bool is_active = false;
  double done = 0;   // fraction of the current execution of the collective
  double total = 0;  // completed executions on these paths, and the fraction of the current one
  SimTime updated = 0;
  double rate = -1;       // bytes/s of each flow while it sends; negative: not known yet
  double per_second = 0;  // progress in executions per second
  uint64_t version = 0;
  SimTime penalty_until = 0;  // waits for a timeout after a time without a path
  uint32_t series = 0;        // index of the series of `total`
  SimTime began = 0;          // start of its present use
  double total_at_begin = 0;  // `total` at that time
};

// The effect of a lost frame, by the kind of the frame.
enum class LossEffect : uint8_t {
  // Data frames, which the sender of data sends.
  kRepeated,  // the receiver sends a NAK, and the sender retransmits (go-back-N)
  kLate,      // no frame follows, so there is no NAK: the sender retransmits after a timeout
  kBehind,    // no effect: an earlier frame is lost, so the sender retransmits this one anyway
  kStalled,   // the retransmitted frame is lost again: no second NAK, but a timeout
  // ACKs of clear-to-sends, which the sender of data sends.
  kControl,  // no effect: a later ACK acknowledges the same frames
  // Frames that the receiver of data sends.
  kAnswer,     // an ACK; no effect, as kControl
  kNak,        // a NAK: the sender retransmits after a timeout
  kGrant,      // a clear-to-send: the next one causes a NAK, and the receiver retransmits both
  kLateGrant,  // the last clear-to-send of an execution: retransmitted after a timeout
};
// Whether the receiver of data sends the frame.
constexpr bool IsAnswer(LossEffect effect) { return effect >= LossEffect::kAnswer; }

struct ExpectedLoss {
  uint32_t sender = 0;    // index in FlowGroup::senders
  uint32_t position = 0;  // index in the path or the reverse path of the sender
  uint32_t source = 0;    // index in the sources of losses
  // Frames of one execution that pass the lossy place.
  double data_frames = 0;
  double control_frames = 0;  // ACKs and clear-to-sends
  bool is_answer = false;     // on the reverse path
};

// The traffic of a collective of a group of ranks, of a checkpoint, or of a stream.
struct FlowGroup {
  enum class Kind : uint8_t { kCollective, kCheckpoint, kStream };
  Kind kind = Kind::kCollective;
  uint32_t job = topology::kNone;  // index of the start of a job; kNone: a stream
  uint32_t phase = 0;
  std::vector<uint32_t> members;               // ranks
  std::shared_ptr<const CollectiveCost> cost;  // set if kind is kCollective
  std::vector<FlowSender> senders;
  double load = 1;        // stream: maximum share of the line rate
  double wire_bytes = 1;  // bytes of a sender in one message of a stream or one checkpoint
  double line_rate = 0;   // bytes/s
  SimTime latency = 0;
  // Derived from the paths and the state of the fabric.
  uint32_t routes = topology::kNone;  // for which the paths were found
  double limit = 0;                   // bytes/s that the NICs allow
  SimTime more_latency = 0;  // time that faults of kind added_latency add to each execution
  // Expected losses of healthy links in one execution, cumulated over the senders.
  std::vector<double> benign_losses;
  std::vector<ExpectedLoss> losses;        // caused by faults
  std::vector<topology::PortIndex> ports;  // on paths and reverse paths, in ascending order
  std::vector<uint32_t> lanes;             // in use
  std::map<std::vector<uint32_t>, uint32_t> known_lanes;  // by senders and paths
  // Draws the losses. Each group has its own random numbers, so that a fault does not change the
  // losses of other groups.
  Random random{0};
  // Present state.
  bool is_present = false;  // its job runs, or the stream has started and not ended
  bool is_active = false;
  uint32_t waiting = 0;     // number of ranks that have not arrived
  uint32_t open_lanes = 0;  // lanes that have not completed the current execution
  uint32_t queued = 0;      // checkpoints that wait until the current one ends
  SimTime ready = 0;        // latest arrival of a rank
  SimTime added = 0;        // time that losses add to the current execution
  double slowdown = 1;
  uint64_t version = 0;
};

// A place where a fault loses frames: one direction of a link, or a switch.
struct LossSource {
  topology::PortIndex sender = topology::kNone;  // port that sends over the link; kNone: a switch
  topology::NodeIndex node = topology::kNone;    // the switch
  double probability = 0;                        // at the fault's full severity
  bool counted_fcs = false;   // the receiving port counts the frames as FCS errors
  bool counted_icrc = false;  // the receiving NIC counts the frames as iCRC errors
  bool counted_mtu = false;   // the switch counts the frames as MTU drops
  bool cuts = false;          // loses all frames
  double burst = 1;           // mean number of consecutive frames that are lost
  uint32_t least_length = 0;  // bytes; shorter frames pass
  std::string cause;          // as in the truth
  uint32_t fault = 0;
};

}  // namespace rocescope::sim
