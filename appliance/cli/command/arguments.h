// SPDX-License-Identifier: BSD-3-Clause
// The subcommands of the command line: their options, help and entry points. CLI11 takes seconds to
// compile: only main.cc and the files *_arguments.cc include this.
#pragma once

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <charconv>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "appliance/cli/command/analysis.h"
#include "appliance/cli/command/daemon_page.h"
#include "appliance/cli/command/log.h"
#include "appliance/daemon/grpc/jobs_client.h"
#include "base/result.h"

namespace rocescope {

// A subcommand: its options and its entry point.
struct Command {
  CLI::App* app = nullptr;
  std::function<int()> run;
  bool ends_input_itself = false;  // calls EndInputOnSignal itself, when it is able to stop
};

Command AddDecode(CLI::App& parent);
Command AddReplay(CLI::App& parent);
Command AddCapture(CLI::App& parent);
Command AddScore(CLI::App& parent);
Command AddTopology(CLI::App& parent);
Command AddCounters(CLI::App& parent);
Command AddPlan(CLI::App& parent);
Command AddRun(CLI::App& parent);
Command AddAgent(CLI::App& parent);
Command AddConfig(CLI::App& parent);
Command AddDetectors(CLI::App& parent);
Command AddDoctor(CLI::App& parent);
Command AddFinding(CLI::App& parent);
Command AddGet(CLI::App& parent);
Command AddHealthcheck(CLI::App& parent);
Command AddHistory(CLI::App& parent);
Command AddJob(CLI::App& parent);
Command AddSupportBundle(CLI::App& parent);

// Adds an option whose text is parsed by `parse` and stored by `store`. A parser error is a usage
// error with the parser's message.
template <typename Parse, typename Store>
CLI::Option* AddParsed(CLI::App& app, const std::string& name, const std::string& value_name,
                       const std::string& help, Parse parse, Store store) {
  const auto take = [parse, store, name](const CLI::results_t& texts) {
    for (const std::string& text : texts) {
      auto value = parse(text);
      if (!value) throw CLI::ValidationError(name, value.error().message);
      store(*std::move(value));
    }
    return true;
  };
  return app.add_option(name, take, help)->type_name(value_name);
}

// Adds an integer option with a range, in decimal digits only: CLI11 reads "010" as 8 and "0x10" as
// 16, and clamps numbers that are too large.
inline CLI::Option* AddWhole(CLI::App& app, const std::string& name, const std::string& value_name,
                             const std::string& help, uint64_t least, uint64_t most,
                             const std::function<void(uint64_t)>& store) {
  const auto parse = [least, most](const std::string& text) -> Result<uint64_t> {
    uint64_t number = 0;
    const char* const end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data(), end, number);
    if (error != std::errc{} || stop != end || number < least || number > most) {
      return MakeError(
          ErrorCode::kInvalidArgument,
          fmt::format("expected an integer from {} to {}, found \"{}\"", least, most, text));
    }
    return number;
  };
  return AddParsed(app, name, value_name, help, parse, store);
}

// Each occurrence takes exactly one value, so that following arguments are not consumed.
inline CLI::Option* Repeatable(CLI::Option* option) {
  return option->expected(1, CLI::detail::expected_max_vector_size)->allow_extra_args(false);
}

// Adds "-o text" and "-o json"; `one` describes the JSON: "one object".
inline void AddOutputFormat(CLI::App& app, std::string& format, const std::string& one,
                            bool has_html = false) {
  std::vector<std::string> formats = {"text", "json"};
  if (has_html) formats.emplace_back("html");
  app.add_option("-o,--output", format,
                 "Output format. text: human-readable; json: " + one +
                     (has_html ? ";\nhtml: the dashboard as a self-contained page" : ""))
      ->type_name("FORMAT")
      ->check(CLI::IsMember(formats))
      ->capture_default_str();
}

// Adds "--log-format text" and "--log-format json".
inline void AddLogFormat(CLI::App& app, LogFormat& format) {
  const auto set = [&format](const std::string& name) {
    format = name == "json" ? LogFormat::kJson : LogFormat::kText;
  };
  app.add_option_function<std::string>("--log-format", set,
                                       "Format of the log on standard error. text: human-readable; "
                                       "json: one object per line with\n"
                                       "time, severity, component and message")
      ->type_name("FORMAT")
      ->check(CLI::IsMember({"text", "json"}))
      ->default_str("text");
}

// Adds the URL of an appliance as the option `name`, and the files with which it is accessed.
inline void AddPage(CLI::App& app, DaemonPage& page, const std::string& name) {
  app.add_option(name, page.url, "URL of the dashboard")->type_name("URL")->capture_default_str();
  app.add_option("--ca", page.ca,
                 "CA certificate (PEM) that signs the appliance's certificate, for https")
      ->type_name("FILE");
  app.add_option("--cert", page.certificate, "Client certificate (PEM) with the role viewer")
      ->type_name("FILE");
  app.add_option("--key", page.key, "Private key of the client certificate (PEM)")
      ->type_name("FILE");
  app.add_option("--token-file", page.token_file,
                 "File with a bearer token, if the appliance requires one (key `http.tokens`)")
      ->type_name("FILE");
}

// Adds the gRPC address of an appliance, the timeout, and the files for TLS.
void AddClient(CLI::App& app, JobsClientOptions& client);

inline ReportFormat FormatOf(std::string_view name) {
  if (name == "html") return ReportFormat::kHtml;
  return name == "json" ? ReportFormat::kJson : ReportFormat::kText;
}

}  // namespace rocescope
