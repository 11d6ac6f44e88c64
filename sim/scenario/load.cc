// SPDX-License-Identifier: BSD-3-Clause
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <set>
#include <type_traits>
#include <utility>

#include "base/nearest.h"
#include "base/text/name_range.h"
#include "base/text/quantity.h"
#include "base/utf8.h"
#include "dataplane/run/manifest.h"
#include "sim/emit/host_files.h"
#include "sim/scenario/loader.h"
#include "topology/yaml.h"

namespace rocescope::sim {

Result<double> Loader::ParseReal(std::string_view text, double least, double most) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || !std::isfinite(value) ||
      value < least || value > most) {
    return MakeError(ErrorCode::kInvalidArgument,
                     fmt::format("\"{}\" is not a number from {} to {}", text, least, most));
  }
  return value;
}

Result<Scenario> Loader::Load(const YamlNode& root, std::optional<uint64_t> seed,
                              std::optional<Model> model_to_run) {
  const YamlMap map(root, "a scenario",
                    {"name", "about", "model", "seed", "duration", "time_scale", "record_interval",
                     "analysis_window", "reroute_delay", "fabric", "network", "jobs", "streams",
                     "faults", "benign", "maintenance", "foreign", "telemetry"},
                    errors_);
  if (const YamlNode* name = map.Require("name")) {
    scenario_.name = ReadName(*name, RunManifest::kLongestName, errors_).value_or("");
  }
  Text(map, "about", scenario_.about);
  if (const YamlNode* model = map.Find("model")) {
    constexpr std::array<std::string_view, 2> kModels = {"packet", "flow"};
    scenario_.model = static_cast<Model>(ReadChoice(*model, kModels, errors_).value_or(0));
  }
  const bool has_real_times = scenario_.model == Model::kFlow;
  scenario_.model = model_to_run.value_or(scenario_.model);
  if (has_real_times) {
    scenario_.time_scale = 1;
    scenario_.record_interval = std::chrono::seconds(1);
    scenario_.analysis_window = std::chrono::seconds(30);
  }
  Number(map, "seed", 0, UINT64_MAX >> 1, scenario_.seed);
  scenario_.seed = seed.value_or(scenario_.seed);  // set before anything is derived from it
  Parsed(map, "duration", ParseSimTime, scenario_.duration);
  if (scenario_.duration < kNanosecond) {
    errors_.Add(*map.Find("duration"), "duration must be above 0");
  }
  Ratio(map, "time_scale", 1e-6, 1, scenario_.time_scale);
  Parsed(map, "reroute_delay", ParseSimTime, scenario_.reroute_delay);
  const auto interval = [&](std::string_view key, Duration& value) {
    SimTime time = value.count() * kNanosecond;
    Parsed(map, key, ParseSimTime, time);
    value = Duration(time / kNanosecond);
  };
  interval("record_interval", scenario_.record_interval);
  interval("analysis_window", scenario_.analysis_window);
  // `replay` requires this of the manifest.
  if (scenario_.record_interval < std::chrono::milliseconds(1) ||
      scenario_.record_interval > std::chrono::seconds(4)) {
    errors_.Add(root, "record_interval must be between 1ms and 4s");
  }
  if (scenario_.record_interval.count() <= 0 || scenario_.analysis_window.count() <= 0 ||
      scenario_.analysis_window % scenario_.record_interval != Duration(0)) {
    errors_.Add(root,
                "analysis_window must be a multiple of record_interval, and both must be above 0");
  }
  // Without a fabric, locations cannot be checked. Its error messages contain line numbers already.
  Status fabric;
  if (const YamlNode* node = map.Require("fabric")) fabric = ReadFabric(*node);
  if (!fabric) {
    Error error = std::move(fabric.error());
    if (!errors_.empty()) error.message = errors_.Take().message + "\n" + error.message;
    return tl::unexpected(std::move(error));
  }
  if (!errors_.empty()) return tl::unexpected(errors_.Take());
  if (const YamlNode* node = map.Find("network")) ReadNetwork(*node);
  if (has_real_times) {
    scenario_.telemetry.counter_period = scenario_.analysis_window.count() * kNanosecond;
  }
  if (scenario_.model == Model::kFlow) scenario_.telemetry.mirrors.clear();
  if (const YamlNode* node = map.Find("telemetry")) ReadTelemetry(*node);
  const auto each = [&](std::string_view key, void (Loader::*read)(const YamlNode&)) {
    const YamlNode* node = map.Find(key);
    if (node == nullptr) return;
    for (const YamlNode& item : ReadList(*node, errors_)) {
      if (!errors_.full()) (this->*read)(item);
    }
  };
  each("jobs", &Loader::ReadJob);
  each("streams", &Loader::ReadStream);
  each("faults", &Loader::ReadFault);
  if (const YamlNode* node = map.Find("benign")) ReadBenign(*node);
  each("maintenance", &Loader::ReadMaintenance);
  each("foreign", &Loader::ReadForeign);
  for (size_t i = 0; errors_.empty() && i < scenario_.faults.size(); ++i) {
    CheckEffect(map.Find("faults")->items[i], scenario_.faults[i]);
  }
  if (errors_.empty()) RepeatFaults();
  if (!errors_.empty()) return tl::unexpected(errors_.Take());
  scenario_.network.seed = scenario_.seed;
  return std::move(scenario_);
}

