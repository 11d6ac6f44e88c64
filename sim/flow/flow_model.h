// SPDX-License-Identifier: BSD-3-Clause
// The flow model: the same jobs on the same fabric as in the packet model, but as rates. Flows of a
// collective share links max-min fairly. CE marks, CNPs and pauses are rates. Losses are random
// draws for each execution of a collective; with their retransmissions and timeouts they delay it.
// README.md states the assumptions.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <queue>
#include <string>
#include <vector>

#include "sim/engine/random.h"
#include "sim/flow/competition.h"
#include "sim/flow/fabric_state.h"
#include "sim/flow/flow_history.h"
#include "sim/flow/flow_types.h"
#include "sim/flow/paths.h"
#include "sim/recording/exact_counters.h"
#include "sim/run/outcome.h"
#include "sim/run/simulation.h"
#include "sim/scenario/scenario.h"

namespace rocescope::sim {

class FlowModel {
 public:
  // The scenario must outlive this object. An error names what the flow model cannot simulate.
  // `without_fault`: as in Simulation::Output.
  static Result<std::unique_ptr<FlowModel>> Make(
      const Scenario& scenario, std::optional<size_t> without_fault = std::nullopt);
  ~FlowModel();

  using Progress = std::function<void(SimTime now)>;
  // Simulates until the scenario's end or until `until`, whichever is earlier.
  void Run(const Progress& progress, SimTime until = kNever);
  // Call TakeOutcome at most once, after Run.
  Outcome TakeOutcome();
  FlowHistory TakeHistory() { return std::move(history_); }
  // The entities that the history will contain; available before Run.
  std::vector<ExactCounters::Entity> Entities() const;
  std::vector<uint64_t> RetransmittedNow() const;  // frames, by job of the scenario

  // A queue pair's traffic on one path during the whole run. Spans and pointers are valid as long
  // as this object.
  struct SentFlow {
    // Index in the history: completed executions of the collective, or messages of a stream.
    uint32_t series;
    const FlowSender* sender;
    std::span<const topology::PortIndex> path;      // egress ports, the NIC's first
    std::span<const topology::PortIndex> way_back;  // reverse path
  };
  std::vector<SentFlow> SentFlows() const;

  // What happened, for the ground truth.
  struct JobRecord {
    std::vector<Job::Iteration> iterations;
    std::vector<Job::Break> breaks;
    SimTime failed = kNever;     // when a queue pair entered the error state
    bool stopped = false;        // the job ended or crashed
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
    uint64_t affected = 0;           // number of lost frames
    std::vector<uint32_t> culprits;  // queue pairs
    // Present state.
    bool is_active = false;
    bool is_down = false;  // flap: the link is down now
    double severity = 1;
    // Frames that each job of the scenario retransmitted until UntilOfVictims.
    std::vector<uint64_t> retransmitted;
  };
  const std::map<std::string, uint64_t>& lost() const { return lost_; }  // frames, by cause
  // Indexed as Simulation::jobs(): each start of a job is a job of its own.
  const std::vector<JobRecord>& jobs() const { return job_records_; }
  // Indexed by the sender's queue pair.
  const std::vector<std::vector<PathRecord>>& paths() const { return path_records_; }
  const std::vector<FaultRecord>& faults() const { return fault_records_; }
  // Except events of jobs, which follow from jobs().
  const std::vector<BenignEvent>& benign() const { return benign_events_; }
  Simulation& simulation() { return *simulation_; }
  const Simulation& simulation() const { return *simulation_; }
  const FlowHistory& history() const { return history_; }
  uint64_t events() const { return event_count_; }
  // Number of sets of competing lanes whose rates were computed.
  uint64_t solutions() const { return competition_->solutions(); }

