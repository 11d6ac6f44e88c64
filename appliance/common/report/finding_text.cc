// SPDX-License-Identifier: BSD-3-Clause
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "analytics/diagnosis/obstacle.h"
#include "appliance/api/message_value.h"
#include "appliance/common/report/dependency_report.h"
#include "appliance/common/report/finding_sentence.h"
#include "appliance/common/report/table.h"
#include "appliance/common/report/text_section.h"
#include "appliance/common/report/unseen_faults.h"
#include "appliance/common/report/visible_text.h"
#include "rocescope/v1/report.pb.h"
#include "topology/fault/fault_kind.h"

namespace rocescope {
namespace {

void AppendDetail(std::string_view label, const std::string& detail, std::string& text) {
  text += fmt::format("     {:<13}{}\n", label, Visible(detail));
}

// Lists the senders that cause the congestion: "12 flows of train, from rank 3, rank 5 and rank 7".
void AppendCulprits(const v1::Finding& finding, std::string& text) {
  struct Sender {
    uint64_t flows = 0;
    std::set<int> ranks;
    std::set<std::string> addresses;
  };
  std::map<std::string, Sender> senders;
  for (const v1::Culprit& culprit : finding.culprits()) {
    Sender& sender = senders[culprit.job_id()];
    ++sender.flows;
    sender.addresses.insert(culprit.source());
    if (culprit.has_rank()) sender.ranks.insert(culprit.rank());
  }
  std::vector<std::pair<std::string, Sender>> order(senders.begin(), senders.end());
  std::ranges::sort(order, [](const auto& a, const auto& b) {
    if (a.second.flows != b.second.flows) return a.second.flows > b.second.flows;
    return a.first < b.first;
  });
  constexpr size_t kMost = 3;
  uint64_t others = 0;
  for (size_t i = 0; i < order.size(); ++i) {
    const auto& [job, sender] = order[i];
    if (i >= kMost) {
      others += sender.flows;
      continue;
    }
    std::vector<std::string> names;
    names.reserve(sender.ranks.size());
    for (const int rank : sender.ranks) names.push_back(fmt::format("rank {}", rank));
    if (names.empty()) names.assign(sender.addresses.begin(), sender.addresses.end());
    AppendDetail("caused by",
                 fmt::format("{} of {}, from {}", Counted(sender.flows, "flow"),
                             job.empty() ? "no known job" : job, ListText(names, "others")),
                 text);
  }
  if (others > 0) {
    AppendDetail("caused by",
                 fmt::format("{} of {}", Counted(others, "flow"),
                             Counted(order.size() - kMost, "other job")),
                 text);
  }
}

// Returns "link_down of leaf0:E1-spine0:E1; blackhole of leaf0, leaf1, leaf2 and 4 others".
void AppendSymptoms(const v1::Finding& finding, std::string& text) {
  using Places = std::pair<std::string, std::vector<std::string>>;
  std::vector<Places> kinds;
  constexpr double kWorthTelling = 0.5;
  for (const v1::Suspect& symptom : finding.symptoms()) {
    if (symptom.probability() < kWorthTelling) continue;
    auto at = std::ranges::find(kinds, symptom.kind(), &Places::first);
    if (at == kinds.end()) at = kinds.insert(at, {symptom.kind(), {}});
    at->second.push_back(symptom.place());
  }
  std::string all;
  for (const auto& [kind, places] : kinds) {
    all += fmt::format("{}{} of {}", all.empty() ? "" : "; ", kind, ListText(places, "others"));
  }
  if (!all.empty()) AppendDetail("related", all, text);
}

void AppendHeadline(int number, const v1::Finding& finding, std::string& text) {
  text += fmt::format("{:>3}. {}; confidence {}.\n", number, Visible(finding.sentence()),
                      ConfidenceText(finding.confidence()));
  if (!finding.recommended_action().empty()) {
    AppendDetail("action", Capitalised(finding.recommended_action()) + ".", text);
  }
}

void AppendAlternatives(const v1::Finding& finding, std::string& text) {
  for (const v1::Suspect& rival : finding.alternatives()) {
    AppendDetail("alternative",
                 fmt::format("{} ({})", FaultText(rival.kind(), rival.place(), rival.direction()),
                             ConfidenceText(rival.probability())),
                 text);
  }
}

void AppendFinding(int number, const v1::Finding& finding, std::string& text) {
  AppendHeadline(number, finding, text);
  if (finding.loop_ports_size() > 0) {
    std::string loop;
    for (const std::string& port : finding.loop_ports()) loop += port + " > ";
    AppendDetail("loop", loop + finding.loop_ports(0), text);
  }
  for (const std::string& sentence : finding.evidence()) AppendDetail("evidence", sentence, text);
  AppendAlternatives(finding, text);
  for (const std::string& sentence : finding.missing_telemetry())
    AppendDetail("to confirm", sentence, text);
  AppendCulprits(finding, text);
  // For a single rank, the list of affected jobs is enough.
  if (finding.reach().rank_count() > 1) AppendDetail("used by", ReachText(finding.reach()), text);
  // Without an affected job, the sentence names them.
  if (finding.affected_job_ids_size() > 0 && finding.exposed_job_ids_size() > 0) {
    std::vector<std::string> names;
    for (const std::string& id : finding.exposed_job_ids()) names.push_back(Visible(id));
    AppendDetail("exposed", ListText(names, "other jobs"), text);
  }
  AppendSymptoms(finding, text);
}

// Returns "8 switches", or "7 of 8 switches" if the others reported nothing.
std::string SomeOf(uint64_t reported, uint64_t all, std::string_view one, std::string_view many) {
  if (reported < all)
    return fmt::format("{} of {} {}", WithThousands(reported), WithThousands(all), many);
  return fmt::format("{} {}", WithThousands(reported), reported == 1 ? one : many);
}

// Returns "; leaf0 did not report in 4 of them, leaf1 in 2 and 3 others in at most as many".
std::string SilenceText(const v1::DiagnosisCoverage& coverage) {
  constexpr int kMaxNames = 3;
  std::string text;
  for (int i = 0; i < std::min(kMaxNames, coverage.silences_size()); ++i) {
    const v1::Silence& silence = coverage.silences(i);
    text += i == 0 ? fmt::format("; {} did not report in {} of them", Visible(silence.node()),
                                 silence.window_count())
                   : fmt::format(", {} in {}", Visible(silence.node()), silence.window_count());
  }
  if (const int more = coverage.silences_size() - kMaxNames; more > 0) {
    text +=
        fmt::format(" and {} in at most as many", Counted(static_cast<uint64_t>(more), "other"));
  }
  return text;
}

// Returns "counters of 40 switches and 128 NICs over 22 windows of 1.0 ms, and the paths of 600
// flows".
std::string LookedAt(const v1::DiagnosisCoverage& coverage) {
  std::vector<std::string> reported;
  if (coverage.reporting_switch_count() > 0) {
    reported.push_back(SomeOf(coverage.reporting_switch_count(), coverage.total_switch_count(),
                              "switch", "switches"));
  }
  if (coverage.reporting_nic_count() > 0) {
    reported.push_back(
        SomeOf(coverage.reporting_nic_count(), coverage.total_nic_count(), "NIC", "NICs"));
  }
  if (coverage.reporting_gpu_count() > 0) {
    reported.push_back(
        SomeOf(coverage.reporting_gpu_count(), coverage.total_gpu_count(), "GPU", "GPUs"));
  }
  std::string text;
  if (!reported.empty()) {
    text =
        fmt::format("counters of {} over {} of {}{}", ListText(reported, "others"),
                    Counted(coverage.window_count(), "window"),
                    HumanDuration(Nanoseconds(coverage.window_duration())), SilenceText(coverage));
  }
  if (coverage.flow_count() > 0) {
    text += fmt::format("{}the paths of {}", text.empty() ? "" : ", and ",
                        Counted(coverage.flow_count(), "flow"));
  }
  return text;
}

// Says that counters are read less often than once per window, and what to do. Otherwise empty.
std::string SparseText(const v1::DiagnosisCoverage& coverage) {
  if (coverage.obstacle() != v1::DiagnosisCoverage::OBSTACLE_SPARSE_READINGS) return {};
  constexpr int64_t kLongestWindow = 3'600'000'000'000;  // limit for --window
  const int64_t interval = Nanoseconds(coverage.polling_interval());
  return fmt::format(
      "  Counters are read only every {}, but the analysis window is {}. Fault types that are "
      "found by comparing counters window by window are therefore undetectable. {}\n"
      "\n",
      HumanDuration(interval), HumanDuration(Nanoseconds(coverage.window_duration())),
      interval > kLongestWindow
          ? "Check the timestamps of the counters, and read them at least once per hour."
          : fmt::format("Use a --window of {} or longer.", HumanDuration(interval)));
}

// Says why the telemetry is not usable for the diagnosis, and what to do.
std::string ObstacleText(const v1::DiagnosisCoverage& coverage) {
  if (coverage.obstacle() == v1::DiagnosisCoverage::OBSTACLE_FOREIGN_TOPOLOGY) {
    const bool by_addresses = 2 * coverage.known_address_count() < coverage.address_count();
    const std::string why = by_addresses
                                ? fmt::format("of {} with traffic it contains {}",
                                              Counted(coverage.address_count(), "address"),
                                              WithThousands(coverage.known_address_count()))
                                : fmt::format("counters or flows contradict {} and confirm {}",
                                              Counted(coverage.contradicted_link_count(), "link"),
                                              WithThousands(coverage.confirmed_link_count()));
    return fmt::format(
        "FAULTS: not diagnosed: the topology describes another fabric: {}\n"
        "\n"
        "  Use --topology with the topology of the captured fabric.\n"
        "\n",
        why);
  }
  if (coverage.obstacle() == v1::DiagnosisCoverage::OBSTACLE_OTHER_TIME) {
    return "FAULTS: not diagnosed: no counter was read during the capture\n"
           "\n"
           "  Compare the clock of the counter collector with the clock of the capture host.\n"
           "\n";
  }
  return fmt::format(
      "FAULTS: not diagnosed: {} of {} {} too few; at least {} are required\n"
      "\n"
      "  Use a shorter --window, but not shorter than the interval at which counters are read.\n"
      "\n",
      Counted(coverage.window_count(), "window"),
      HumanDuration(Nanoseconds(coverage.window_duration())),
      coverage.window_count() == 1 ? "is" : "are", kEnoughWindows);
}

}  // namespace

namespace {

constexpr int kMaxBriefFindings = 4;

// Whether the telemetry is not usable for the diagnosis at all.
bool IsObstructed(const v1::DiagnosisCoverage& coverage) {
  return coverage.obstacle() != v1::DiagnosisCoverage::OBSTACLE_UNSPECIFIED &&
         coverage.obstacle() != v1::DiagnosisCoverage::OBSTACLE_SPARSE_READINGS;
}

// Appends which part of a long recording the sections other than FAULTS cover.
void AppendCoveredPart(const v1::DiagnosisCoverage& coverage, std::string& text) {
  if (coverage.earlier_window_count() == 0) return;
  const uint64_t all = coverage.earlier_window_count() + coverage.window_count();
  const int64_t window = Nanoseconds(coverage.window_duration());
  text += fmt::format(
      "  Anomalies and hotspots cover only the last {} of {} windows ({} of {}). "
      "Use a longer --window, or --until for an earlier part.\n\n",
      WithThousands(coverage.window_count()), WithThousands(all),
      HumanDuration(static_cast<int64_t>(coverage.window_count()) * window),
      HumanDuration(static_cast<int64_t>(all) * window));
}

// Appends the headline if there are no findings; false if there are some.
bool AppendNoFindings(const v1::ReplayReport& report, std::string& text) {
  if (report.findings_size() > 0) return false;
  const v1::DiagnosisCoverage& coverage = report.diagnosis_coverage();
  const std::string looked_at = LookedAt(coverage);
  const size_t detectable =
      kFaultKinds - std::min(kFaultKinds, static_cast<size_t>(coverage.undetectable_kinds_size()));
  if (!report.has_diagnosis_coverage()) {
    text +=
        "FAULTS: not diagnosed: no topology\n\n"
        "  Use --topology FILE (see `rocescope topology --help`), or add topology.yaml to the run "
        "directory.\n\n";
  } else if (IsObstructed(coverage)) {
    text += ObstacleText(coverage);
  } else if (looked_at.empty()) {
    text += "FAULTS: unknown: there are no counters and no flow paths to analyse\n\n";
  } else if (detectable == 0) {
    text += fmt::format("FAULTS: unknown: {} cannot show any fault\n\n", looked_at);
  } else if (detectable < kFaultKinds) {
    text += fmt::format(
        "FAULTS: none found; only {} of {} fault types are detectable with this telemetry: {}\n\n",
        detectable, kFaultKinds, looked_at);
  } else {
    text += fmt::format("FAULTS: none found in {}\n\n", looked_at);
  }
  AppendCoveredPart(coverage, text);
  return true;
}

// Appends the faults that are more likely wrong than right.
void AppendSuspected(const v1::ReplayReport& report, int most, std::string& text) {
  if (report.suspected_findings().empty()) return;
  const auto count = static_cast<uint64_t>(report.suspected_findings_size());
  text += fmt::format("SUSPECTED: {}; verify {} before you act\n\n", Counted(count, "fault"),
                      count == 1 ? "it" : "each");
  int number = 0;
  for (const v1::Finding& finding : report.suspected_findings()) {
    if (++number > most) break;
    text += fmt::format("{:>3}. {}; confidence {}.\n", number, Visible(finding.sentence()),
                        ConfidenceText(finding.confidence()));
    if (finding.evidence_size() > 0) AppendDetail("evidence", finding.evidence(0), text);
    AppendAlternatives(finding, text);
    for (const std::string& sentence : finding.missing_telemetry()) {
      AppendDetail("to confirm", sentence, text);
    }
  }
  if (report.suspected_findings_size() > most) {
    text += fmt::format("  and {} more\n", report.suspected_findings_size() - most);
  }
  text += "\n";
}

// The undetectable fault types are only of interest if the diagnosis ran.
bool HasMissingTelemetry(const v1::ReplayReport& report) {
  return report.findings_size() > 0 || !IsObstructed(report.diagnosis_coverage());
}

}  // namespace

void AppendFindings(const v1::ReplayReport& report, std::string& text) {
  if (!AppendNoFindings(report, text)) {
    text += fmt::format("FAULTS: {} found\n\n", report.findings_size());
    AppendCoveredPart(report.diagnosis_coverage(), text);
    int number = 0;
    for (const v1::Finding& finding : report.findings()) {
      if (++number > kMaxRows) break;
      AppendFinding(number, finding, text);
    }
    AppendMore(report.findings_size(), "fault", text);
    text += "\n";
  }
  AppendSuspected(report, kMaxRows, text);
  text += SparseText(report.diagnosis_coverage());
  text += UnusableCountersText(report.diagnosis_coverage());
  if (HasMissingTelemetry(report)) text += UnseenFaultsText(report.diagnosis_coverage());
}

void AppendBriefFindings(const v1::ReplayReport& report, std::string& text) {
  if (!AppendNoFindings(report, text)) {
    text += fmt::format("FAULTS: {} found\n\n", report.findings_size());
    AppendCoveredPart(report.diagnosis_coverage(), text);
    const int shown = std::min(report.findings_size(), kMaxBriefFindings);
    for (int i = 0; i < shown; ++i) {
      const v1::Finding& finding = report.findings(i);
      AppendHeadline(i + 1, finding, text);
      if (finding.evidence_size() > 0) AppendDetail("evidence", finding.evidence(0), text);
    }
    if (report.findings_size() > shown) {
      text += fmt::format("  and {} more\n",
                          Counted(static_cast<uint64_t>(report.findings_size() - shown), "fault"));
    }
    text += "\n";
  }
  AppendSuspected(report, 1, text);
  text += SparseText(report.diagnosis_coverage());
  text += UnusableCountersText(report.diagnosis_coverage());
  if (HasMissingTelemetry(report)) text += MissingTelemetryText(report.diagnosis_coverage());
}

}  // namespace rocescope
