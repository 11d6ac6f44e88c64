// SPDX-License-Identifier: BSD-3-Clause
// The flow model: the same jobs on the same fabric as in the packet model, but as rates. Flows of a
// collective share links max-min fairly; losses, pauses and retransmissions are rates with their
// effect on the duration of an iteration. A day of 2,048 GPUs takes seconds. README.md states the
// assumptions.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <queue>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "sim/engine/random.h"
#include "sim/flow/collective_cost.h"
#include "sim/flow/fair_rates.h"
#include "sim/flow/flow_history.h"
#include "sim/run/simulation.h"
#include "sim/scenario/scenario.h"

namespace rocescope::sim {

class FlowModel {
 public:
  // The scenario must outlive this object. An error names what the flow model cannot simulate.
  static Result<std::unique_ptr<FlowModel>> Make(const Scenario& scenario);
  ~FlowModel();

  using Progress = std::function<void(SimTime now)>;
  void Run(const Progress& progress);

  // What happened, for the ground truth.
  struct JobRecord {
    std::vector<Job::Iteration> iterations;
    SimTime failed = kNever;     // when a queue pair entered the error state
    uint64_t retransmitted = 0;  // frames
  };
  struct PathRecord {
    SimTime start;
    SimTime end;
    std::vector<topology::PortIndex> ports;  // egress ports of switches
    double bytes = 0;
  };
  struct FaultRecord {
    FaultOptions options;
    SimTime visible = kNever;
    uint64_t affected = 0;  // frames, or the kind's own measure
    bool is_active = false;
    std::vector<uint32_t> culprits;  // queue pairs
  };
  const std::map<std::string, uint64_t>& lost() const { return lost_; }  // frames, by cause
  const std::vector<JobRecord>& jobs() const { return job_records_; }
  // Indexed by the sender's queue pair.
  const std::vector<std::vector<PathRecord>>& paths() const { return path_records_; }
  const std::vector<FaultRecord>& faults() const { return fault_records_; }
  Simulation& simulation() { return *simulation_; }
  const FlowHistory& history() const { return history_; }
  uint64_t events() const { return event_count_; }
  uint64_t solutions() const { return solution_count_; }  // solved sets of active flows