 private:
  using Sender = FlowSender;
  using Lane = FlowLane;
  using Group = FlowGroup;
  struct Rank {
    uint32_t phase = 0;
    uint32_t iteration = 0;
  };
  struct JobState {
    const Job* job = nullptr;
    std::vector<Rank> ranks;
    std::vector<std::vector<uint32_t>> group_of;  // by phase and rank; kNone: none
    std::vector<uint32_t> groups;
    std::vector<uint32_t> finished;  // by iteration: number of ranks that finished it
    Random random{0};
    uint32_t busy_series = 0;
    double busy_seconds = 0;
    uint32_t finished_ranks = 0;
    bool is_running = false;  // it has processes
    bool ended = false;       // it no longer computes and sends
  };
  // CE marks, pauses and queue of an egress port.
  struct PortRates {
    double marks_per_second = 0;
    double paused_share = 0;  // fraction of the time
    uint64_t queue_bytes = 0;
    bool operator==(const PortRates&) const = default;
  };
  struct PortState {
    PortRates rates;
    SimTime since = 0;
    SimTime queue_since = 0;  // when rates.queue_bytes last changed
    // The flows over the port determine which NICs receive its CE marks.
    struct Marks {
      uint32_t series = 0;
      double total = 0;
    };
    std::map<std::vector<uint32_t>, Marks> marks;  // by groups, senders and paths of the flows
    Marks* current = nullptr;
    // In the ingress buffer of its peer, if this is a switch.
    uint64_t buffered = 0;   // bytes
    uint32_t unlimited = 0;  // number of backlogs without CE marks
    double pauses = 0;
    double paused_ns = 0;
    uint32_t pause_series = topology::kNone;
    uint32_t paused_series = topology::kNone;
  };
  // Bytes that wait in a switch for a congested port.
  struct Backlog {
    std::vector<topology::PortIndex> senders;  // ports of other nodes
    uint64_t bytes = 0;                        // of each sender
    bool is_unlimited = false;                 // no CE marks slow the senders down
  };
  // The rate at which a group would send over a port if only its NICs limited it.
  struct Demand {
    uint32_t group;
    double bytes_per_second;
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
  const topology::Fabric& fabric() const { return simulation_->real_fabric(); }
  SimTime AckTimeout() const;

  // flow_prepare.cc
  Status Prepare(std::optional<size_t> without_fault);
  struct Costs;
  Status PrepareJob(uint32_t number, Costs& costs);
  SimTime ShortestIteration(uint32_t job) const;
  Status CheckWork() const;
  Status PrepareCost(Group& group, const Job& job, Costs& costs);
  void ShareTraffic(Group& group, const Job& job, uint32_t which);
  void PrepareCheckpoint(uint32_t number);
  uint32_t AddStream(QueuePair& requester, double load, uint64_t message);
  void PrepareForeign();
  void PrepareGpus();
  Status AddFault(const FaultOptions& options, bool active);

  // flow_model.cc: jobs and progress
  void Push(SimTime time, EventKind kind, uint32_t index, uint64_t version = 0);
  void At(SimTime time, std::function<void()> action);
  void StartJob(uint32_t job);
  void StopJob(uint32_t job);  // ends its traffic
  void FailJob(uint32_t job);
  void Compute(uint32_t job, uint32_t rank, SimTime now);
  bool NextPhase(uint32_t job, uint32_t rank, SimTime now);  // false: the rank has finished
  Job::Break& BreakOf(uint32_t job, const Rank& rank, SimTime now);
  double SlowdownOf(uint32_t job, uint32_t rank) const;
  void Arrive(uint32_t group, SimTime now);
  void BeginGroup(uint32_t group);
  void Finish(uint32_t group);
  void EndLane(uint32_t lane);
  void SetActive(uint32_t group, bool on);
  void Engage(uint32_t lane);
  void Advance(Lane& lane);
  void SolveRates();
  void SetRate(uint32_t lane, double rate);
  SimTime TimeOfRun(const Group& group, double rate) const;
  void UpdateGpu(topology::GpuIndex gpu);

