// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/daemon/service/doctor.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "analytics/job/host_name.h"
#include "appliance/api/message_value.h"
#include "appliance/daemon/service/node_uses.h"
#include "base/count_text.h"
#include "dataplane/decode/drop_reason.h"
#include "topology/fabric.h"

namespace rocescope {
namespace {

// A working session, exporter or link sends more often than this.
constexpr Duration kReportTimeout = std::chrono::seconds(15);
constexpr Duration kSilence = std::chrono::seconds(30);
// Refused telemetry and lost batches are problems for this time.
constexpr Duration kRecent = std::chrono::minutes(10);
constexpr uint64_t kEnough = 1000;       // minimum number of frames to judge shares
constexpr uint64_t kEnoughNumbers = 50;  // minimum number of packets to judge sequence numbers
constexpr double kLostShare = 0.001;
constexpr Duration kClockOffset = std::chrono::milliseconds(1);
constexpr size_t kMaxOfAKind = 5;

// Collects the problems of one kind: the first few, and their number.
class OfKind {
 public:
  OfKind(std::string_view kind, std::vector<Problem>& out) : kind_(kind), out_(out) {}
  ~OfKind() {
    if (count_ <= kMaxOfAKind) return;
    // Other kinds may have added problems since.
    out_[last_].sentence += fmt::format(" (and {} more)", count_ - kMaxOfAKind);
  }
  OfKind(const OfKind&) = delete;
  OfKind& operator=(const OfKind&) = delete;

  void Add(std::string place, std::string sentence, std::string recommended_action) {
    if (count_++ >= kMaxOfAKind) return;
    last_ = out_.size();
    out_.push_back({.kind = std::string(kind_),
                    .place = std::move(place),
                    .sentence = std::move(sentence),
                    .recommended_action = std::move(recommended_action)});
  }