Status Loader::ReadFabric(const YamlNode& node) {
  auto fabric = topology::ReadFabric(node, file_);
  if (!fabric) return tl::unexpected(std::move(fabric.error()));
  scenario_.fabric = *std::move(fabric);
  constexpr uint64_t kSlowest = 1'000'000;  // a frame of 4 kB takes 33 ms
  for (const topology::Link& link : scenario_.fabric->links()) {
    if (link.bits_per_second >= kSlowest) continue;
    errors_.Add(node, fmt::format("a link has a speed of {} bit/s: it must be at least 1M; is the "
                                  "unit missing, as in 100G?",
                                  link.bits_per_second));
    break;
  }
  return {};
}

void Loader::ReadNetwork(const YamlNode& node) {
  const YamlMap map(
      node, "the network",
      {"mtu", "ack_every", "ack_timeout", "retries", "window", "buffer", "alpha", "lossy_alpha",
       "headroom", "ecn_minimum", "ecn_maximum", "ecn_probability", "spray", "one_hash_seed",
       "switch_mtu", "pfc_watchdog", "pfc_watchdog_restoration", "dcqcn"},
      errors_);
  NicOptions& nics = scenario_.network.nics;
  SwitchOptions& switches = scenario_.network.switches;
  if (const YamlNode* mtu = map.Find("mtu")) {
    constexpr std::array<std::string_view, 5> kMtus = {"256", "512", "1024", "2048", "4096"};
    if (const auto choice = ReadChoice(*mtu, kMtus, errors_)) nics.mtu = 256u << *choice;
  }
  Number(map, "ack_every", 1, 1u << 16, nics.ack_every);
  Parsed(map, "ack_timeout", ParseSimTime, nics.ack_timeout);
  Number(map, "retries", 0, 7, nics.retries);
  Number(map, "window", 0, 1u << 20, nics.window);
  Parsed(map, "buffer", ParseSize, switches.buffer.bytes);
  Ratio(map, "alpha", 1e-4, 64, switches.buffer.alpha);
  Ratio(map, "lossy_alpha", 1e-6, 64, switches.buffer.egress_alpha);
  Parsed(map, "headroom", ParseSize, switches.buffer.headroom);
  Parsed(map, "ecn_minimum", ParseSize, switches.ecn.minimum);
  Parsed(map, "ecn_maximum", ParseSize, switches.ecn.maximum);
  Ratio(map, "ecn_probability", 0, 1, switches.ecn.maximum_probability);
  if (switches.ecn.minimum > switches.ecn.maximum) {
    errors_.Add(node, "ecn_minimum must not be above ecn_maximum");
  }
  Flag(map, "spray", switches.spray);
  Flag(map, "one_hash_seed", scenario_.network.one_hash_seed);
  Number(map, "switch_mtu", 256, 9216, switches.mtu);
  Parsed(map, "pfc_watchdog", ParseSimTime, switches.watchdog.detection);
  Parsed(map, "pfc_watchdog_restoration", ParseSimTime, switches.watchdog.restoration);
  const WatchdogOptions& watchdog = switches.watchdog;
  const auto too_short = [&](SimTime time) {  // each poll is an event of every switch
    return time > 0 && static_cast<double>(time) * scenario_.time_scale < kMicrosecond;
  };
  if (too_short(watchdog.detection) ||
      (watchdog.detection > 0 && too_short(watchdog.restoration))) {
    errors_.Add(node, "the PFC watchdog's times multiplied by time_scale must be at least 1us");
  }
  if (const YamlNode* dcqcn = map.Find("dcqcn")) ReadDcqcn(*dcqcn);
}

