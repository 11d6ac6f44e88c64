// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/daemon/service/doctor.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "analytics/job/host_name.h"
#include "base/count_text.h"
#include "dataplane/decode/drop_reason.h"
#include "topology/fabric.h"

namespace rocescope {
namespace {

// A session, exporter or link that works is heard in less.
constexpr Duration kPatience = std::chrono::seconds(15);
constexpr Duration kSilence = std::chrono::seconds(30);
constexpr uint64_t kEnough = 1000;       // frames, to say anything about shares
constexpr uint64_t kEnoughNumbers = 50;  // packets, to say anything about their numbers
constexpr double kLostShare = 0.001;
constexpr Duration kClockOffset = std::chrono::milliseconds(1);
constexpr size_t kMaxOfAKind = 5;

// Complaints of one kind: the first few, and how many there are.
class OfKind {
 public:
  OfKind(std::string_view kind, std::vector<Problem>& out) : kind_(kind), out_(out) {}
  ~OfKind() {
    if (count_ <= kMaxOfAKind) return;
    // Not the last of all: other kinds' may have come since.
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
  size_t last_ = 0;  // in out_, the last one of the kind
};

double Seconds(Duration duration) { return 1e-9 * static_cast<double>(duration.count()); }

std::string_view HowToHear(SourceKind kind) {
  switch (kind) {
    case SourceKind::kInterface:
      return "is the cable in and the interface up (`ip link`), and does a mirror session of a "
             "switch end here? `rocescope plan` writes sessions for switches";
    case SourceKind::kUdp:
      return "let switches send to this address and port, and let no firewall stand between "
             "(`nft list ruleset`); `rocescope plan` writes their configuration";
    case SourceKind::kDpdk:
      return "is the link up, and does a mirror session of a switch end at this port?";
    case SourceKind::kScrape:
      return "do the exporters run? `curl` their addresses from here";
    case SourceKind::kAgents:
      return "do agents run on the hosts, and does their configuration name this box?";
  }
  return "";
}

void CheckSources(const DoctorInput& input, std::vector<Problem>& out) {
  OfKind ended("source_ended", out);
  for (const SourceState& source : input.sources) {
    if (source.error.empty()) continue;
    ended.Add(source.name, source.error, "mend what it says, then restart rocescope");
  }
  OfKind trouble("source_trouble", out);
  for (const SourceState& source : input.sources) {
    for (const std::string& sentence : source.problems) {
      trouble.Add(source.name, sentence, "mend what it says; it is looked at again by itself");
    }
  }
}

void CheckSilence(const DoctorInput& input, std::vector<Problem>& out) {
  OfKind silent("silent_source", out);
  for (const SourceState& source : input.sources) {
    const SourceStatistics& counted = source.statistics;
    if (!source.error.empty()) continue;
    if (!counted.received_any && input.now - input.started > kPatience) {
      silent.Add(source.name,
                 fmt::format("nothing has come in {:.0f} s", Seconds(input.now - input.started)),
                 std::string(HowToHear(source.kind)));
    } else if (source.kind != SourceKind::kAgents &&  // idle ones have nothing to say
               counted.received_any && counted.last_arrival > input.started &&
               input.now - counted.last_arrival > kSilence) {
      silent.Add(source.name,
                 fmt::format("nothing has come for {:.0f} s, and something had before",
                             Seconds(input.now - counted.last_arrival)),
                 std::string(HowToHear(source.kind)));
    }
  }
}

// Of what a source takes: its name, what it should be, and what to do where it is not.
struct Contents {
  std::string_view what;
  std::string_view are;
  std::string_view recommended_action;
};
constexpr Contents kFrames = {"frames", "are RoCE or telemetry",
                              "let the mirror session take the ports and the priority that RoCE "
                              "goes by; a `filter` in the configuration may be too narrow"};
constexpr Contents kDatagrams = {"datagrams", "can be read",
                                 "send INT 2.x reports to `udp.int` and sFlow version 5 to "
                                 "`udp.sflow`: are the two exchanged, or is it another protocol's "
                                 "port?"};

// A port whose frames, or a socket whose datagrams, are none of RoCE's or telemetry's.
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
                fmt::format("of {} frames next to none are RoCE, and its NIC has RDMA, which takes "
                            "RoCE before the kernel sees it",
                            WithThousands(ledger.received)),
                "unbind the NIC's RDMA driver (rmmod mlx5_ib, or devlink's enable_roce), or "
                "receive on a NIC without RDMA");
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
                fmt::format("{} of {} frames were lost before rocescope took them",
                            WithThousands(counted.missed), WithThousands(all)),
                source.kind == SourceKind::kDpdk
                    ? "give it more lcores (`-l` in dpdk.eal, `lcores`) or larger pools (`mbufs`), "
                      "and its cores to nobody else (isolcpus)"
                    : "enlarge its `buffer` (and net.core.rmem_max), let switches truncate and "
                      "sample, or receive by DPDK");
    }
    const uint64_t records = counted.records + counted.records_dropped;
    if (records >= kEnough &&
        static_cast<double>(counted.records_dropped) > kLostShare * static_cast<double>(records)) {
      slow.Add(source.name,
               fmt::format("{} of {} records were given up, as analysis was behind",
                           WithThousands(counted.records_dropped), WithThousands(records)),
               "give the box a faster core for analysis, or a longer `record_interval`");
    }
  }
}

