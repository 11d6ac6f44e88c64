// SPDX-License-Identifier: BSD-3-Clause
#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "appliance/cli/plan/plan_report.h"
#include "appliance/cli/plan/sizing.h"
#include "appliance/cli/plan/switch_config.h"

namespace rocescope::plan {
namespace {

using Json = nlohmann::ordered_json;
using topology::Fabric;

// 64-bit integers are strings, as in all JSON output.
std::string Text64(double value) { return fmt::format("{:.0f}", std::round(value)); }

Json LoadJson(const Load& line_rate, double utilisation) {
  const Load now = line_rate * utilisation;
  return {{"copies_per_second", Text64(now.per_second)},
          {"bits_per_second", Text64(now.bits_per_second)},
          {"line_rate_copies_per_second", Text64(line_rate.per_second)},
          {"line_rate_bits_per_second", Text64(line_rate.bits_per_second)}};
}

Json ChoiceJson(const MirrorPlan& plan) {
  return {{"mirror", WordOf(plan.choice)},
          {"ports", plan.ports},
          {"sessions", plan.sessions.size()},
          {"fullest_collector_ratio", plan.fullest},
          {"cores", plan.need.cores},
          {"memory_bytes", fmt::format("{}", plan.need.memory_bytes)},
          {"fits", plan.Fits()},
          {"nics_sending_ratio", plan.coverage.nics_sending},
          {"nics_receiving_ratio", plan.coverage.nics_receiving},
          {"pairs_ratio", plan.coverage.pairs},
          {"fabric_links_ratio", plan.coverage.fabric_links}};
}

Json SessionJson(const Fabric& fabric, const Plan& plan, const MirrorSession& session) {
  Json ports = Json::array();
  for (const topology::PortIndex port : session.tap.ports) ports.push_back(fabric.port(port).name);
  return {{"switch", fabric.node(session.tap.node).name},
          {"session", session.tap.session},
          {"direction", NameOf(session.tap.direction)},
          {"names_port", session.tap.names_port},
          {"ports", std::move(ports)},
          {"collector", plan.options.collectors[session.collector].interface},
          {"load", LoadJson(session.line_rate, plan.options.utilisation)}};
}

Json CollectorJson(const Plan& plan, size_t i) {
  const Collector& collector = plan.options.collectors[i];
  Json json = {{"name", collector.interface},
               {"switch", collector.node},
               {"port", collector.port},
               {"address", ToString(collector.address)},
               {"speed_bits_per_second", fmt::format("{}", collector.bits_per_second)}};
  if (const MirrorPlan* mirrors = plan.mirrors()) {
    const CollectorLoad& load = mirrors->collectors[i];
    json["sessions"] = load.sessions;
    json["load"] = LoadJson(load.line_rate, plan.options.utilisation);
    json["over_the_fabric_bits_per_second"] =
        Text64(load.foreign_bits_per_second * plan.options.utilisation);
  }
  json["cores"] = plan.need().collectors[i].cores;
  json["memory_bytes"] = fmt::format("{}", plan.need().collectors[i].memory_bytes);
  return json;
}

Json MachineJson(const Plan& plan) {
  const MachineNeed& need = plan.need();
  Json json = {{"cores", need.cores},
               {"receive_cores", need.ReceiveCores()},
               {"cores_without_safety_factor", need.least_cores},
               {"safety_factor", kCoreSafety},
               {"flows", fmt::format("{}", need.flows)},
               {"queue_pairs_per_nic", plan.options.queue_pairs},
               {"memory_bytes", fmt::format("{}", need.memory_bytes)},
               {"memory_budget_bytes", fmt::format("{}", need.budget_bytes)},
               {"memory_in_use_bytes", fmt::format("{}", need.least_memory_bytes)},
               {"history_bytes", fmt::format("{}", need.history_bytes)}};
  if (plan.options.cores) json["present_cores"] = *plan.options.cores;
  if (plan.options.memory) {
    json["present_memory_bytes"] = fmt::format("{}", *plan.options.memory);
  }
  if (plan.options.cores || plan.options.memory) json["fits"] = need.FitsIn(plan.options);
  return json;
}

Json SflowJson(const Fabric& fabric, const Plan& plan) {
  Json rates = Json::array();
  for (const SflowRate& rate : plan.sflow.rates) {
    rates.push_back({{"port_bits_per_second", fmt::format("{}", rate.port_bits_per_second)},
                     {"ports", rate.ports},
                     {"one_in", fmt::format("{}", rate.one_in)},
                     {"samples_per_second", rate.samples_per_second}});
  }
  const auto names = [&](const std::vector<topology::NodeIndex>& nodes) {
    Json list = Json::array();
    for (const topology::NodeIndex node : nodes) list.push_back(fabric.node(node).name);
    return list;
  };
  return {{"collector", ToString(plan.options.telemetry)},
          {"port", kSflowPort},
          {"polling_seconds", plan.options.polling_seconds},
          {"samples_per_second", plan.sflow.samples_per_second},
          {"rates", std::move(rates)},
          {"switches", names(plan.sflow.switches)},
          {"left_out_as_mirroring", names(plan.sflow.mirroring)},
          {"left_out_without_agent", names(plan.sflow.unnamed)}};
}

}  // namespace

Result<std::string> PlanJson(const Fabric& fabric, const Plan& plan) {
  const Result<std::string> section = MirrorsSection(fabric, plan);
  if (!section) return section;
  Json json = {{"warnings", plan.warnings},
               {"vendor", plan.settings.platform->word},
               {"utilisation_ratio", plan.options.utilisation},
               {"path_mtu", plan.options.path_mtu},
               {"erspan_type", plan.settings.shape.erspan},
               {"truncation", plan.settings.shape.truncation},
               {"copy_bytes", CopyFrame(plan.settings.shape)},
               {"one_in", plan.settings.shape.one_in}};
  if (plan.mirrors() != nullptr) json["mirror"] = WordOf(plan.mirrors()->choice);
  json["choices"] = Json::array();
  for (const MirrorPlan& choice : plan.choices) json["choices"].push_back(ChoiceJson(choice));
  json["collectors"] = Json::array();
  for (size_t i = 0; i < plan.options.collectors.size(); ++i) {
    json["collectors"].push_back(CollectorJson(plan, i));
  }
  json["machine"] = MachineJson(plan);
  json["sessions"] = Json::array();
  if (const MirrorPlan* mirrors = plan.mirrors()) {
    for (const MirrorSession& session : mirrors->sessions) {
      json["sessions"].push_back(SessionJson(fabric, plan, session));
    }
  }
  json["sflow"] = SflowJson(fabric, plan);
  json["int"] = {{"switches", plan.int_switches},
                 {"collector", ToString(plan.options.telemetry)},
                 {"port", kIntReportPort}};
  json["notes"] = plan.notes;
  json["mirrors_yaml"] = *section;
  json["appliance_yaml"] = ApplianceYaml(plan, "fabric.yaml");
  json["switch_configs"] = Json::object();
  json["switch_rollbacks"] = Json::object();
  for (const SwitchConfig& config : SwitchConfigs(fabric, plan)) {
    json["switch_configs"][fabric.node(config.node).name] = config.text;
    json["switch_rollbacks"][fabric.node(config.node).name] = config.rollback;
  }
  return json.dump(2) + "\n";
}

}  // namespace rocescope::plan
