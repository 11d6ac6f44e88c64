// SPDX-License-Identifier: BSD-3-Clause
#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "appliance/common/report/collective_report.h"
#include "appliance/common/report/table.h"
#include "appliance/common/report/text_section.h"
#include "appliance/common/report/visible_text.h"
#include "rocescope/v1/report.pb.h"

namespace rocescope {
namespace {

// Counts the processes that belong to smaller communicators only.
std::string Outsiders(const v1::Job& job) {
  const auto count =
      std::ranges::count_if(job.ranks(), [](const v1::Rank& rank) { return !rank.has_rank(); });
  if (count == 0) return "";
  return fmt::format(", and {} without a rank", Counted(static_cast<uint64_t>(count), "process"));
}

std::string WhoText(const v1::Job& job) {
  if (job.identity() == v1::Job::IDENTITY_SCHEDULER) {
    return Counted(static_cast<uint64_t>(job.ranks_size()), "NIC") +
           " on its nodes, from the scheduler";
  }
  if (job.identity() == v1::Job::IDENTITY_WIRE) {
    return Counted(static_cast<uint64_t>(job.ranks_size()), "NIC") +
           " inferred from synchronised traffic";
  }
  if (job.expected_rank_count() != 0) {
    return fmt::format("{} of {} known{}", job.logged_rank_count(),
                       Counted(job.expected_rank_count(), "rank"), Outsiders(job));
  }
  return Counted(static_cast<uint64_t>(job.ranks_size()), "process") + " without an NCCL log";
}

std::string QpText(const v1::RankQp& qp) {
  const std::string peer = RankText(
      qp.has_peer_rank() ? std::optional(qp.peer_rank()) : std::nullopt, qp.peer_process());
  return fmt::format("{} ({})", qp.qpn(), peer.empty() ? "?" : peer);
}

// "nccl-42: 8 of 8 ranks known; 16 rank pairs exchanged 1,000 bytes in 10 messages".
std::string JobLine(const v1::ReplayReport& report, const v1::Job& job) {
  if (job.edges().empty() && report.totals().packets() == 0) {
    return fmt::format("{}: {}; no packets were read", JobName(job), WhoText(job));
  }
  uint64_t bytes = 0;
  uint64_t messages = 0;
  for (const v1::Edge& edge : job.edges()) {
    bytes += edge.bytes();
    messages += edge.messages();
  }
  return fmt::format("{}: {}; {} exchanged {} bytes in {}", JobName(job), WhoText(job),
                     Counted(static_cast<uint64_t>(job.edges_size()), "rank pair"),
                     WithThousands(bytes), Counted(messages, "message"));
}

void AppendJob(const v1::ReplayReport& report, const v1::Job& job, std::string& text) {
  text += "JOB " + JobLine(report, job) + "\n";
  if (job.has_iteration_pattern()) AppendIterationPattern(job.iteration_pattern(), text);
  TextTable ranks({{"RANK", Align::kRight},
                   {"HOST"},
                   {"GPU", Align::kLeft, 1},
                   {"PROCESS", Align::kRight, 3},
                   {"NIC"},
                   {"ADDRESS", Align::kLeft, 2},
                   {"QUEUE PAIRS (PEER RANK)"}});
  size_t rows = 0;
  for (const v1::Rank& rank : job.ranks()) {
    if (++rows > kMaxRows) break;
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
    ranks.Add({rank.has_rank() ? std::to_string(rank.rank()) : "-", rank.host(),
               rank.gpu_pci_address(),
               rank.process_id() == 0 ? "" : std::to_string(rank.process_id()),
               rank.nics_size() > 0 ? rank.nics(0) : "",
               rank.addresses_size() > 0 ? rank.addresses(0) : "", queue_pairs});
  }
  text += "\n" + ranks.Deferred(2);
  AppendMore(job.ranks_size(), "rank", text);

  TextTable edges({{"FROM", Align::kRight},
                   {"TO", Align::kRight},
                   {"DATA BYTES", Align::kRight},
                   {"MESSAGES", Align::kRight, 1},
                   {"QP FROM", Align::kLeft, 3},
                   {"QP TO", Align::kLeft, 3},
                   {"MISSING", Align::kRight},
                   {"RETRANS", Align::kRight},
                   {"CE", Align::kRight},
                   {"CNP", Align::kRight, 2},
                   {"CONFIDENCE", Align::kRight}});
  rows = 0;
  for (const v1::Edge& edge : job.edges()) {
    if (++rows > kMaxRows) break;
    const auto list = [](const auto& qpns) {
      std::string names;
      for (int i = 0; i < std::min(qpns.size(), 4); ++i) {
        names += (i > 0 ? "," : "") + std::to_string(qpns[i]);
      }
      return qpns.size() > 4 ? names + fmt::format(" +{}", qpns.size() - 4) : names;
    };
    const auto source = edge.has_source_rank() ? std::optional(edge.source_rank()) : std::nullopt;
    const auto destination =
        edge.has_destination_rank() ? std::optional(edge.destination_rank()) : std::nullopt;
    edges.Add({RankText(source, edge.source_process()),
               RankText(destination, edge.destination_process()), WithThousands(edge.bytes()),
               WithThousands(edge.messages()), list(edge.source_qpns()),
               list(edge.destination_qpns()), CountOrBlank(edge.missing_packets()),
               CountOrBlank(edge.retransmitted_packets()), CountOrBlank(edge.ce_marked_packets()),
               CountOrBlank(edge.cnp_packets()), ConfidenceText(edge.confidence())});
  }
  if (!edges.empty()) text += "\n" + edges.Deferred(2);
  AppendMore(job.edges_size(), "rank pair", text);
  for (const std::string& note : job.notes()) text += "  note: " + Visible(note) + "\n";
  text += "\n";
}

}  // namespace

std::string RankText(std::optional<int> rank, std::string process) {
  return rank ? std::to_string(*rank) : std::move(process);
}

std::string JobName(const v1::Job& job) {
  return job.has_allocation() ? JobName(job.job_id(), job.allocation()) : Visible(job.job_id());
}

std::string JobName(std::string_view id, const v1::Allocation& allocation) {
  const std::string name = Visible(allocation.name());
  return fmt::format("{} [slurm {}{}]", Visible(id), allocation.scheduler_job_id(),
                     name.empty() ? "" : fmt::format(" \"{}\"", name));
}

void AppendJobs(const v1::ReplayReport& report, std::string& text) {
  for (const v1::Job& job : report.jobs()) AppendJob(report, job, text);
}

void AppendBriefJobs(const v1::ReplayReport& report, std::string& text) {
  constexpr int kMaxJobs = 4;
  if (report.jobs_size() == 0) return;
  text += "JOBS\n";
  for (int i = 0; i < std::min(report.jobs_size(), kMaxJobs); ++i) {
    const v1::Job& job = report.jobs(i);
    const auto faults =
        std::ranges::count_if(report.findings(), [&job](const v1::Finding& finding) {
          return std::ranges::find(finding.affected_job_ids(), job.job_id()) !=
                 finding.affected_job_ids().end();
        });
    text += "  " + JobLine(report, job);
    if (faults > 0) {
      text += "; affected by " + Counted(static_cast<uint64_t>(faults), "fault");
    }
    text += "\n";
  }
  if (report.jobs_size() > kMaxJobs) {
    text += fmt::format("  and {} more\n",
                        Counted(static_cast<uint64_t>(report.jobs_size() - kMaxJobs), "job"));
  }
  text += "\n";
}

}  // namespace rocescope
