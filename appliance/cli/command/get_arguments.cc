// SPDX-License-Identifier: BSD-3-Clause
#include <memory>
#include <string>

#include "appliance/cli/command/arguments.h"
#include "appliance/cli/command/get.h"

namespace rocescope {
namespace {

std::string ResourceList() {
  std::string names;
  for (const GetResource& resource : GetResources()) {
    names += (names.empty() ? "" : ", ") + std::string(resource.name);
  }
  return names;
}

}  // namespace

Command AddGet(CLI::App& parent) {
  struct State {
    GetOptions options;
    std::string format = "table";
    std::string filter, order, job, source, destination;
  };
  auto state = std::make_shared<State>();
  GetOptions& options = state->options;
  CLI::App* app =
      parent.add_subcommand("get", "List findings, jobs, links and more of a running appliance");
  app->footer(fmt::format(
      "Resources: {}.\n"
      "Filters and orders are those of the HTTP API (docs/reference/http.md). Paths require --job, "
      "or\n"
      "--source and --destination.\n"
      "Exit codes: 0 success, 1 there is no element with this NAME, 3 no answer or a refused "
      "request.\n"
      "\n"
      "Examples:\n"
      "  rocescope get findings\n"
      "  rocescope get jobs -o wide\n"
      "  rocescope get links --filter 'utilization > 0.8' --order-by 'utilization desc'\n"
      "  rocescope get paths --job 4711 --watch",
      ResourceList()));
  app->add_option("RESOURCE", options.resource, "What to list: see below")
      ->type_name("")
      ->required();
  app->add_option("NAME", options.name,
                  "Only the element with this name, for example a job ID or NODE:PORT")
      ->type_name("");
  app->add_option("-o,--output", state->format,
                  "Output format. table; wide: a table with more columns; json: one object, with\n"
                  "--watch one object per row and line")
      ->type_name("FORMAT")
      ->check(CLI::IsMember({"table", "wide", "json", "text"}))
      ->capture_default_str();
  app->add_option("--filter", state->filter,
                  "Condition on the fields, for example 'confidence > 0.9'")
      ->type_name("CONDITION");
  app->add_option("--order-by", state->order, "Sort keys, for example 'start_time desc'")
      ->type_name("KEYS");
  app->add_option("--job", state->job, "Paths and hotspots of this job only")->type_name("JOB");
  app->add_option("--source", state->source, "Paths from this NIC, GPU or address")
      ->type_name("END");
  app->add_option("--destination", state->destination, "Paths to this NIC, GPU or address")
      ->type_name("END");
  app->add_flag("-w,--watch", options.watch,
                "Print rows that are new or have changed, every two seconds, until Ctrl-C");
  AddPage(*app, options.page, "--appliance");
  return {.app = app, .run = [state] {
            GetOptions& all = state->options;
            all.format = state->format == "json"   ? GetFormat::kJson
                         : state->format == "wide" ? GetFormat::kWide
                                                   : GetFormat::kTable;
            all.parameters = {{"filter", state->filter},
                              {"order_by", state->order},
                              {"job_id", state->job},
                              {"source", state->source},
                              {"destination", state->destination}};
            return RunGet(all);
          }};
}

}  // namespace rocescope