void CheckNumbers(const DoctorInput& input, std::vector<Problem>& out) {
  OfKind constant("constant_sequence", out);
  const auto stands_still = [](uint64_t seen, uint64_t repeats) {
    return seen >= kEnoughNumbers && repeats > seen / 2;
  };
  constexpr std::string_view kMeaning = "what gets lost of it on the way cannot be told";
  for (const MirrorStream& mirror : input.senders.mirrors) {
    if (!mirror.has_sequence || !stands_still(mirror.frames, mirror.repeats)) continue;
    constant.Add(
        fmt::format("{} session {}", ToString(mirror.source), mirror.session),
        fmt::format("its mirror numbers all of its copies {}: {}", mirror.next_sequence - 1,
                    kMeaning),
        "some switches count by session or not at all: see whether its firmware can, or take "
        "ERSPAN type III; or the copies come twice");
  }
  for (const TelemetrySource& sender : input.senders.telemetry) {
    if (!stands_still(sender.datagrams, sender.repeats)) continue;
    constant.Add(sender.is_sflow ? fmt::format("sFlow agent {}", ToString(sender.agent))
                                 : fmt::format("INT node {}", sender.node_id),
                 fmt::format("its datagrams all have the same number: {}", kMeaning),
                 "see whether a newer firmware of the switch counts; or the datagrams come twice");
  }
}

bool HasSession(const MirrorStream& mirror) {
  return mirror.kind == MirrorKind::kErspan2 || mirror.kind == MirrorKind::kErspan3;
}

// Sessions of the topology's switches that it does not declare.
void CheckSessions(const DoctorInput& input, const topology::Fabric& fabric,
                   std::vector<Problem>& out) {
  if (fabric.taps().empty()) return;  // where headers name the port, none need be declared
  OfKind unknown("unknown_session", out);
  std::set<std::pair<topology::NodeIndex, uint32_t>> declared;
  for (const topology::Tap& tap : fabric.taps()) declared.emplace(tap.node, tap.session);
  for (const MirrorStream& mirror : input.senders.mirrors) {
    const topology::NodeIndex node = fabric.FindSwitchByErspan(mirror.source);
    if (node == topology::kNone || !HasSession(mirror)) continue;
    if (!declared.emplace(node, mirror.session).second) continue;
    unknown.Add(fmt::format("{} session {}", fabric.node(node).name, mirror.session),
                fmt::format("it mirrors, and the topology has no such session of it: of copies "
                            "whose header names no port ({} came in all) nobody knows where they "
                            "were taken",
                            WithThousands(mirror.frames)),
                "declare it under `mirrors` in the topology file, with its ports and direction, "
                "or remove it from the switch");
  }
}

// Who should send by the topology: when somebody of the name was heard last.
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
    if (at != sessions.end()) at->second = std::max(at->second, std::optional(mirror.last_received));
  }
  std::vector<Expected> expected;
  for (const auto& [key, heard] : sessions) {
    expected.push_back(
        {fmt::format("{} session {}", fabric.node(key.first).name, key.second), heard,
         "is the session up on the switch, does it end at this box, and is there "
         "RoCE on its ports? One that is not meant to be has no place in the topology file"});
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
         "is sFlow on there, with this box as its collector, and this address as "
         "its agent's? One that is not meant to send has no place in the topology file"});
  }
  return expected;
}

