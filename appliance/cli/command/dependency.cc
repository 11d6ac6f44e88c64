// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/cli/command/dependency.h"

#include <fmt/format.h>

#include <optional>

#include "analytics/dependency/dependency_graph.h"
#include "appliance/cli/command/exit_code.h"
#include "appliance/cli/command/message.h"
#include "appliance/cli/command/output.h"
#include "appliance/common/report/finding_sentence.h"
#include "appliance/common/report/job_report.h"
#include "appliance/common/report/text_section.h"
#include "base/nearest.h"
#include "rocescope/v1/report.pb.h"

namespace rocescope {
namespace {

constexpr uint32_t kSchemaVersion = 1;

void TellMissing(const DependencyRequest& request, const Elements& elements) {
  const std::vector<std::string> names = elements.Names();
  const std::vector<std::string_view> known(names.begin(), names.end());
  Message(fmt::format("{}: unknown element \"{}\"{}", OptionOf(request.question), request.element,
                      DidYouMean(request.element, known)));
}

// The IDs of jobs are not guessable, so list them.
void TellForms(const Elements& elements) {
  std::vector<std::string> jobs;
  for (const auto& [job, edges] : elements.attribution().jobs) {
    v1::Allocation allocation;
    if (job.allocation) FillAllocation(*job.allocation, allocation);
    jobs.push_back(job.allocation ? JobName(job.id, allocation) : job.id);
  }
  Message(
      fmt::format("an element is a switch or host name, NODE:PORT, HOST:DEVICE, HOST:gpu:NUMBER, a "
                  "link NODE:PORT-NODE:PORT, a NIC's address, a job (ID, or scheduler's number or "
                  "name), a communicator, or JOB:rank:NUMBER; {}",
                  jobs.empty() ? "no jobs are known"
                               : fmt::format("known jobs: {}", ListText(jobs, "others"))));
}

}  // namespace

std::string_view OptionOf(DependencyQuestion question) {
  return question == DependencyQuestion::kNeeds ? "--needs" : "--blast-radius";
}

int PrintDependencies(const std::vector<DependencyRequest>& requests, const Snapshot& snapshot,
                      ReportFormat format) {
  const DependencyGraph graph(*snapshot.fabric, *snapshot.attribution, *snapshot.connections,
                              *snapshot.paths);
  v1::Dependencies answer;
  answer.set_schema_version(kSchemaVersion);
  FillDependencyCoverage(graph.coverage(), *answer.mutable_coverage());
  bool all_found = true;
  for (const DependencyRequest& request : requests) {
    const std::optional<Element> element = graph.elements().Find(request.element);
    if (!element) {
      TellMissing(request, graph.elements());
      all_found = false;
      continue;
    }
    FillDependency(graph, *element, request.question, *answer.add_answers());
  }
  if (!all_found) {
    TellForms(graph.elements());
    return kExitUsage;
  }
  const std::string text = format == ReportFormat::kJson ? RenderJson(answer) : RenderText(answer);
  return WriteToStdout(text) == OutputState::kFailed ? kExitOutput : kExitSuccess;
}

}  // namespace rocescope