 private:
  // One sender of a channel: it uses one path at a time.
  struct Sender {
    QueuePair* queue_pair = nullptr;
    Exchange traffic;                           // in one iteration
    std::vector<topology::PortIndex> path;      // egress ports, the NIC's first; empty: none
    std::vector<topology::PortIndex> way_back;  // of its peer
    uint32_t frames_in_flight = 1;              // go-back-N repeats as many after a loss
    SimTime round_trip = 0;
    bool is_cut = false;
    bool is_unreachable = false;  // there is no path now; `path` is the last one
    uint32_t lane = 0;            // the channel, numbered within the group
    double bursts = 0;            // transfers in one iteration
  };
  struct ExpectedLoss {
    uint32_t sender;    // index in Group::senders
    uint32_t position;  // index in Sender::path
    uint32_t source;    // index in sources_
    double frames;      // in one iteration
  };
  struct Load {
    topology::PortIndex port;
    double share;  // mean number of concurrent flows
  };
  // The flows of a group that have the same rate, because they compete for the same links. The
  // lanes of a collective progress independently: a ring lets a fast connection run ahead of a slow
  // one by almost half of its steps. The collective ends when its last lane ends.
  struct Lane {
    uint32_t group = 0;
    std::vector<uint32_t> senders;           // indices in Group::senders
    std::vector<topology::PortIndex> ports;  // links for which it competes
    std::vector<Load> loads;                 // on these links
    bool is_cut = false;                     // some flow cannot pass
    uint32_t component = topology::kNone;
    uint32_t place = 0;  // index in the component
    bool is_active = false;
    double done = 0;  // completed runs and the fraction of the current one
    double base = 0;  // `done` at the start of the current run
    SimTime updated = 0;
    double rate = -1;       // bytes/s of each flow while it sends
    double per_second = 0;  // progress
    uint64_t version = 0;
    SimTime penalty_until = 0;  // recovers from a time without a path
    uint32_t series = topology::kNone;
    double series_base = 0;  // `done` at the start of the series
    SimTime series_began = 0;
  };
  // The traffic of a collective of a group of ranks, or of a stream.
  struct Group {
    uint32_t job = topology::kNone;  // kNone: a stream
    uint32_t phase = 0;
    std::vector<uint32_t> members;  // ranks
    std::shared_ptr<const CollectiveCost> cost;
    std::vector<Sender> senders;
    double load = 1;           // stream: maximum share of the line rate
    double message_bytes = 1;  // stream: wire bytes of one unit of progress
    // Derived from the paths and the state of links and switches.
    double line_rate = 0;  // bytes/s
    double limit = 0;      // bytes/s that the NICs allow
    SimTime latency = 0;
    SimTime more_latency = 0;  // added to each run by slow links
    double benign_losses = 0;  // expected in one iteration
    std::vector<ExpectedLoss> losses;
    std::vector<uint32_t> lanes;  // indices in lanes_
    bool paths_changed = false;   // since the lanes were determined
    // State.
    bool is_active = false;
    uint32_t waiting = 0;     // ranks that have not arrived
    uint32_t open_lanes = 0;  // of the current run
    SimTime ready = 0;        // latest arrival
    SimTime added = 0;        // time that losses add to the current run
    double slowdown = 1;
    uint64_t version = 0;
  };
  // Lanes that can compete for a link.
  struct Component {
    std::vector<uint32_t> lanes;
    std::vector<FairLink> links;
    std::vector<topology::PortIndex> ports;  // the ports of `links`, in the same order
    std::vector<double> limits;
    std::vector<bool> active;
    struct Solution {
      std::vector<double> rates;
      std::vector<uint32_t> full;  // indices in `links`
    };
    std::unordered_map<std::vector<bool>, Solution> solutions;
  };
  struct Rank {
    uint32_t phase = 0;
    uint32_t iteration = 0;
    double slowdown = 1;
    double speed = 1;  // compute times on its GPU are multiplied by it
  };
  struct JobState {
    const Job* job = nullptr;
    std::vector<Rank> ranks;
    std::vector<std::vector<uint32_t>> group_of;  // by phase and rank; kNone: none
    std::vector<uint32_t> finished;               // by iteration: ranks
    Random random{0};
    uint32_t busy_series = 0;
    double busy_seconds = 0;
    bool ended = false;
  };
  // Marks, pauses and full queues of an egress port.
  struct PortState {
    double marks_per_second = 0;
    double pauses_per_second = 0;
    double paused_share = 0;
    SimTime since = 0;
    double marks = 0;
    double pauses = 0;
    double paused_ns = 0;
    uint32_t marks_series = topology::kNone;
    uint32_t pause_series = topology::kNone;
    uint32_t paused_series = topology::kNone;
    uint64_t queue_bytes = 0;
  };
  // A place that loses frames of a fault: a direction of a link or a switch.
  struct LossSource {
    topology::PortIndex sender = topology::kNone;
    topology::NodeIndex node = topology::kNone;
    double probability = 0;
    bool counted_fcs = false;   // the receiving port counts them
    bool counted_icrc = false;  // the receiving NIC counts them
    bool counted_mtu = false;   // the switch counts them
    bool cuts = false;          // loses everything
    std::string cause;          // as in the truth
    uint32_t fault = 0;
    bool is_active = false;
  };
  enum class EventKind : uint8_t { kGroupBegins, kGroupEnds, kLaneEnds, kAction };
  struct Event {
    SimTime time;
    uint64_t order;
    EventKind kind;
    uint32_t index;
    uint64_t version;
    bool operator>(const Event& other) const {
      return time != other.time ? time > other.time : order > other.order;
    }
  };

  explicit FlowModel(const Scenario& scenario) : scenario_(scenario) {}
  Status Prepare();
  Status PrepareJob(uint32_t number);
  void AddStreamGroup(QueuePair& requester, double load, uint64_t message);
  void PrepareGpus();

  // flow_model.cc
  void Push(SimTime time, EventKind kind, uint32_t index, uint64_t version = 0);
  void At(SimTime time, std::function<void()> action);
  void StartJob(uint32_t job);
  void Compute(uint32_t job, uint32_t rank, SimTime now);
  void BeginGroup(uint32_t group);
  void EndGroup(uint32_t group);
  void NextPhase(uint32_t job, uint32_t rank);
  void Finish(uint32_t group);
  void EndLane(uint32_t lane);
  void SetActive(uint32_t group, bool on);
  void Advance(Lane& lane);
  void Resolve(uint32_t component);
  void SetRate(uint32_t lane, double rate);
  void FailJob(uint32_t job);

  // flow_paths.cc: paths, loads, competition, and the counts of frames
  void FindPaths();  // after each change of routes, links or switches
  void FindPath(Sender& sender) const;
  void FindLimit(Group& group);
  void FindLanes();
  std::set<topology::PortIndex> FindCompetition() const;
  void FindComponents();
  void BeginSeries(Lane& lane);
  void EndSeries(Lane& lane);
  double CapacityOf(topology::PortIndex port) const;  // bytes/s
  double CriticalBytes(const Group& group) const;
  // Returns the first position on the path where everything is lost; the length of the path if the
  // way back is interrupted; nothing if frames pass.
  std::optional<uint32_t> CutOf(const Sender& sender) const;