// Of whom nothing comes while others of their kind are heard; where none is, the source is silent.
void CheckExpected(const DoctorInput& input, const std::vector<Expected>& expected, OfKind& out) {
  const auto is_heard = [&](const Expected& one) {
    return one.heard && input.now - *one.heard <= kSilence;
  };
  if (std::ranges::none_of(expected, is_heard)) return;
  for (const Expected& one : expected) {
    if (is_heard(one) || (!one.heard && input.now - input.started <= kPatience)) continue;
    out.Add(one.place,
            one.heard ? fmt::format("nothing has come for {:.0f} s, and something had before, "
                                    "while others are heard",
                                    Seconds(input.now - *one.heard))
                      : fmt::format("nothing has come in {:.0f} s, while others are heard",
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

void Add(const UnknownNodes& strangers, std::string_view what, std::string recommended_action, OfKind& out) {
  if (strangers.records == 0) return;
  out.Add(fmt::format("{}", fmt::join(strangers.examples, ", ")),
          fmt::format("{} of {} came from those, which the topology does not name{}",
                      WithThousands(strangers.records), what, strangers.more ? ", and others" : ""),
          std::move(recommended_action));
}

// Names of hosts that logs and schedulers tell.
std::set<std::string> HostsTold(const HostFacts& facts) {
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
        .Add("topology", "the configuration names none: faults and paths are not looked for",
             "describe the fabric (`rocescope topology`), and name the file under `topology`");
    return;
  }
  const topology::Fabric& fabric = *answer.fabric;
  if (answer.cabling) {
    OfKind switches("unknown_switch", out);
    Add(answer.cabling->switches, "mirrors, INT reports or samples",
        "give the switch its erspan_source, int_switch_id or sflow_agent in the topology file",
        switches);
    OfKind counters("unknown_node", out);
    Add(answer.cabling->counters, "counters' values",
        "let `scrape.rules` make the topology's names of the exporter's labels", counters);
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
    nics.Add(ToString(address), "it sends or receives RoCE, and no NIC of the topology has it",
             "add it to its NIC's addresses in the topology file; with a VXLAN network where it "
             "has one");
  }
  if (!answer.host_facts) return;
  std::multimap<std::string, std::string_view> names;  // by key
  for (const topology::Node& node : fabric.nodes()) {
    if (!node.IsSwitch()) names.emplace(HostKey(node.name), node.name);
  }
  OfKind hosts("unknown_host", out);
  for (const std::string& host : HostsTold(*answer.host_facts)) {
    const auto [first, last] = names.equal_range(HostKey(host));
    if (std::any_of(first, last, [&](const auto& name) { return SameHost(host, name.second); })) {
      continue;
    }
    hosts.Add(host, "NCCL's logs, rdma or the scheduler name it, and the topology has no such host",
              "call the host in the topology file as it calls itself (`hostname`)");
  }
}

void CheckClocks(const Snapshot& answer, std::vector<Problem>& out) {
  if (!answer.clocks) return;
  OfKind apart("clock_offset", out);
  OfKind drifts("clock_drifts", out);
  constexpr std::string_view kRecommendedAction =
      "let it follow the others by PTP (or NTP); until then its times are corrected by what "
      "packets "
      "show";
  for (const ClockOffset& clock : answer.clocks->clocks) {
    if (clock.reference || !clock.offset) continue;
    if (std::chrono::abs(*clock.offset) > kClockOffset + clock.uncertainty) {
      apart.Add(clock.name,
                fmt::format("its clock is {:.3f} s {} others", std::abs(Seconds(*clock.offset)),
                            clock.offset->count() < 0 ? "behind" : "ahead of"),
                std::string(kRecommendedAction));
    } else if (clock.drift_ppb) {
      drifts.Add(
          clock.name,
          fmt::format("its clock goes {:.1f} ppm {} than others", std::abs(*clock.drift_ppb) / 1000,
                      *clock.drift_ppb < 0 ? "slower" : "faster"),
          std::string(kRecommendedAction));
    }
  }
  if (answer.clocks->contradictions > 0) {
    OfKind(std::string_view("clocks_contradict"), out)
        .Add("clocks",
             fmt::format("no offsets of clocks explain all packets of {}",
                         Counted(answer.clocks->contradictions, "window")),
             "a clock that jumps: see which switch or tap sets its time again and again");
  }
}

// Of hosts whose agents tell: against the box's own.
void CheckHostClocks(const DoctorInput& input, std::vector<Problem>& out) {
  OfKind apart("host_clock_apart", out);
  for (const SourceState& source : input.sources) {
    for (const AgentState& agent : source.agents) {
      if (!agent.connected || !agent.clock_ahead) continue;
      if (std::chrono::abs(*agent.clock_ahead) <= kClockOffset + agent.clock_error) continue;
      apart.Add(
          agent.host,
          fmt::format("its clock is {:.3f} s {} the box's", std::abs(Seconds(*agent.clock_ahead)),
                      agent.clock_ahead->count() > 0 ? "behind" : "ahead of"),
          "let both follow the same clock by PTP (or NTP); until then its agent's times are "
          "corrected by that");
    }
  }
}

}  // namespace

std::vector<Problem> Doctor(const DoctorInput& input) {
  std::vector<Problem> problems;
  CheckSources(input, problems);
  CheckSilence(input, problems);
  CheckContents(input, problems);
  CheckLosses(input, problems);
  if (input.answer != nullptr) {
    CheckTopology(*input.answer, problems);
    CheckSenders(input, problems);
  }
  CheckNumbers(input, problems);
  if (input.answer != nullptr) CheckClocks(*input.answer, problems);
  CheckHostClocks(input, problems);
  return problems;
}

}  // namespace rocescope