void Loader::ReadDcqcn(const YamlNode& node) {
  const YamlMap map(
      node, "DCQCN",
      {"enabled", "g", "alpha_timer", "decrease_interval", "rate_timer", "byte_counter",
       "fast_recovery", "additive", "hyper", "minimum", "cnp_interval"},
      errors_);
  DcqcnOptions& dcqcn = scenario_.network.nics.dcqcn;
  Flag(map, "enabled", dcqcn.enabled);
  Ratio(map, "g", 1e-6, 1, dcqcn.g);
  Parsed(map, "alpha_timer", ParseSimTime, dcqcn.alpha_timer);
  Parsed(map, "decrease_interval", ParseSimTime, dcqcn.decrease_interval);
  Parsed(map, "rate_timer", ParseSimTime, dcqcn.rate_timer);
  Parsed(map, "byte_counter", ParseSize, dcqcn.byte_counter);
  Number(map, "fast_recovery", 0, 1000, dcqcn.fast_recovery);
  Parsed(map, "additive", topology::ParseSpeed, dcqcn.additive);
  Parsed(map, "hyper", topology::ParseSpeed, dcqcn.hyper);
  Parsed(map, "minimum", topology::ParseSpeed, dcqcn.minimum);
  Parsed(map, "cnp_interval", ParseSimTime, dcqcn.cnp_interval);
  if (dcqcn.alpha_timer <= 0 || dcqcn.decrease_interval <= 0 || dcqcn.rate_timer <= 0) {
    errors_.Add(node, "DCQCN timers must be above 0");
  }
}

std::string Loader::DidYouMeanNode(std::string_view name) const {
  std::vector<std::string_view> names;
  for (const topology::Node& node : scenario_.fabric->nodes()) names.push_back(node.name);
  return DidYouMean(name, names);
}

topology::NodeIndex Loader::Host(const YamlNode& node, std::string_view name) {
  const topology::NodeIndex host = scenario_.fabric->FindNode(name);
  if (host != topology::kNone && !scenario_.fabric->node(host).IsSwitch()) return host;
  errors_.Add(node, fmt::format("the fabric has no host \"{}\"{}", name, DidYouMeanNode(name)));
  return topology::kNone;
}

topology::NodeIndex Loader::SwitchAt(const YamlNode& node) {
  const std::string_view name = ReadText(node, errors_).value_or("");
  const topology::NodeIndex at = scenario_.fabric->FindNode(name);
  if (at == topology::kNone || !scenario_.fabric->node(at).IsSwitch()) {
    errors_.Add(node, fmt::format("the fabric has no switch \"{}\"{}", name, DidYouMeanNode(name)));
  }
  return at;
}

// Parses HOST:DEVICE, or HOST if it has a single NIC.
std::optional<topology::NicIndex> Loader::NicAt(const YamlNode& node, std::string_view text) {
  const size_t colon = text.find(':');
  const topology::NodeIndex host = Host(node, text.substr(0, colon));
  if (host == topology::kNone) return std::nullopt;
  const auto nics = scenario_.fabric->NicsOf(host);
  topology::NicIndex nic = topology::kNone;
  if (colon != std::string_view::npos) {
    nic = scenario_.fabric->FindNicByDevice(host, text.substr(colon + 1));
  } else if (nics.size() == 1) {
    nic = nics[0];
  }
  if (nic != topology::kNone) {
    if (IsPlugged(nic)) return nic;
    errors_.Add(node, fmt::format("\"{}\" has no link", text));
    return std::nullopt;
  }
  errors_.Add(node, fmt::format("\"{}\" is not a NIC: expected HOST:DEVICE, such as {}:{}", text,
                                text.substr(0, colon),
                                nics.empty() ? "mlx5_0" : scenario_.fabric->nic(nics[0]).device));
  return std::nullopt;
}

