// SPDX-License-Identifier: BSD-3-Clause
// rocescope-lab-endpoint: the RoCEv2 endpoint of one host of a lab.
#include <fmt/format.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <new>
#include <string>
#include <vector>

#include "base/file_size_signal.h"
#include "base/nearest.h"
#include "testbeds/ovs_lab/endpoint/event_loop.h"
#include "testbeds/ovs_lab/endpoint/lab_plan.h"

namespace {

using namespace rocescope;
using namespace rocescope::endpoint;

constexpr int kExitUsage = 2;
constexpr int kExitInput = 3;
constexpr int kExitOutput = 4;

constexpr const char* kFooter =
    "Exit codes: 0 ended by a signal or at the end of the plan; 2 the command line is invalid, or\n"
    "the host or an interface does not exist; 3 the plan or its topology cannot be read or is\n"
    "invalid, or privileges are missing; 4 a file could not be written.\n";

int Fail(const Error& error, int code) {
  std::fputs(fmt::format("rocescope-lab-endpoint: {}\n", error.message).c_str(), stderr);
  return code;
}

int ExitCodeOf(const Error& error) {
  switch (error.code) {
    case ErrorCode::kNotFound:
      return kExitUsage;
    case ErrorCode::kResourceExhausted:
    case ErrorCode::kInternal:
      return kExitOutput;
    default:
      return kExitInput;
  }
}

int Run(const std::string& path, const std::string& name, const RunOptions& options) {
  const auto plan = LoadLabPlan(path);
  if (!plan) return Fail(plan.error(), kExitInput);
  const topology::NodeIndex host = plan->fabric->FindNode(name);
  if (host == topology::kNone || plan->fabric->node(host).IsSwitch()) {
    std::vector<std::string_view> hosts;
    for (const topology::Node& node : plan->fabric->nodes()) {
      if (!node.IsSwitch()) hosts.push_back(node.name);
    }
    return Fail({.code = ErrorCode::kNotFound,
                 .message = fmt::format("--host: the topology has no host \"{}\"{}", name,
                                        DidYouMean(name, hosts))},
                kExitUsage);
  }
  const Status run = RunHost(*plan, host, options);
  return run ? 0 : Fail(run.error(), ExitCodeOf(run.error()));
}

}  // namespace

int main(int argc, char** argv) {
  rocescope::IgnoreFileSizeSignal();
  CLI::App app(
      "Run the RoCEv2 endpoint of one host: send and receive the traffic of the plan's "
      "jobs on its interfaces, and write the host's logs and counters");
  app.footer(kFooter);
  std::string plan;
  std::string host;
  RunOptions options;
  app.add_option("PLAN", plan, "Plan of the lab (YAML); all hosts read the same plan")->required();
  app.add_option("--host", host, "Name of this host in the plan's topology")->required();
  app.add_option("--interface", options.interfaces,
                 "Network interface of the host's first NIC. Repeat it for further NICs, in the "
                 "order of the topology")
      ->required()
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  app.add_option("-d,--directory", options.directory,
                 "Directory for logs and counters; created if it does not exist")
      ->required();
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : kExitUsage;
  }
  spdlog::set_default_logger(spdlog::stderr_logger_mt("endpoint"));
  spdlog::set_pattern("%Y-%m-%dT%H:%M:%S.%e%z %l endpoint: %v");
  try {
    return Run(plan, host, options);
  } catch (const std::bad_alloc&) {
    return Fail({.code = ErrorCode::kResourceExhausted,
                 .message = "out of memory: use fewer or smaller jobs"},
                kExitOutput);
  }
}
