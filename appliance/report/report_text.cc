// SPDX-License-Identifier: BSD-3-Clause
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <ctime>
#include <utility>

#include "appliance/report/coverage_report.h"
#include "appliance/report/replay_report.h"
#include "appliance/report/table.h"
#include "rocescope/v1/report.pb.h"

namespace rocescope {
namespace {

// A person reads a screen; a program reads JSON, which has them all.
constexpr int kMostRows = 20;

std::string EndpointText(const v1::Endpoint& endpoint) {
  std::string text = endpoint.address();
  if (endpoint.segment() != 0) text += fmt::format("%{}", endpoint.segment() - 1);
  text += endpoint.qpn() < 0 ? std::string(" qp ?") : fmt::format(" qp {}", endpoint.qpn());
  return text;
}

// A process without a rank is called by its name, if that is known.
std::string RankText(int rank, std::string process = "") {
  return rank < 0 ? std::move(process) : std::to_string(rank);
}

std::string ProcessText(const v1::Endpoint& endpoint) {
  if (endpoint.host().empty()) return "";
  return fmt::format("{}:{}", endpoint.host(), endpoint.process_id());
}

// Never more than it is: 0.998 is 0.99. What is added is far below what is shown and lets 0.29,
// which no double holds, stay what it is.
std::string SureText(double confidence) {
  return fmt::format("{:.2f}", std::floor(confidence * 100 + 1e-6) / 100);
}

std::string CountOrBlank(uint64_t count) { return count == 0 ? "" : WithThousands(count); }

void AppendMore(int total, std::string_view noun, std::string& text) {
  if (total <= kMostRows) return;
  text += fmt::format("  and {} more; -o json lists all\n",
                      Counted(static_cast<uint64_t>(total - kMostRows), noun));
}

std::string UtcText(int64_t ns) {
  const std::time_t seconds = ns / 1'000'000'000;
  std::tm parts{};
  gmtime_r(&seconds, &parts);
  char text[40];
  std::strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S", &parts);
  return fmt::format("{}.{:03} UTC", text, ns % 1'000'000'000 / 1'000'000);
}

// Processes that are in smaller communicators only.
std::string Outsiders(const v1::Job& job) {
  const auto count =
      std::ranges::count_if(job.ranks(), [](const v1::Rank& rank) { return rank.rank() < 0; });
  if (count == 0) return "";
  return fmt::format(", and {} {} without a rank", count, count == 1 ? "process" : "processes");
}

std::string QpText(const v1::RankQp& qp) {
  const std::string peer = RankText(qp.peer_rank(), qp.peer_process());
  return fmt::format("{} ({})", qp.qpn(), peer.empty() ? "?" : peer);
}

void AppendJob(const v1::Job& job, std::string& text) {
  uint64_t bytes = 0;
  uint64_t messages = 0;
  for (const v1::Edge& edge : job.edges()) {
    bytes += edge.bytes();
    messages += edge.messages();
  }
  text += fmt::format("JOB {}: {} of {} known{}; {} carried {} bytes in {}\n", job.id(),
                      job.seen_ranks(), Counted(job.expected_ranks(), "rank"), Outsiders(job),
                      Counted(static_cast<uint64_t>(job.edges_size()), "edge"),
                      WithThousands(bytes), Counted(messages, "message"));
  TextTable ranks({{"RANK", Align::kRight},
                   {"HOST"},
                   {"GPU"},
                   {"PROCESS", Align::kRight},
                   {"NIC"},
                   {"ADDRESS"},
                   {"QUEUE PAIRS (PEER RANK)"}});
  for (const v1::Rank& rank : job.ranks()) {
    if (ranks.empty() && job.ranks_size() > 4 * kMostRows) break;
    std::string queue_pairs;
    int listed = 0;
    for (const v1::RankQp& qp : rank.queue_pairs()) {
      if (!qp.seen()) continue;
      if (++listed > 8) {
        queue_pairs += " ...";
        break;
      }
      if (!queue_pairs.empty()) queue_pairs += ", ";
      queue_pairs += QpText(qp);
    }
    ranks.Add({RankText(rank.rank(), "-"), rank.host(), rank.gpu_bus_id(),
               std::to_string(rank.process_id()), rank.nics_size() > 0 ? rank.nics(0) : "",
               rank.addresses_size() > 0 ? rank.addresses(0) : "", queue_pairs});
  }
  text += "\n" + ranks.Render(2);

  TextTable edges({{"FROM", Align::kRight},
                   {"TO", Align::kRight},
                   {"BYTES", Align::kRight},
                   {"MESSAGES", Align::kRight},
                   {"QP FROM"},
                   {"QP TO"},
                   {"UNSEEN", Align::kRight},
                   {"RE-SENT", Align::kRight},
                   {"CE", Align::kRight},
                   {"CNP", Align::kRight},
                   {"SURE", Align::kRight}});
  for (const v1::Edge& edge : job.edges()) {
    const auto list = [](const auto& qpns) {
      std::string names;
      for (int i = 0; i < std::min(qpns.size(), 4); ++i) {
        names += (i > 0 ? "," : "") + std::to_string(qpns[i]);
      }
      return qpns.size() > 4 ? names + fmt::format(" +{}", qpns.size() - 4) : names;
    };
    edges.Add({RankText(edge.source_rank(), edge.source_process()),
               RankText(edge.destination_rank(), edge.destination_process()),
               WithThousands(edge.bytes()), WithThousands(edge.messages()),
               list(edge.source_qpns()), list(edge.destination_qpns()), CountOrBlank(edge.unseen()),
               CountOrBlank(edge.resent()), CountOrBlank(edge.ce_marked()),
               CountOrBlank(edge.cnps()), SureText(edge.confidence())});
  }
  if (!edges.empty()) text += "\n" + edges.Render(2);
  for (const std::string& note : job.notes()) text += "  note: " + note + "\n";
  text += "\n";
}

// What was found both ways stands together: "psn_echo A>B 2/2, B>A 1/1".
std::string EvidenceText(const v1::Connection& connection) {
  std::string text;
  std::string_view last;
  for (const v1::Evidence& e : connection.evidence()) {
    if (!text.empty()) text += ", ";
    if (e.kind() != last) text += e.kind() + " ";
    last = e.kind();
    if (e.direction() == v1::Evidence::DIRECTION_A_TO_B) text += "A>B ";
    if (e.direction() == v1::Evidence::DIRECTION_B_TO_A) text += "B>A ";
    text += e.of() > 0 ? fmt::format("{}/{}", e.count(), e.of()) : std::to_string(e.count());
  }
  return text;
}

std::string BecauseText(const v1::Connection& connection) {
  switch (connection.state()) {
    case v1::Connection::STATE_AMBIGUOUS:
      if (connection.candidates().empty()) return "";
      return fmt::format(
          "{} ({})",
          Counted(static_cast<uint64_t>(connection.candidates_size()), "possible queue pair"),
          SureText(connection.candidates(0).posterior()));
    case v1::Connection::STATE_ONE_SIDED:
      return "nothing tells the other end";
    default:
      return EvidenceText(connection);
  }
}

void AppendConnections(const v1::ReplayReport& report, std::string& text) {
  const v1::Totals& totals = report.totals();
  text += fmt::format("CONNECTIONS: {} paired, {} ambiguous, {} with one side unknown\n\n",
                      WithThousands(totals.connections_paired()),
                      WithThousands(totals.connections_ambiguous()),
                      WithThousands(totals.connections_one_sided()));
  TextTable table({{"A"},
                   {"RANK", Align::kRight},
                   {"B"},
                   {"RANK", Align::kRight},
                   {"A->B BYTES", Align::kRight},
                   {"B->A BYTES", Align::kRight},
                   {"SURE", Align::kRight},
                   {"BECAUSE"}});
  for (int i = 0; i < std::min(report.connections_size(), kMostRows); ++i) {
    const v1::Connection& c = report.connections(i);
    table.Add({EndpointText(c.a()), RankText(c.a().rank(), ProcessText(c.a())), EndpointText(c.b()),
               RankText(c.b().rank(), ProcessText(c.b())), WithThousands(c.a_to_b().data_bytes()),
               WithThousands(c.b_to_a().data_bytes()),
               c.state() == v1::Connection::STATE_PAIRED ? SureText(c.confidence()) : "-",
               BecauseText(c)});
  }
  if (!table.empty()) text += table.Render(2);
  AppendMore(report.connections_size(), "connection", text);
  text += "\n";
}

std::string KindsOf(const v1::Operations& operations) {
  std::string text;
  const auto add = [&text](uint64_t packets, std::string_view name) {
    if (packets == 0) return;
    if (!text.empty()) text += ", ";
    text += fmt::format("{} {}", WithThousands(packets), name);
  };
  add(operations.write(), "write");
  add(operations.send(), "send");
  add(operations.read_request(), "read request");
  add(operations.read_response(), "read response");
  add(operations.atomic(), "atomic");
  add(operations.acknowledge(), "ack");
  add(operations.cnp(), "cnp");
  add(operations.datagram(), "datagram");
  return text;
}

void AppendFlows(const v1::ReplayReport& report, std::string& text) {
  text += fmt::format("FLOWS: {}, {} on the wire\n\n", Counted(report.totals().flows(), "flow"),
                      HumanBytes(report.totals().bytes()));
  TextTable table({{"FROM"},
                   {"TO"},
                   {"QP", Align::kRight},
                   {"BYTES", Align::kRight},
                   {"MESSAGES", Align::kRight},
                   {"PACKETS"},
                   {"UNSEEN", Align::kRight},
                   {"RE-SENT", Align::kRight},
                   {"CE", Align::kRight},
                   {"ACK AFTER", Align::kRight}});
  for (int i = 0; i < std::min(report.flows_size(), kMostRows); ++i) {
    const v1::Flow& flow = report.flows(i);
    table.Add(
        {flow.source(), flow.destination(), std::to_string(flow.destination_qpn()),
         WithThousands(flow.bytes()), WithThousands(flow.messages()), KindsOf(flow.operations()),
         CountOrBlank(flow.loss().unseen()), CountOrBlank(flow.loss().resent()),
         CountOrBlank(flow.ce_marked()),
         flow.ack_round_trip().count() == 0 ? "" : HumanDuration(flow.ack_round_trip().mean_ns())});
  }
  if (!table.empty()) text += table.Render(2);
  AppendMore(report.flows_size(), "flow", text);
  text += "\n";
}

void AppendTrouble(const v1::ReplayReport& report, std::string& text) {
  const v1::Totals& totals = report.totals();
  const auto line = [&text](uint64_t count, std::string_view meaning) {
    if (count > 0) text += fmt::format("  {:>12}  {}\n", WithThousands(count), meaning);
  };
  text += "TROUBLE\n\n";
  const size_t before = text.size();
  line(totals.unseen(), "packets unseen: gaps in the sequence numbers, lost in fabric or mirror");
  line(totals.resent(), "packets re-sent");
  line(totals.naks(), "NAKs");
  line(totals.reordered(), "packets out of order");
  line(totals.ce_marked(), "packets marked CE (congestion experienced)");
  line(totals.cnps(), "CNPs (congestion notifications)");
  line(totals.pause_frames(), "PAUSE or PFC frames");
  line(totals.icrc_invalid(), "packets with a wrong invariant CRC");
  if (text.size() == before) {
    text += "  none seen: no gaps, re-sends, NAKs, CE marks, CNPs or pauses\n";
  }
  text += "\n";
}

void AppendLedger(const v1::ReplayReport& report, std::string& text) {
  const v1::Ledger& ledger = report.ledger();
  uint64_t dropped = 0;
  for (const v1::DropCount& row : ledger.dropped()) dropped += row.frames();
  text += fmt::format("LEDGER: {} received = {} decoded + {} filtered + {} dropped\n\n",
                      WithThousands(ledger.received()), WithThousands(ledger.decoded()),
                      WithThousands(ledger.filtered()), WithThousands(dropped));
  TextTable table({{"DROPPED", Align::kRight}, {"REASON"}, {"MEANING"}});
  for (const v1::DropCount& row : ledger.dropped()) {
    table.Add({WithThousands(row.frames()), row.reason(), row.meaning()});
  }
  if (!table.empty()) text += table.Render(2) + "\n";
  TextTable taps({{"FRAMES", Align::kRight}, {"TAP"}});
  for (int i = 0; i < std::min(report.taps_size(), kMostRows); ++i) {
    taps.Add({WithThousands(report.taps(i).frames()), report.taps(i).name()});
  }
  if (!taps.empty()) text += taps.Render(2);
  AppendMore(report.taps_size(), "tap", text);
  AppendCoverage(report.coverage(), text);
}

}  // namespace

std::string RenderText(const v1::ReplayReport& report) {
  std::string text;
  const int64_t start = report.captured().start_ns();
  const int64_t end = report.captured().end_ns();
  if (report.ledger().decoded() > 0) {
    text += fmt::format("{} RoCE and pause frames in {}, from {}\n\n",
                        WithThousands(report.ledger().decoded()), HumanDuration(end - start),
                        UtcText(start));
  } else {
    text += "No RoCE in this capture; the ledger below says what its frames were.\n\n";
  }
  for (const v1::Job& job : report.jobs()) AppendJob(job, text);
  if (report.ledger().decoded() > 0) {
    AppendConnections(report, text);
    AppendFlows(report, text);
    AppendTrouble(report, text);
  }
  AppendLedger(report, text);
  if (report.notes_size() > 0) text += "\nNOTES\n\n";
  for (const std::string& note : report.notes()) text += "  " + note + "\n";
  // Names and notes come from files: none of them may steer the reader's terminal.
  for (char& c : text) {
    if ((static_cast<unsigned char>(c) < 0x20 && c != '\n') || c == 0x7f) c = '?';
  }
  return text;
}

}  // namespace rocescope