// Parses HOST:NUMBER.
std::optional<topology::GpuIndex> Loader::GpuAt(const YamlNode& node, std::string_view text) {
  const size_t colon = text.find(':');
  const topology::NodeIndex host = Host(node, text.substr(0, colon));
  if (host == topology::kNone) return std::nullopt;
  const auto number = colon == std::string_view::npos
                          ? std::nullopt
                          : topology::ParseWholeNumber(text.substr(colon + 1), 0, UINT32_MAX);
  for (const topology::GpuIndex gpu : scenario_.fabric->GpusOf(host)) {
    if (number && scenario_.fabric->gpu(gpu).number == *number) return gpu;
  }
  errors_.Add(node, fmt::format("\"{}\" is not a GPU: expected HOST:NUMBER, such as {}:0", text,
                                text.substr(0, colon)));
  return std::nullopt;
}

// Parses NODE:PORT.
std::optional<topology::PortIndex> Loader::PortAt(const YamlNode& node, std::string_view text) {
  const size_t colon = text.find(':');
  const std::string_view name = text.substr(0, colon);
  const topology::NodeIndex at = scenario_.fabric->FindNode(name);
  if (at == topology::kNone) {
    errors_.Add(node, fmt::format("the fabric has no \"{}\"{}", name, DidYouMeanNode(name)));
    return std::nullopt;
  }
  const topology::PortIndex port = colon == std::string_view::npos
                                       ? topology::kNone
                                       : scenario_.fabric->FindPort(at, text.substr(colon + 1));
  if (port != topology::kNone && scenario_.fabric->port(port).link != topology::kNone) return port;
  const auto ports = scenario_.fabric->PortsOf(at);
  errors_.Add(node, fmt::format("\"{}\" is not a port with a link: expected NODE:PORT, such as "
                                "{}:{}",
                                text, name, ports.empty() ? "Ethernet1" : ports[0].name));
  return std::nullopt;
}

std::vector<topology::NicIndex> Loader::NicsAt(const YamlNode& node) {
  const auto text = ReadText(node, errors_);
  if (!text) return {};
  const auto names = topology::ExpandNames(*text, kMostNames);
  if (!names) {
    errors_.Add(node, names.error().message);
    return {};
  }
  std::vector<topology::NicIndex> nics;
  for (const std::string& name : *names) {
    const auto nic = NicAt(node, name);
    if (!nic) break;
    nics.push_back(*nic);
  }
  return nics;
}

