// SPDX-License-Identifier: BSD-3-Clause
#include <fmt/format.h>

#include <array>
#include <string_view>
#include <utility>
#include <vector>

#include "appliance/api/message_value.h"
#include "appliance/common/report/dependency_report.h"
#include "appliance/common/report/finding_sentence.h"
#include "appliance/common/report/table.h"
#include "appliance/common/report/text_section.h"
#include "appliance/common/report/visible_text.h"
#include "base/text/name_range.h"
#include "rocescope/v1/report.pb.h"

namespace rocescope {
namespace {

// Returns "1 GPU", "56 GPUs" or "12 switches".
std::string CountText(std::string_view kind, int count) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 2> kCapitals = {
      {{"gpu", "GPU"}, {"nic", "NIC"}}};
  for (const auto& [name, text] : kCapitals) {
    if (kind == name) return Counted(static_cast<uint64_t>(count), text);
  }
  return Counted(static_cast<uint64_t>(count), kind);
}

template <typename Message>
std::string NameText(const Message& element) {
  return element.has_allocation() ? JobName(element.name(), element.allocation())
                                  : Visible(element.name());
}

// Returns "host[0-7], host9 and 12 others", limited to one line.
std::string NamesText(const v1::ElementsOfKind& row) {
  constexpr size_t kWidth = 80;
  std::vector<std::string> names;
  names.reserve(static_cast<size_t>(row.elements_size()));
  for (const v1::DependencyElement& element : row.elements()) names.push_back(NameText(element));
  std::string text;
  for (size_t i = 0; i < names.size();) {
    topology::NameRun run(names[i]);
    while (i + run.count() < names.size() && run.Extend(names[i + run.count()])) {
    }
    // A range needs at least three names; two consecutive names may be a coincidence.
    if (run.count() == 2 && !run.by_ones()) run = topology::NameRun(names[i]);
    const std::string next = run.Text();
    if (i > 0 && text.size() + next.size() > kWidth) {
      return text + fmt::format(" and {} more", WithThousands(names.size() - i));
    }
    text += (i > 0 ? ", " : "") + next;
    i += run.count();
  }
  return text;
}

std::string HeadlineOf(const v1::Dependency& answer) {
  const std::string of = fmt::format("of {} ({})", NameText(answer), WordOf(answer.kind()));
  if (answer.question() == v1::Dependency::QUESTION_NEEDS) {
    std::vector<std::string> counts;
    for (const v1::ElementsOfKind& row : answer.elements()) {
      counts.push_back(CountText(WordOf(row.kind()), row.elements_size()));
    }
    std::string needed = fmt::format("{}", fmt::join(counts, ", "));
    if (counts.empty()) {
      needed = answer.kind() == v1::ELEMENT_KIND_SWITCH
                   ? "nothing: a switch depends on no other element; use "
                     "--blast-radius to list what depends on it"
                   : "no known element";
    }
    return fmt::format("DEPENDENCIES {}: {}", of, needed);
  }
  std::string work = ReachText(answer.reach());
  if (work.empty()) {
    work = answer.elements_size() == 0 ? "no known element" : "no known job";
  }
  return fmt::format("BLAST RADIUS {}: {}", of, work);
}

std::string CoverageText(const v1::DependencyCoverage& coverage) {
  std::string text =
      coverage.flow_count() == 0
          ? "no job traffic was observed: the result is based on where the ranks' NICs are "
            "connected; links and switches in between are not counted"
          : fmt::format("based on the paths of flows, {} of {} known{}",
                        WithThousands(coverage.known_flow_count()),
                        WithThousands(coverage.flow_count()),
                        coverage.partly_known_flow_count() == 0
                            ? ""
                            : fmt::format(", {} partly known",
                                          WithThousands(coverage.partly_known_flow_count())));
  if (coverage.unclaimed_flow_count() > 0) {
    text +=
        fmt::format("; {} {} no known job", Counted(coverage.unclaimed_flow_count(), "other flow"),
                    coverage.unclaimed_flow_count() == 1 ? "belongs to" : "belong to");
  }
  return text;
}

}  // namespace

std::string ReachText(const v1::Reach& reach) {
  if (reach.job_count() == 0) return {};
  if (reach.rank_count() == 0) return Counted(reach.job_count(), "job");
  std::string text = fmt::format("{} of {}", Counted(reach.rank_count(), "rank"),
                                 Counted(reach.job_count(), "job"));
  if (reach.gpu_count() > 0) {
    text += fmt::format(", on {} of {}", Counted(reach.gpu_count(), "GPU"),
                        Counted(reach.host_count(), "host"));
  } else if (reach.host_count() > 0) {
    text += fmt::format(", on {}", Counted(reach.host_count(), "host"));
  }
  return text;
}

std::string RenderText(const v1::Dependencies& dependencies) {
  std::string text;
  for (const v1::Dependency& answer : dependencies.answers()) {
    text += HeadlineOf(answer) + "\n\n";
    TextTable table({{"KIND"}, {"COUNT", Align::kRight}, {"NAMES"}});
    for (const v1::ElementsOfKind& row : answer.elements()) {
      table.Add({WordOf(row.kind()), WithThousands(static_cast<uint64_t>(row.elements_size())),
                 NamesText(row)});
    }
    if (!table.empty()) text += table.Render(2) + "\n";
  }
  text += "  " + CoverageText(dependencies.coverage()) + "\n";
  return VisibleLines(text);
}

}  // namespace rocescope
