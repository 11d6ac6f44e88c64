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

// One queue pair that sends data: it uses one path at a time.
struct FlowSender {
  QueuePair* queue_pair = nullptr;
  Exchange traffic;                            // during one run of the collective
  uint32_t path_number = topology::kNone;      // in Paths
  uint32_t way_back_number = topology::kNone;  // of its peer
  std::span<const topology::PortIndex> path;   // egress ports, the NIC's first; empty: none
  std::span<const topology::PortIndex> way_back;
  // Mean number of frames behind a lost frame, which go-back-N repeats too.
  double frames_in_flight = 1;
  SimTime round_trip = 0;
  bool is_cut = false;          // what it sends does not arrive
  bool is_unreachable = false;  // there is no path now; `path` is the last one
  uint32_t channel = 0;         // numbered within the group
  Verb verb = Verb::kWrite;     // READs are simulated as WRITEs
  double bursts = 0;  // transfers in one run whose last frame, if lost, only a timeout repairs
};

// The flows of a group that have the same rate, because they compete for the same links. The lanes
// of a collective progress independently: a ring lets a fast connection run ahead of a slow one by
// almost half of its steps. The collective ends when its last lane ends. A lane has the same
// senders on the same paths during the whole run; other paths mean other lanes.
struct FlowLane {
  uint32_t group = 0;
  uint32_t user = 0;              // in the competition for links
  std::vector<uint32_t> senders;  // indices in FlowGroup::senders
  bool is_cut = false;            // its flows cannot pass
  bool is_active = false;
  double done = 0;   // fraction of the current run
  double total = 0;  // runs on these paths, and the fraction of the current one
  SimTime updated = 0;
  double rate = -1;       // bytes/s of each flow while it sends; negative: not known yet
  double per_second = 0;  // progress in runs
  uint64_t version = 0;
  SimTime penalty_until = 0;  // recovers from a time without a path
  uint32_t series = 0;        // of `total`
  SimTime began = 0;          // its present use
  double total_at_begin = 0;
};

// What follows from a lost frame.
enum class LossEffect : uint8_t {
  // Data.
  kRepeated,  // a NAK makes the sender go back
  kLate,      // nothing follows, so that the sender goes back after a timeout
  kBehind,    // the receiver waits for an earlier frame
  kStalled,   // repeated data: the receiver sends no second NAK, and the sender times out
  // Other frames of the sender: a later acknowledgement replaces a lost one.
  kControl,
  // Frames of the receiver.
  kAnswer,     // as kControl
  kNak,        // the sender goes back after a timeout
  kGrant,      // a clear-to-send: the next one causes a NAK
  kLateGrant,  // the last clear-to-send of a run: repeated after a timeout
};
constexpr bool IsAnswer(LossEffect effect) { return effect >= LossEffect::kAnswer; }

struct ExpectedLoss {
  uint32_t sender = 0;    // index in FlowGroup::senders
  uint32_t position = 0;  // index in the path or the way back of the sender
  uint32_t source = 0;    // index in the sources of losses
  // Frames of one run that pass the place.
  double data_frames = 0;
  double control_frames = 0;  // acknowledgements and clear-to-sends
  bool is_answer = false;     // on the way back
};

// The traffic of a collective of a group of ranks, of a checkpoint, or of a stream.
struct FlowGroup {
  enum class Kind : uint8_t { kCollective, kCheckpoint, kStream };
  Kind kind = Kind::kCollective;
  uint32_t job = topology::kNone;  // index of the start of a job; kNone: a stream
  uint32_t phase = 0;
  std::vector<uint32_t> members;               // ranks
  std::shared_ptr<const CollectiveCost> cost;  // of a collective
  std::vector<FlowSender> senders;
  double load = 1;        // stream: maximum share of the line rate
  double wire_bytes = 1;  // stream and checkpoint: of each sender in one run
  double line_rate = 0;   // bytes/s
  SimTime latency = 0;
  // Derived from the paths and the state of the fabric.
  uint32_t routes = topology::kNone;  // for which the paths were found
  double limit = 0;                   // bytes/s that the NICs allow
  SimTime more_latency = 0;           // added to each run by slow links
  // Expected losses in one run, cumulated over the senders.
  std::vector<double> benign_losses;
  std::vector<ExpectedLoss> losses;
  std::vector<topology::PortIndex> ports;  // on paths and ways back, in ascending order
  std::vector<uint32_t> lanes;             // in use
  std::map<std::vector<uint32_t>, uint32_t> known_lanes;  // by senders and paths
  // Draws the losses. Each group has its own, so that a fault does not change those of other
  // groups.
  Random random{0};
  // State.
  bool is_present = false;  // its job runs
  bool is_active = false;
  uint32_t waiting = 0;     // ranks that have not arrived
  uint32_t open_lanes = 0;  // of the current run
  uint32_t queued = 0;      // checkpoints that wait for the one before
  SimTime ready = 0;        // latest arrival
  SimTime added = 0;        // time that losses add to the current run
  double slowdown = 1;
  uint64_t version = 0;
};

// A place that loses frames of a fault: a direction of a link or a switch.
struct LossSource {
  topology::PortIndex sender = topology::kNone;
  topology::NodeIndex node = topology::kNone;
  double probability = 0;     // at the fault's full severity
  bool counted_fcs = false;   // the receiving port counts them
  bool counted_icrc = false;  // the receiving NIC counts them
  bool counted_mtu = false;   // the switch counts them
  bool cuts = false;          // loses everything
  double burst = 1;           // mean number of consecutive frames that are lost
  uint32_t least_length = 0;  // bytes; shorter frames pass
  std::string cause;          // as in the truth
  uint32_t fault = 0;
};

}  // namespace rocescope::sim