  // flow_lanes.cc: paths, loads, competition, and the counts of frames
  void SetPresent(std::span<const uint32_t> groups, bool present);
  // Call it after a change of the paths of these groups, or of links on their paths.
  void Update(std::vector<uint32_t> groups);
  void FindPaths(Group& group);
  bool HasOtherPaths(const Group& group);  // the present routes differ from the paths in use
  void FindLimit(Group& group);
  void RemoveDemands(uint32_t group);
  void AddDemands(uint32_t group);
  double DemandOf(topology::PortIndex port) const;  // bytes/s
  std::vector<std::pair<bool, std::vector<uint32_t>>> DistributeSenders(const Group& group) const;
  void FindLanes(uint32_t group);
  uint32_t LaneOf(uint32_t group, std::vector<uint32_t> senders);
  void SetLoads(uint32_t lane);
  void MakeCounts(Lane& lane);
  void Record(Lane& lane);  // adds its traffic to path_records_; call it when its use ends
  double CriticalBytes(const Group& group) const;
  // Returns the first position on the path where everything is lost; the length of the path if the
  // reverse path is interrupted; nullopt if frames pass.
  std::optional<uint32_t> CutOf(const Sender& sender) const;

  // flow_losses.cc
  struct LossDraw {  // the losses of one execution of a collective, or of one checkpoint
    Group& group;
    struct Losses {
      Sender& sender;
      uint32_t position;
      const LossSource* source;
      LossEffect effect;
      uint64_t count;
    };
    std::vector<Losses> losses;
    std::vector<double> delays;  // by FlowSender::channel
    std::map<const Sender*, uint64_t> naks;
  };
  bool Loses(const LossSource& source, std::span<const topology::PortIndex> path,
             uint32_t position) const;
  void FindLosses(Group& group);
  SimTime SampleLosses(uint32_t group);
  uint32_t BenignPlaceOf(const Sender& sender, Random& random);  // position on its path
  void LoseData(LossDraw& draw, Sender& sender, uint32_t position, const LossSource* source,
                uint64_t count, double probability);
  void LoseAnswers(LossDraw& draw, const ExpectedLoss& loss, double probability);
  void AddLoss(LossDraw& draw, Sender& sender, uint32_t position, const LossSource* source,
               LossEffect effect, uint64_t count);
  void AddLoss(Group& group, Sender& sender, uint32_t position, const LossSource* source,
               LossEffect effect, uint64_t frames, SimTime from, SimTime until);
  // The number of frames that are retransmitted after a loss.
  double RepeatedAfter(LossEffect effect, const Sender& sender) const;
  // Returns the series of the lost frames.
  uint32_t CountLoss(Sender& sender, uint32_t position, const LossSource* source,
                     LossEffect effect);
  void LoseCut(uint32_t lane);
  void StopLosses(const Sender& sender);
  void CountLosses();
  void AddLostFrames(topology::PortIndex sender, uint32_t count, int32_t bytes);

  // flow_effects.cc: CE marks and pauses
  // Adds lost frames of a fault, which is visible from the tenth one.
  void NoteAffected(uint32_t fault, uint64_t frames);
  void NoteVisible(uint32_t fault);  // the fault is visible from now on
  void AddFrames(topology::PortIndex sender, uint32_t count, int32_t frames, int32_t bytes);
  void UpdateCongestion(topology::PortIndex port);
  Backlog BacklogOf(topology::PortIndex port);
  bool IsPaused(topology::PortIndex sender) const;
  uint64_t PauseThreshold(topology::PortIndex sender) const;
  void SetBuffer(topology::PortIndex sender);
  uint64_t CongestedQueue(topology::NodeIndex node) const;
  std::vector<topology::PortIndex> SendersTo(topology::PortIndex port) const;
  void SetCongestion(topology::PortIndex port, bool is_full);
  void SetRates(topology::PortIndex port, const PortRates& rates);
  void SetQueue(topology::PortIndex port);
  void BeginMarks(topology::PortIndex port);
  void CountMarks(topology::PortIndex port, uint32_t series, std::span<const Sender* const> users,
                  double data_frames);
  void MakePauses(topology::PortIndex port);
  static uint64_t Poisson(Random& random, double mean);
  static uint64_t Binomial(Random& random, uint64_t number, double probability);