  // flow_effects.cc: losses, marks and pauses
  void FindLosses(Group& group);
  void LoseCut(uint32_t lane);
  SimTime SampleLosses(uint32_t group);
  void AddLoss(Group& group, Sender& sender, uint32_t position, const LossSource* source,
               uint64_t frames, uint64_t late, SimTime from, SimTime until);
  void NoteAffected(uint32_t fault, uint64_t frames);
  void AddFrames(topology::PortIndex sender, uint32_t count, int32_t frames, int32_t bytes);
  void AddLostFrames(topology::PortIndex sender, uint32_t count);
  void UpdateCongestion(const Component& component, const std::vector<uint32_t>& full);
  void PauseSenders(const Component& component, topology::PortIndex port);
  void SetCongestion(topology::PortIndex port, double marks, double pauses, double share,
                     uint64_t queue_bytes);
  void MakeMarks(topology::PortIndex port);
  void MakePauses(topology::PortIndex port);
  uint64_t Poisson(double mean);

  // flow_faults.cc
  Status AddFault(const FaultOptions& options);
  void Toggle(uint32_t fault, bool on);
  void SetSources(uint32_t fault, bool on);
  void SetLinks(const std::vector<topology::LinkIndex>& links, bool up, uint32_t fault);
  void SetFlap(uint32_t fault, bool down);
  void SetStream(uint32_t group, bool on);
  void SetStraggler(uint32_t fault, bool on);
  void SetGpuState(topology::GpuIndex gpu, double slowdown);
  void DeriveState();  // from all active faults
  void SetOutage(uint32_t fault, bool on, topology::NodeIndex node, topology::PortIndex port);
  void EndOutage(uint32_t fault);

  // Frames that count as affected by a fault whose effect is not a number of lost frames.
  static constexpr uint64_t kOwnMeasure = 10;
  struct LossKey {
    uint32_t queue_pair;
    uint32_t position;
    uint32_t kind;
    auto operator<=>(const LossKey&) const = default;
  };
  struct LossSeries {
    uint32_t frames = topology::kNone;  // series
    // Series: last frames of a transfer, which only a timeout repairs.
    uint32_t late = topology::kNone;
    double count = 0;
    double late_count = 0;
  };

  const Scenario& scenario_;
  std::unique_ptr<Simulation> simulation_;
  std::unique_ptr<HistoryBuilder> builder_;
  FlowHistory history_;
  Random random_{0};
  SimTime now_ = 0;
  uint64_t order_ = 0;
  uint64_t versions_ = 0;
  uint64_t event_count_ = 0;
  uint64_t solution_count_ = 0;
  std::priority_queue<Event, std::vector<Event>, std::greater<>> events_;
  std::vector<std::function<void()>> actions_;
  std::vector<Group> groups_;
  std::vector<Lane> lanes_;
  std::vector<uint32_t> free_lanes_;
  std::vector<Component> components_;
  std::vector<JobState> jobs_;
  std::vector<PortState> ports_;
  std::vector<JobRecord> job_records_;
  std::vector<std::vector<PathRecord>> path_records_;
  std::vector<FaultRecord> fault_records_;
  std::vector<LossSource> sources_;
  std::map<LossKey, LossSeries> losses_;
  std::map<std::string, uint64_t> lost_;  // frames by cause
  // By full port: the ports that its switch pauses.
  std::vector<std::vector<topology::PortIndex>> paused_by_;

  bool routes_changed_ = true;

  std::map<uint32_t, std::vector<uint32_t>> stream_groups_;  // by fault
  std::map<uint32_t, FlowHistory::Outage> open_outages_;     // by fault
  std::set<uint32_t> flaps_down_;                            // flaps whose link is down now
  std::map<topology::PortIndex, std::pair<uint32_t, uint64_t>> flaps_;  // series, number

  // The state of the fabric.
  std::vector<uint32_t> link_down_reasons_;  // number of faults that hold the link down
  std::vector<bool> route_avoids_;           // links that routing avoids
  std::vector<double> capacity_factor_;      // by port
  std::vector<double> bit_error_ratio_;      // by port: of the link from it
  std::vector<SimTime> added_delay_;         // by port
  std::vector<double> receive_limit_;        // by NIC: bytes/s; 0: none
  std::vector<bool> storms_;                 // by NIC
  std::vector<bool> node_is_down_;
  std::vector<bool> gpu_is_used_;
  std::vector<std::vector<topology::NicIndex>> blackholes_;  // by node
  std::vector<uint32_t> mtu_;                                // by node
  std::vector<double> marks_factor_;                         // by node
  std::vector<double> loses_cnps_;                           // by node: probability
  std::vector<bool> pauses_early_;                           // by node
  std::map<topology::NicIndex, uint32_t> nic_fault_;  // faults whose effect shows in congestion
  std::map<topology::NodeIndex, uint32_t> node_fault_;
};

}  // namespace rocescope::sim