void Loader::ReadJob(const YamlNode& node) {
  const YamlMap map(
      node, "a job",
      {"name", "id", "hosts", "gpus", "start", "end", "iterations", "jitter", "queue_pairs",
       "split_data", "chunk", "phases", "interludes", "checkpoint", "restarts"},
      errors_);
  JobOptions job;
  job.id = scenario_.jobs.size() + 1;
  job.name = fmt::format("job{}", job.id);
  job.seed = HashCombine(scenario_.seed, job.id);
  Text(map, "name", job.name);
  Number(map, "id", 1, UINT32_MAX, job.id);
  Parsed(map, "start", ParseSimTime, job.start);
  Number(map, "iterations", 1, 1u << 20, job.iterations);
  Ratio(map, "jitter", 0, 0.5, job.jitter);
  Number(map, "queue_pairs", 1, 64, job.queue_pairs);
  Flag(map, "split_data", job.split_data);
  Parsed(map, "chunk", ParseSize, job.chunk);
  if (job.chunk == 0) errors_.Add(node, "a job's chunk must be above 0");
  uint32_t gpus_per_host = UINT32_MAX;
  Number(map, "gpus", 1, 64, gpus_per_host);
  std::vector<uint32_t> local;  // by rank: index of its GPU on its host
  if (const YamlNode* hosts = map.Require("hosts")) {
    const auto text = ReadText(*hosts, errors_);
    const auto names = topology::ExpandNames(text.value_or(""), kMostNames);
    std::set<topology::NodeIndex> seen;
    if (!names) errors_.Add(*hosts, names.error().message);
    for (const std::string& name : names.value_or(std::vector<std::string>())) {
      const topology::NodeIndex host = Host(*hosts, name);
      if (host == topology::kNone) break;
      if (!seen.insert(host).second) {
        errors_.Add(*hosts, fmt::format("the host {} is listed twice", name));
        break;
      }
      uint32_t number = 0;
      for (const topology::GpuIndex gpu : scenario_.fabric->GpusOf(host)) {
        if (number == gpus_per_host) break;
        const topology::NicIndex nic = scenario_.fabric->gpu(gpu).nic;
        if (nic != topology::kNone && !IsPlugged(nic)) {
          errors_.Add(*hosts, fmt::format("the NIC {} of {}'s GPU {} has no link",
                                          scenario_.fabric->nic(nic).device, name,
                                          scenario_.fabric->gpu(gpu).number));
        }
        job.gpus.push_back(gpu);
        local.push_back(number++);
      }
      if (const YamlNode* gpus = map.Find("gpus");
          gpus != nullptr && number < gpus_per_host && gpus_per_host != UINT32_MAX) {
        errors_.Add(*gpus, fmt::format("gpus must be at most {}, the number of GPUs of {}, found "
                                       "{}",
                                       number, name, gpus_per_host));
        break;
      }
    }
  }
  if (const YamlNode* phases = map.Require("phases")) {
    ReadPhases(*phases, "a job", local, job.phases);
  }
  ReadBreaks(map, local, job);
  if (std::ranges::find(scenario_.jobs, job.id, &JobOptions::id) != scenario_.jobs.end()) {
    errors_.Add(node, fmt::format("two jobs have the same id, {}", job.id));
  }
  CheckRunTimes(map, job);
  if (std::ranges::find(scenario_.jobs, job.name, &JobOptions::name) != scenario_.jobs.end()) {
    errors_.Add(node,
                fmt::format("two jobs have the same name, {}: use different names", job.name));
  }
  CheckGpus(node, job);
  CheckIterations(node, job);
  scenario_.jobs.push_back(std::move(job));
}

void Loader::ReadPhases(const YamlNode& node, std::string_view owner,
                        const std::vector<uint32_t>& local,
                        std::vector<JobOptions::Phase>& phases) {
  const auto list = ReadList(node, errors_);
  if (list.empty()) errors_.Add(node, fmt::format("{} needs at least one phase", owner));
  for (const YamlNode& phase : list) ReadPhase(phase, local, phases);
}

void Loader::ReadPhase(const YamlNode& node, const std::vector<uint32_t>& local,
                       std::vector<JobOptions::Phase>& phases) {
  const YamlMap map(node, "a phase",
                    {"name", "collective", "size", "compute", "groups", "chunks", "at_once",
                     "microbatches", "microbatch_compute"},
                    errors_);
  JobOptions::Phase phase;
  phase.name = fmt::format("phase{}", phases.size());
  Text(map, "name", phase.name);
  if (const YamlNode* kind = map.Require("collective")) {
    phase.has_collective = kind->text != "none";
    if (phase.has_collective) {
      if (const auto read = ReadParsed(*kind, ParseCollectiveKind, errors_)) {
        phase.collective.kind = *read;
      }
    }
  }
  if (!phase.has_collective) {
    for (const std::string_view key : {"size", "groups", "chunks", "at_once", "microbatches"}) {
      if (const YamlNode* unused = map.Find(key)) {
        errors_.Add(*unused, fmt::format("a phase without a collective has no {}", key));
      }
    }
    Parsed(map, "compute", ParseSimTime, phase.compute);
    if (phase.compute < kShortestPeriod) {
      errors_.Add(node, "a phase without a collective needs a compute time of at least 1us");
    }
    phases.push_back(std::move(phase));
    return;
  }
  if (const YamlNode* size = map.Require("size")) {
    Parsed(map, "size", ParseSize, phase.collective.bytes);
    if (phase.collective.bytes == 0 || phase.collective.bytes > kLargestSize) {
      errors_.Add(*size, "size must be from 1 byte to 1024G");
    }
  }
  Parsed(map, "compute", ParseSimTime, phase.compute);
  Number(map, "chunks", 1, 1024, phase.collective.chunks);
  Number(map, "at_once", 1, 1024, phase.collective.at_once);
  Number(map, "microbatches", 1, 1024, phase.collective.microbatches);
  Parsed(map, "microbatch_compute", ParseSimTime, phase.collective.compute);
  if (const YamlNode* groups = map.Find("groups")) ReadGroups(*groups, local, phase);
  CollectiveOptions tried = phase.collective;
  tried.bytes = 1;
  std::vector<std::vector<uint32_t>> groups = phase.groups;
  if (groups.empty()) groups.emplace_back(local.size());
  for (const std::vector<uint32_t>& group : groups) {
    tried.ranks = static_cast<uint32_t>(group.size());
    if (const auto plan = MakePlan(tried); !plan) {
      errors_.Add(node, plan.error().message);
      break;
    }
  }
  phases.push_back(std::move(phase));
}