  // flow_faults.cc
  void Toggle(uint32_t fault, bool on);
  void Grow(uint32_t fault);
  void Flap(uint32_t fault);
  void Maintain(const MaintenanceOptions& work);
  // Derives the state from what is active now. `fault` has just started, grown or ended.
  void ChangeState(uint32_t fault = topology::kNone);
  // Kinds that are visible while their place is up, whatever frames they affect.
  static bool IsVisibleByItself(FaultKind kind);
  void NoteVisibleByItself(const std::vector<ActiveFault>& active);
  void NoteOutages(const FabricState& after);
  void NoteLinks(const FabricState& after);
  void Reroute();
  void NoteRetransmitted(uint32_t fault);

  // flow_benign.cc
  void PrepareBenign();
  void Strike(topology::PortIndex sender);
  void RepeatStrikes(topology::PortIndex sender);
  void NoteBroken(topology::PortIndex sender, uint64_t frames);
  void AddBurst(const BenignLife::Burst& burst);
  void AddHarmlessDiscards();
  void AddFecCounts();

  struct LossKey {
    uint32_t queue_pair;
    uint32_t position;
    uint32_t kind;
    uint32_t path;
    LossEffect effect;
    auto operator<=>(const LossKey&) const = default;
  };
  struct LossSeries {
    uint32_t series = topology::kNone;
    double frames = 0;  // not whole after StopLosses()
  };
  struct Flaps {
    uint32_t series = topology::kNone;
    uint64_t number = 0;
  };

  const Scenario& scenario_;
  std::unique_ptr<Simulation> simulation_;
  std::unique_ptr<HistoryBuilder> builder_;
  std::unique_ptr<Paths> paths_;
  std::unique_ptr<Competition> competition_;  // a link is the port that sends over it
  FlowHistory history_;
  Random random_{0};
  SimTime now_ = 0;
  uint64_t order_ = 0;
  uint64_t versions_ = 0;
  uint64_t event_count_ = 0;
  std::priority_queue<Event, std::vector<Event>, std::greater<>> events_;
  std::vector<std::function<void()>> actions_;
  std::vector<uint32_t> free_actions_;

  std::vector<JobState> jobs_;
  std::vector<Group> groups_;
  std::vector<Lane> lanes_;
  std::vector<uint32_t> lane_of_user_;
  std::vector<PortState> ports_;
  // Indexed by port: the present groups with this port on a path or a reverse path.
  std::vector<std::vector<uint32_t>> groups_at_;
  std::vector<std::vector<Demand>> demands_;  // by port: of present groups
  std::vector<bool> is_contended_;            // by port: its demands may exceed its capacity
  // Ports whose demands, capacity or flows changed.
  std::vector<topology::PortIndex> touched_;

  std::vector<LossSource> sources_;
  std::map<LossKey, LossSeries> losses_;
  std::map<std::string, uint64_t> lost_;  // frames, by cause
  std::vector<uint32_t> idle_strikes_;    // by port: frame errors that wait for the next frame
  std::vector<double> damage_;            // by port: FCS errors per bit sent by a healthy link
  std::map<topology::PortIndex, BenignEvent> broken_;  // frames that healthy links damaged
  std::vector<Backlog> backlogs_;                      // indexed by congested port

  FabricState state_;
  std::vector<ActiveMaintenance> maintenance_;
  std::map<uint32_t, std::vector<uint32_t>> fault_streams_;  // by fault: groups of its streams
  std::map<topology::PortIndex, Flaps> flaps_;
  std::map<std::pair<topology::NodeIndex, topology::PortIndex>, SimTime> outages_;  // begin
  std::map<topology::GpuIndex, uint32_t> gpu_users_;  // number of jobs that run on each GPU

  uint64_t frames_sent_ = 0;  // by NICs
  SimTime end_ = 0;           // end of the run
  std::vector<JobRecord> job_records_;
  std::vector<std::vector<PathRecord>> path_records_;
  std::vector<FaultRecord> fault_records_;
  std::vector<BenignEvent> benign_events_;
};

}  // namespace rocescope::sim