 private:
  std::string_view kind_;
  std::vector<Problem>& out_;
  size_t count_ = 0;
  size_t last_ = 0;  // index in out_ of the last problem of this kind
};

double Seconds(Duration duration) { return 1e-9 * static_cast<double>(duration.count()); }

std::string_view HowToHear(SourceKind kind) {
  switch (kind) {
    case SourceKind::kInterface:
      return "check that the interface is up (`ip link`) and that a mirror session of a switch "
             "ends here; `rocescope plan` generates the configuration of mirror sessions";
    case SourceKind::kUdp:
      return "check that the switches send to this address and port and that no firewall blocks it "
             "(`nft list ruleset`); `rocescope plan` generates the configuration of the switches";
    case SourceKind::kDpdk:
      return "check that the link is up and that a mirror session of a switch ends at this port";
    case SourceKind::kScrape:
      return "check that the exporters run: `curl` their addresses from this machine";
    case SourceKind::kAgents:
      return "check that agents run on the hosts and that their configuration names this appliance";
  }
  return "";
}

void CheckSources(const DoctorInput& input, std::vector<Problem>& out) {
  OfKind ended("source_ended", out);
  for (const SourceState& source : input.sources) {
    if (source.error.empty()) continue;
    ended.Add(source.name, source.error, "fix the reported problem, then restart rocescope");
  }
  OfKind trouble("source_trouble", out);
  for (const SourceState& source : input.sources) {
    for (const std::string& sentence : source.problems) {
      trouble.Add(source.name, sentence,
                  "fix the reported problem; rocescope retries automatically");
    }
  }
}

void CheckSilence(const DoctorInput& input, std::vector<Problem>& out) {
  OfKind silent("silent_source", out);
  for (const SourceState& source : input.sources) {
    const SourceStatistics& counted = source.statistics;
    if (!source.error.empty()) continue;
    if (!counted.received_any && input.now - input.started > kReportTimeout) {
      silent.Add(source.name,
                 fmt::format("nothing received since start ({:.0f} s ago)",
                             Seconds(input.now - input.started)),
                 std::string(HowToHear(source.kind)));
    } else if (source.kind != SourceKind::kAgents &&  // idle agents send nothing
               counted.received_any && counted.last_arrival > input.started &&
               input.now - counted.last_arrival > kSilence) {
      silent.Add(source.name,
                 fmt::format("nothing received for {:.0f} s, after data had been received before",
                             Seconds(input.now - counted.last_arrival)),
                 std::string(HowToHear(source.kind)));
    }
  }
}

// Texts for the content of a source: its unit, what valid content is, and the recommended action.
struct Contents {
  std::string_view what;
  std::string_view are;
  std::string_view recommended_action;
};
constexpr Contents kFrames = {
    "frames", "are RoCE or telemetry",
    "include the ports and the priority of RoCE traffic in the mirror session; check that a "
    "`filter` in the configuration is not too narrow"};
constexpr Contents kDatagrams = {
    "datagrams", "are valid",
    "send INT 2.x reports to `udp.int` and sFlow version 5 to `udp.sflow`; check that the two are "
    "not swapped and that no other protocol uses the port"};

// Finds ports and sockets that receive almost no RoCE or telemetry.
void CheckContents(const DoctorInput& input, std::vector<Problem>& out) {
  OfKind eaten("rdma_nic_consumes_roce", out);
  OfKind foreign("no_roce", out);
  for (const SourceState& source : input.sources) {
    const Ledger& ledger = source.statistics.frames.ledger;
    const bool takes_frames =
        source.kind == SourceKind::kInterface || source.kind == SourceKind::kDpdk;
    const bool takes_datagrams = source.kind == SourceKind::kUdp;
    if (!(takes_frames || takes_datagrams) || ledger.received < kEnough ||
        ledger.decoded > ledger.received / 100) {
      continue;
    }
    const auto most = std::ranges::max_element(ledger.dropped);
    const DropReasonInfo& reason = kDropReasons[static_cast<size_t>(most - ledger.dropped.begin())];
    std::error_code none;
    if (source.kind == SourceKind::kInterface &&
        std::filesystem::exists(input.sys / "class/net" / source.name / "device/infiniband",
                                none)) {
      eaten.Add(source.name,
                fmt::format("of {} frames almost none are RoCE: the NIC supports RDMA and consumes "
                            "RoCE packets before the kernel receives them",
                            WithThousands(ledger.received)),
                "disable RDMA on this NIC (rmmod mlx5_ib, or set the devlink parameter enable_roce "
                "to false), or receive on a NIC without RDMA");
    } else {
      const auto& [what, are, recommended_action] = takes_datagrams ? kDatagrams : kFrames;
      foreign.Add(
          source.name,
          fmt::format("of {} {} {} {}; most are dropped as {} ({})", WithThousands(ledger.received),
                      what, WithThousands(ledger.decoded), are, reason.name, reason.sentence),
          std::string(recommended_action));
    }
  }
}

void CheckLosses(const DoctorInput& input, std::vector<Problem>& out) {
  OfKind lossy("frames_lost", out);
  OfKind slow("records_dropped", out);
  for (const SourceState& source : input.sources) {
    const SourceStatistics& counted = source.statistics;
    const uint64_t all = counted.frames.ledger.received + counted.missed;
    if (all >= kEnough &&
        static_cast<double>(counted.missed) > kLostShare * static_cast<double>(all)) {
      lossy.Add(source.name,
                fmt::format("the kernel or NIC dropped {} of {} frames before rocescope read them",
                            WithThousands(counted.missed), WithThousands(all)),
                source.kind == SourceKind::kDpdk
                    ? "use more lcores (`-l` in dpdk.eal, `lcores`) or larger memory pools "
                      "(`mbufs`), and isolate its cores (isolcpus)"
                    : "increase its `buffer` (and net.core.rmem_max), truncate and sample on the "
                      "switches, or receive with DPDK");
    }
    const uint64_t records = counted.records + counted.records_dropped;
    if (records >= kEnough &&
        static_cast<double>(counted.records_dropped) > kLostShare * static_cast<double>(records)) {
      slow.Add(
          source.name,
          fmt::format("{} of {} records were dropped because the analysis was too slow",
                      WithThousands(counted.records_dropped), WithThousands(records)),
          source.kind == SourceKind::kScrape
              ? "increase the `period` of the targets under `scrape`, scrape fewer metrics, or "
                "run the analysis on a faster core"
              : "run the analysis on a faster core, or increase `record_interval`");
    }
  }
}

void CheckAgentLosses(const DoctorInput& input, std::vector<Problem>& out) {
  OfKind lossy("agent_batches_lost", out);
  for (const AgentState& agent : LosingAgents(input.sources, input.now)) {
    lossy.Add(agent.host,
              fmt::format("the agent dropped {} ({} bytes) since its start, because its send "
                          "buffer was full",
                          Counted(agent.lost_batches, "batch"), WithThousands(agent.lost_bytes)),
              "check the network between the host and the appliance; increase `buffer` in the "
              "agent configuration, or `agents.max_bytes_per_second` in the appliance "
              "configuration");
  }
}

void CheckNumbers(const DoctorInput& input, std::vector<Problem>& out) {
  OfKind constant("constant_sequence", out);
  const auto stands_still = [](uint64_t seen, uint64_t repeats) {
    return seen >= kEnoughNumbers && repeats > seen / 2;
  };
  constexpr std::string_view kMeaning = "loss between the switch and rocescope cannot be measured";
  for (const MirrorStream& mirror : input.senders.mirrors) {
    if (!mirror.has_sequence || !stands_still(mirror.frames, mirror.repeats)) continue;
    constant.Add(fmt::format("{} session {}", ToString(mirror.source), mirror.session),
                 fmt::format("all mirrored frames have the sequence number {}: {}",
                             mirror.next_sequence - 1, kMeaning),
                 "check whether the firmware of the switch supports ERSPAN sequence numbers, use "
                 "ERSPAN type III, or check whether each frame arrives twice");
  }
  for (const TelemetrySource& sender : input.senders.telemetry) {
    if (!stands_still(sender.datagrams, sender.repeats)) continue;
    constant.Add(sender.is_sflow ? fmt::format("sFlow agent {}", ToString(sender.agent))
                                 : fmt::format("INT node {}", sender.node_id),
                 fmt::format("all datagrams have the same sequence number: {}", kMeaning),
                 "check whether a newer firmware of the switch numbers them, or whether each "
                 "datagram arrives twice");
  }
}

void CheckRefused(const DoctorInput& input, std::vector<Problem>& out) {
  OfKind unknown("unknown_sender", out);
  for (const RefusedSender& sender : RecentlyRefused(input.senders, input.now)) {
    unknown.Add(
        sender.is_sflow
            ? fmt::format("{} (sFlow agent {})", ToString(sender.source), ToString(sender.agent))
            : fmt::format("{} (INT node {})", ToString(sender.source), sender.node_id),
        fmt::format("telemetry from an unknown sender is ignored ({} datagrams)",
                    WithThousands(sender.datagrams)),
        "if it is a switch of this fabric, set its sflow_agent and int_switch_id in the topology "
        "file, and add the address that it sends from to `udp.senders`; otherwise find out who "
        "sends it");
  }
}

void CheckForeign(const DoctorInput& input, std::vector<Problem>& out) {
  OfKind foreign("foreign_node", out);
  for (const ForeignNodes& target : RecentlyForeign(input.sources, input.now)) {
    foreign.Add(
        target.url,
        fmt::format("the exporter may report only for {}, but also reports for {}{}: the appliance "
                    "dropped {}",
                    target.node, fmt::join(target.names, ", "), target.more ? ", and others" : "",
                    Counted(target.samples, "sample")),
        fmt::format("if the label with the name of the node contains another name of {0}, for "
                    "example of a container, set it to {0}; if the exporter is trusted to report "
                    "for all nodes, remove `node` from its entry in `scrape.targets`; otherwise "
                    "find out why it reports for other nodes",
                    target.node));
  }
}

bool HasSession(const MirrorStream& mirror) {
  return mirror.kind == MirrorKind::kErspan2 || mirror.kind == MirrorKind::kErspan3;
}

// Finds mirror sessions of switches in the topology that the topology does not declare.
void CheckSessions(const DoctorInput& input, const topology::Fabric& fabric,
                   std::vector<Problem>& out) {
  if (fabric.taps().empty()) return;  // no declarations: headers contain the port
  OfKind unknown("unknown_session", out);
  std::set<std::pair<topology::NodeIndex, uint32_t>> declared;
  for (const topology::Tap& tap : fabric.taps()) declared.emplace(tap.node, tap.session);
  for (const MirrorStream& mirror : input.senders.mirrors) {
    const topology::NodeIndex node = fabric.FindSwitchByErspan(mirror.source);
    if (node == topology::kNone || !HasSession(mirror)) continue;
    if (!declared.emplace(node, mirror.session).second) continue;
    unknown.Add(fmt::format("{} session {}", fabric.node(node).name, mirror.session),
                fmt::format("the topology does not declare this mirror session: the place of its "
                            "frames ({} received) is unknown unless their header contains the port",
                            WithThousands(mirror.frames)),
                "declare it under `mirrors` in the topology file, with its ports and direction, or "
                "remove it from the switch");
  }
}

// A sender that the topology declares, and the time of its last message.
struct Expected {
  std::string place;
  std::optional<Timestamp> heard;
  std::string_view recommended_action;
};

std::vector<Expected> ExpectedMirrors(const Senders& senders, const topology::Fabric& fabric) {
  std::map<std::pair<topology::NodeIndex, uint32_t>, std::optional<Timestamp>> sessions;
  for (const topology::Tap& tap : fabric.taps()) {
    if (!fabric.node(tap.node).erspan_source.IsUnspecified()) sessions[{tap.node, tap.session}];
  }
  for (const MirrorStream& mirror : senders.mirrors) {
    if (!HasSession(mirror)) continue;
    const auto at = sessions.find({fabric.FindSwitchByErspan(mirror.source), mirror.session});
    if (at != sessions.end())
      at->second = std::max(at->second, std::optional(mirror.last_received));
  }
  std::vector<Expected> expected;
  for (const auto& [key, heard] : sessions) {
    expected.push_back(
        {fmt::format("{} session {}", fabric.node(key.first).name, key.second), heard,
         "check that the session is up on the switch, that it ends at this appliance, and that its "
         "ports carry RoCE; if the session is not intended, remove it from the topology file"});
  }
  return expected;
}

std::vector<Expected> ExpectedAgents(const Senders& senders, const topology::Fabric& fabric) {
  std::map<IpAddress, Timestamp> heard;
  for (const TelemetrySource& sender : senders.telemetry) {
    if (!sender.is_sflow) continue;
    Timestamp& last = heard[sender.agent];
    last = std::max(last, sender.last_received);
  }
  std::vector<Expected> expected;
  for (const topology::Node& node : fabric.nodes()) {
    if (node.sflow_agent.IsUnspecified()) continue;
    const auto at = heard.find(node.sflow_agent);
    expected.push_back(
        {fmt::format("{} sFlow agent {}", node.name, ToString(node.sflow_agent)),
         at == heard.end() ? std::nullopt : std::optional(at->second),
         "check that sFlow is enabled on the switch, with this appliance as its collector and this "
         "address as its agent address; if it is not intended, remove it from the topology file"});
  }
  return expected;
}

// Finds senders that are silent while others of their kind send. If none sends, the source is
// silent.
void CheckExpected(const DoctorInput& input, const std::vector<Expected>& expected, OfKind& out) {
  const auto is_heard = [&](const Expected& one) {
    return one.heard && input.now - *one.heard <= kSilence;
  };
  if (std::ranges::none_of(expected, is_heard)) return;
  for (const Expected& one : expected) {
    if (is_heard(one) || (!one.heard && input.now - input.started <= kReportTimeout)) continue;
    out.Add(one.place,
            one.heard
                ? fmt::format("nothing received for {:.0f} s, after data had been received before, "
                              "while others send",
                              Seconds(input.now - *one.heard))
                : fmt::format("nothing received since start ({:.0f} s ago), while others send",
                              Seconds(input.now - input.started)),
            std::string(one.recommended_action));
  }
}

void CheckSenders(const DoctorInput& input, std::vector<Problem>& out) {
  if (!input.answer->fabric) return;
  const topology::Fabric& fabric = *input.answer->fabric;
  CheckSessions(input, fabric, out);
  OfKind silent("silent_session", out);
  CheckExpected(input, ExpectedMirrors(input.senders, fabric), silent);
  CheckExpected(input, ExpectedAgents(input.senders, fabric), silent);
}

void Add(const UnknownNodes& strangers, std::string_view what, std::string recommended_action,
         OfKind& out) {
  if (strangers.records == 0) return;
  out.Add(fmt::format("{}", fmt::join(strangers.examples, ", ")),
          fmt::format("{} of {} come from these senders, which are not in the topology{}",
                      WithThousands(strangers.records), what, strangers.more ? ", and others" : ""),
          std::move(recommended_action));
}

// Returns the names of hosts in logs and scheduler data.
std::set<std::string> ReportedHosts(const HostFacts& facts) {
  std::set<std::string> hosts;
  for (const Job& job : facts.jobs) {
    for (const JobRank& rank : job.ranks) {
      if (!rank.host.empty()) hosts.insert(rank.host);
    }
  }
  for (const Allocation& allocation : facts.allocations) {
    for (const AllocatedNode& node : allocation.nodes) hosts.insert(node.name);
  }
  for (const RdmaDump& dump : facts.rdma) {
    if (!dump.host.empty()) hosts.insert(dump.host);
  }
  return hosts;
}

void CheckTopology(const Snapshot& answer, std::vector<Problem>& out) {
  if (!answer.fabric) {
    OfKind(std::string_view("no_topology"), out)
        .Add("topology",
             "the configuration names no topology: rocescope infers no paths and detects no faults",
             "describe the fabric in a topology file (`rocescope topology`) and set the key "
             "`topology`");
    return;
  }
  const topology::Fabric& fabric = *answer.fabric;
  if (answer.cabling) {
    OfKind switches("unknown_switch", out);
    Add(answer.cabling->switches, "mirrored frames, INT reports or sFlow samples",
        "set erspan_source, int_switch_id or sflow_agent of the switch in the topology file",
        switches);
    OfKind counters("unknown_node", out);
    Add(answer.cabling->counters, "counter values",
        "sFlow: set sflow_agent of the switch in the topology file; exporters: add `scrape.rules` "
        "that map their labels to the names in the topology",
        counters);
  }
  OfKind nics("unknown_address", out);
  std::set<IpAddress> addresses;
  for (const FlowSummary& flow : *answer.flows) {
    for (const IpAddress& address : {flow.flow.source, flow.flow.destination}) {
      if (fabric.FindNic({.segment = flow.flow.segment, .address = address}) == topology::kNone) {
        addresses.insert(address);
      }
    }
  }
  for (const IpAddress& address : addresses) {
    nics.Add(ToString(address),
             "the address sends or receives RoCE, but no NIC in the topology has it",
             "add it to the addresses of its NIC in the topology file, with its VXLAN network if "
             "there is one");
  }
  if (!answer.host_facts) return;
  std::multimap<std::string, std::string_view> names;  // by key
  for (const topology::Node& node : fabric.nodes()) {
    if (!node.IsSwitch()) names.emplace(HostKey(node.name), node.name);
  }
  const auto find = [&](const std::string& host) {
    const auto [first, last] = names.equal_range(HostKey(host));
    const auto at =
        std::find_if(first, last, [&](const auto& name) { return SameHost(host, name.second); });
    return at == last ? topology::kNone : fabric.FindNode(at->second);
  };
  OfKind hosts("unknown_host", out);
  for (const std::string& host : ReportedHosts(*answer.host_facts)) {
    if (find(host) != topology::kNone) continue;
    hosts.Add(host,
              "NCCL logs, RDMA data or the scheduler name this host, but it is not in the topology",
              "use the name that `hostname` prints on the host in the topology file");
  }
  OfKind gpus("unknown_gpu", out);
  for (const Allocation& job : answer.host_facts->allocations) {
    if (job.state == AllocationState::kEnded) continue;
    for (const AllocatedNode& node : job.nodes) {
      const topology::NodeIndex host = find(node.name);
      if (host == topology::kNone) continue;
      for (const uint32_t gpu : UnknownGpus(fabric, host, node.gpus)) {
        gpus.Add(fmt::format("{}:gpu:{}", fabric.node(host).name, gpu),
                 fmt::format("job {} uses this GPU, but it is not in the topology", job.id),
                 "add it to the GPUs of the host in the topology file, or correct the GPU numbers "
                 "with which the job is registered");
      }
    }
  }
}

// Finds links that were down before the analysis started. The diagnosis does not report them.
void CheckLinks(const Snapshot& answer, std::vector<Problem>& out) {
  constexpr size_t kNamed = 3;
  const std::vector<topology::LinkIndex>& links = answer.links_never_up;
  if (!answer.fabric || links.empty()) return;
  std::vector<std::string> names;
  for (size_t i = 0; i < std::min(links.size(), kNamed); ++i) {
    names.push_back(answer.fabric->NameOfLink(links[i]));
  }
  OfKind down("links_down_since_start", out);
  down.Add("links",
           fmt::format("{} {} been down since the start: {}{}", Counted(links.size(), "link"),
                       links.size() == 1 ? "has" : "have", fmt::join(names, ", "),
                       links.size() > kNamed ? ", and others" : ""),
           "check the cables and transceivers, or remove the links from the topology file");
}

void CheckClocks(const Snapshot& answer, std::vector<Problem>& out) {
  if (!answer.clocks) return;
  OfKind apart("clock_offset", out);
  OfKind drifts("clock_drifts", out);
  constexpr std::string_view kRecommendedAction =
      "synchronise the clock with PTP or NTP; until then rocescope corrects its timestamps from "
      "packets";
  for (const ClockOffset& clock : answer.clocks->clocks) {
    if (clock.reference || !clock.offset) continue;
    if (std::chrono::abs(*clock.offset) > kClockOffset + clock.uncertainty) {
      apart.Add(clock.name,
                fmt::format("the clock is {:.3f} s {} the others", std::abs(Seconds(*clock.offset)),
                            clock.offset->count() < 0 ? "behind" : "ahead of"),
                std::string(kRecommendedAction));
    } else if (clock.drift_ppb) {
      drifts.Add(clock.name,
                 fmt::format("the clock runs {:.1f} ppm {} than the others",
                             std::abs(*clock.drift_ppb) / 1000,
                             *clock.drift_ppb < 0 ? "slower" : "faster"),
                 std::string(kRecommendedAction));
    }
  }
  if (answer.clocks->contradictions > 0) {
    OfKind(std::string_view("clocks_contradict"), out)
        .Add("clocks",
             fmt::format("no set of clock offsets explains all packets of {}",
                         Counted(answer.clocks->contradictions, "window")),
             "a clock jumps: find the switch or tap whose time is set repeatedly");
  }
}

// Compares the clocks of hosts with the clock of the appliance.
void CheckHostClocks(const DoctorInput& input, std::vector<Problem>& out) {
  OfKind apart("host_clock_apart", out);
  for (const SourceState& source : input.sources) {
    for (const AgentState& agent : source.agents) {
      if (!agent.connected || !agent.clock_ahead) continue;
      if (std::chrono::abs(*agent.clock_ahead) <= kClockOffset + agent.clock_error) continue;
      apart.Add(agent.host,
                fmt::format("the clock of the host is {:.3f} s {} the clock of the appliance",
                            std::abs(Seconds(*agent.clock_ahead)),
                            agent.clock_ahead->count() > 0 ? "behind" : "ahead of"),
                "synchronise both with the same PTP or NTP server; until then rocescope corrects "
                "the timestamps of its agent");
    }
  }
}

void CheckMemory(const DoctorInput& input, std::vector<Problem>& out) {
  OfKind small("memory_budget", out);
  for (const std::string& sentence : input.memory) {
    small.Add("memory", sentence,
              "change the configuration and restart rocescope; if the machine has too little "
              "memory, divide the switches and hosts among appliances");
  }
}

void CheckHistory(const HistoryHealth& history, std::vector<Problem>& out) {
  const RetentionState& retention = history.counts.retention;
  if (!history.counts.problem.empty()) {
    OfKind(std::string_view("history_not_written"), out)
        .Add(history.file, fmt::format("rows are dropped: {}", history.counts.problem),
             "free disk space or replace the disk; rocescope continues when it can write the file");
  }
  if (retention.is_suspended) {
    OfKind(std::string_view("history_retention_suspended"), out)
        .Add(
            history.file, SuspensionText(retention),
            fmt::format("check the clock of the appliance (`timedatectl`). If it is wrong, correct "
                        "it: deletion resumes at once. If it is right, do nothing: deletion "
                        "resumes after the clock has run for {:.0f} more hours without being set",
                        Seconds(retention.remaining) / 3600));
  }
  if (retention.future.rows > 0) {
    OfKind(std::string_view("history_rows_in_future"), out)
        .Add(history.file,
             fmt::format("{} or more rows are dated more than a day in the future, up to {}: they "
                         "are kept until they are older than the retention time",
                         WithThousands(static_cast<uint64_t>(retention.future.rows)),
                         ToText(TimestampMessage(retention.future.newest))),
             "if these rows were stored while a clock was wrong, stop rocescope, and move the file "
             "away or delete these rows from it with sqlite3");
  }
}

}  // namespace

std::vector<RefusedSender> RecentlyRefused(const Senders& senders, Timestamp now) {
  std::vector<RefusedSender> recent;
  std::ranges::copy_if(senders.refused, std::back_inserter(recent), [&](const RefusedSender& one) {
    return now - one.last_received <= kRecent;
  });
  return recent;
}

std::vector<ForeignNodes> RecentlyForeign(const std::vector<SourceState>& sources, Timestamp now) {
  std::vector<ForeignNodes> recent;
  for (const SourceState& source : sources) {
    std::ranges::copy_if(source.foreign, std::back_inserter(recent), [&](const ForeignNodes& one) {
      return now - one.last_received <= kRecent;
    });
  }
  return recent;
}

std::vector<AgentState> LosingAgents(const std::vector<SourceState>& sources, Timestamp now) {
  std::vector<AgentState> losing;
  for (const SourceState& source : sources) {
    std::ranges::copy_if(source.agents, std::back_inserter(losing), [&](const AgentState& agent) {
      return agent.lost_at && now - *agent.lost_at <= kRecent;
    });
  }
  return losing;
}

std::vector<Problem> Doctor(const DoctorInput& input) {
  std::vector<Problem> problems;
  CheckSources(input, problems);
  CheckSilence(input, problems);
  CheckContents(input, problems);
  CheckLosses(input, problems);
  CheckAgentLosses(input, problems);
  CheckMemory(input, problems);
  if (input.answer != nullptr) {
    CheckTopology(*input.answer, problems);
    CheckLinks(*input.answer, problems);
    CheckSenders(input, problems);
  }
  CheckRefused(input, problems);
  CheckForeign(input, problems);
  CheckNumbers(input, problems);
  if (input.answer != nullptr) CheckClocks(*input.answer, problems);
  CheckHostClocks(input, problems);
  if (input.history) CheckHistory(*input.history, problems);
  return problems;
}

}  // namespace rocescope