void Loader::ReadGroups(const YamlNode& node, const std::vector<uint32_t>& local,
                        JobOptions::Phase& phase) {
  if (node.kind == YamlNode::Kind::kSequence) {
    std::set<uint64_t> seen;
    for (const YamlNode& group : node.items) {
      std::vector<uint32_t> ranks;
      for (const YamlNode& rank : ReadList(group, errors_)) {
        const uint64_t most = local.empty() ? 0 : local.size() - 1;
        const auto read = ReadNumber(rank, 0, most, errors_);
        if (!read) continue;
        if (!seen.insert(*read).second) {
          errors_.Add(rank, fmt::format("rank {} is already in one of these groups", *read));
        }
        ranks.push_back(static_cast<uint32_t>(*read));
      }
      phase.groups.push_back(std::move(ranks));
    }
  } else {
    constexpr std::array<std::string_view, 3> kGroupings = {"all", "rails", "hosts"};
    const size_t choice = ReadChoice(node, kGroupings, errors_).value_or(0);
    for (uint32_t rank = 0; rank < local.size() && choice > 0; ++rank) {
      // Ranks are in the order of their hosts.
      const size_t group =
          choice == 1 ? local[rank] : phase.groups.size() - (local[rank] == 0 ? 0 : 1);
      if (group >= phase.groups.size()) phase.groups.resize(group + 1);
      phase.groups[group].push_back(rank);
    }
  }
}

void Loader::ReadStream(const YamlNode& node) {
  const YamlMap map(node, "a stream", {"from", "to", "verb", "message", "load"}, errors_);
  Stream::Options stream;
  stream.seed = HashCombine(scenario_.seed, scenario_.streams.size());
  constexpr std::array<std::string_view, 3> kVerbs = {"write", "send", "read"};
  constexpr std::array<Verb, 3> kOfVerb = {Verb::kWrite, Verb::kSend, Verb::kRead};
  if (const YamlNode* verb = map.Find("verb")) {
    stream.verb = kOfVerb[ReadChoice(*verb, kVerbs, errors_).value_or(0)];
  }
  Message(map, stream.message);
  Ratio(map, "load", 1e-4, 1, stream.load);
  const auto end = [&](std::string_view key, topology::NicIndex& nic) {
    const YamlNode* at = map.Require(key);
    if (at == nullptr) return;
    if (const auto text = ReadText(*at, errors_)) nic = NicAt(*at, *text).value_or(nic);
  };
  end("from", stream.from);
  end("to", stream.to);
  if (stream.from == stream.to) errors_.Add(node, "a stream needs two different NICs");
  scenario_.streams.push_back(stream);
}

Status CheckRecordingSteps(Duration analysis_window, uint32_t steps) {
  if (steps == 0 || (analysis_window.count() % steps == 0 &&
                     analysis_window / steps >= std::chrono::microseconds(1))) {
    return {};
  }
  return MakeError(
      ErrorCode::kInvalidArgument,
      fmt::format("recording_steps: {} does not divide the analysis window of {} ns into steps of "
                  "whole nanoseconds and at least 1us",
                  steps, analysis_window.count()));
}

Result<Scenario> LoadScenario(std::string_view text, std::string_view file,
                              std::optional<uint64_t> seed, std::optional<Model> model) {
  if (!IsUtf8(text)) {
    return MakeError(ErrorCode::kInvalidArgument,
                     fmt::format("{}: the file is not valid UTF-8", file));
  }
  auto root = topology::ParseYaml(text, file);
  if (!root) return tl::unexpected(root.error());
  return Loader(file).Load(*root, seed, model);
}

}  // namespace rocescope::sim
