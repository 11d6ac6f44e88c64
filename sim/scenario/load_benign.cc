// SPDX-License-Identifier: BSD-3-Clause
// Reads benign events, and what happens to jobs in addition to their iterations.
#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "base/text/quantity.h"
#include "sim/scenario/loader.h"

namespace rocescope::sim {
namespace {

constexpr SimTime kShortestBurstPeriod = 100 * kMicrosecond;
// Bit error ratios after FEC, with which a frame of 4 kB is broken with a probability of 3 %, and
// before FEC, which RS(544,514) no longer corrects.
constexpr double kMostBitErrors = 1e-6;
constexpr double kMostBitErrorsOfFec = 1e-3;
constexpr uint32_t kMostFrameErrors = 10'000;  // for each port

// Two half-open intervals have a time in common.
bool Overlap(SimTime a, SimTime a_end, SimTime b, SimTime b_end) { return a < b_end && b < a_end; }

}  // namespace

void Loader::ReadBreaks(const YamlMap& map, const std::vector<uint32_t>& local, JobOptions& job) {
  if (const YamlNode* end = map.Find("end")) {
    Parsed(map, "end", ParseSimTime, job.end);
    if (job.end <= job.start) errors_.Add(*end, "a job's end must be after its start");
  }
  if (const YamlNode* interludes = map.Find("interludes")) {
    for (const YamlNode& one : ReadList(*interludes, errors_)) ReadInterlude(one, local, job);
  }
  if (const YamlNode* checkpoint = map.Find("checkpoint")) ReadCheckpoint(*checkpoint, job);
  if (const YamlNode* restarts = map.Find("restarts")) {
    for (const YamlNode& one : ReadList(*restarts, errors_)) ReadRestart(one, job);
  }
}

void Loader::ReadInterlude(const YamlNode& node, const std::vector<uint32_t>& local,
                           JobOptions& job) {
  const YamlMap map(node, "an interlude", {"name", "after", "every", "phases"}, errors_);
  constexpr uint32_t kMost = 1u << 20;
  JobOptions::Interlude interlude;
  interlude.name = fmt::format("interlude{}", job.interludes.size());
  Text(map, "name", interlude.name);
  Number(map, "after", 1, kMost, interlude.after);
  Number(map, "every", 1, kMost, interlude.every);
  if (interlude.after == 0 && interlude.every == 0) {
    errors_.Add(node, "an interlude needs a number of iterations: after, every, or both");
  }
  if (interlude.name == "checkpoint" ||
      std::ranges::find(job.interludes, interlude.name, &JobOptions::Interlude::name) !=
          job.interludes.end()) {
    errors_.Add(node, fmt::format("two interludes of the job have the name {}", interlude.name));
  }
  if (const YamlNode* phases = map.Require("phases")) {
    ReadPhases(*phases, "an interlude", local, interlude.phases);
  }
  job.interludes.push_back(std::move(interlude));
}

void Loader::ReadCheckpoint(const YamlNode& node, JobOptions& job) {
  const YamlMap map(node, "a checkpoint", {"every", "size", "to", "blocking"}, errors_);
  JobOptions::Checkpoint& checkpoint = job.checkpoint;
  if (map.Require("every") != nullptr) Number(map, "every", 1, 1u << 20, checkpoint.every);
  if (const YamlNode* size = map.Require("size")) {
    Parsed(map, "size", ParseSize, checkpoint.bytes);
    if (checkpoint.bytes == 0 || checkpoint.bytes > kLargestSize) {
      errors_.Add(*size, "size must be from 1 byte to 1024G");
    }
  }
  if (const YamlNode* to = map.Require("to")) checkpoint.to = NicsAt(*to);
  Flag(map, "blocking", checkpoint.blocking);
  for (const topology::GpuIndex gpu : job.gpus) {
    const topology::NicIndex own = scenario_.fabric->gpu(gpu).nic;
    if (std::ranges::find(checkpoint.to, own) != checkpoint.to.end()) {
      errors_.Add(node, "the storage of a checkpoint must not be on a NIC of the job");
      break;
    }
  }
}

void Loader::ReadRestart(const YamlNode& node, JobOptions& job) {
  const YamlMap map(node, "a restart", {"at", "downtime"}, errors_);
  JobOptions::Restart restart;
  if (map.Require("at") != nullptr) Parsed(map, "at", ParseSimTime, restart.at);
  if (map.Require("downtime") != nullptr) Parsed(map, "downtime", ParseSimTime, restart.downtime);
  const SimTime running =
      job.restarts.empty() ? job.start : job.restarts.back().at + job.restarts.back().downtime;
  if (restart.at <= running) {
    errors_.Add(node, "a restart must be after the job's start and after its previous restart");
  }
  if (restart.downtime < kShortestPeriod) {
    errors_.Add(node, "the downtime of a restart must be at least 1us");
  }
  if (job.end != kNever && restart.at + restart.downtime >= job.end) {
    errors_.Add(node, "a restart must be complete before the job's end");
  }
  job.restarts.push_back(restart);
}

RatioRange Loader::ReadRange(const YamlMap& map, std::string_view key, double limit) {
  RatioRange range;
  const YamlNode* node = map.Find(key);
  if (node == nullptr) return range;
  const auto ends = ReadList(*node, errors_);
  if (ends.size() != 2) {
    errors_.Add(*node, fmt::format("{} needs a range: [least, most]", key));
    return range;
  }
  const auto parse = [&](std::string_view text) { return ParseReal(text, 1e-20, limit); };
  range.least = ReadParsed(ends[0], parse, errors_).value_or(1e-20);
  range.most = ReadParsed(ends[1], parse, errors_).value_or(limit);
  if (range.least > range.most) {
    errors_.Add(*node, fmt::format("the first value of {} must not be above the second", key));
  }
  return range;
}

void Loader::ReadBenign(const YamlNode& node) {
  const YamlMap map(node, "benign events",
                    {"bit_error_ratio", "pre_fec_bit_error_ratio", "frame_errors", "microbursts",
                     "harmless_discards", "gpu_clock_spread"},
                    errors_);
  BenignOptions& benign = scenario_.benign;
  benign.bit_error_ratio = ReadRange(map, "bit_error_ratio", kMostBitErrors);
  benign.pre_fec_bit_error_ratio = ReadRange(map, "pre_fec_bit_error_ratio", kMostBitErrorsOfFec);
  if (const YamlNode* errors = map.Find("frame_errors")) {
    const YamlMap own(*errors, "frame errors", {"ports", "frames"}, errors_);
    own.Require("ports");
    Ratio(own, "ports", 0, 1, benign.frame_errors.ports);
    Number(own, "frames", 1, kMostFrameErrors, benign.frame_errors.frames);
  }
  CheckLinkErrors(map);
  if (const YamlNode* bursts = map.Find("microbursts")) {
    const YamlMap own(*bursts, "microbursts", {"period", "senders", "frames"}, errors_);
    own.Require("period");
    Parsed(own, "period", ParseSimTime, benign.microbursts.period);
    Number(own, "senders", 2, 4096, benign.microbursts.senders);
    Number(own, "frames", 1, 1024, benign.microbursts.frames);
    if (benign.microbursts.period < kShortestBurstPeriod) {
      errors_.Add(*bursts, "period must be at least 100us");
    } else {
      CheckMicrobursts(*bursts);
    }
  }
  if (const YamlNode* discards = map.Find("harmless_discards")) {
    const YamlMap own(*discards, "harmless discards", {"ports", "period"}, errors_);
    own.Require("ports");
    Ratio(own, "ports", 0, 1, benign.harmless_discards.ports);
    Parsed(own, "period", ParseSimTime, benign.harmless_discards.period);
    if (benign.harmless_discards.period < kShortestPeriod) {
      errors_.Add(*discards, "period must be at least 1us");
    }
  }
  Ratio(map, "gpu_clock_spread", 0, 0.5, benign.gpu_clock_spread);
}

void Loader::ReadMaintenance(const YamlNode& node) {
  const YamlMap map(node, "a maintenance task",
                    {"link", "switch", "host", "start", "drain", "duration"}, errors_);
  MaintenanceOptions work;
  const YamlNode* link = map.Find("link");
  const YamlNode* at = map.Find("switch");
  const YamlNode* host = map.Find("host");
  if ((link != nullptr) + (at != nullptr) + (host != nullptr) != 1) {
    errors_.Add(node, "a maintenance task needs one place: link, switch or host");
    return;
  }
  map.Require("duration");
  Parsed(map, "start", ParseSimTime, work.start);
  Parsed(map, "drain", ParseSimTime, work.drain);
  Parsed(map, "duration", ParseSimTime, work.duration);
  if (work.duration < kShortestPeriod) errors_.Add(node, "duration must be at least 1us");
  if (work.start >= scenario_.duration) {
    errors_.Add(node, "the maintenance starts after the run");
  }
  if (link != nullptr) {
    const auto port = PortAt(*link, ReadText(*link, errors_).value_or(""));
    if (port) work.link = scenario_.fabric->port(*port).link;
  } else if (at != nullptr) {
    work.kind = MaintenanceKind::kSwitchUpgrade;
    work.node = SwitchAt(*at);
  } else {
    work.kind = MaintenanceKind::kHostReboot;
    work.node = Host(*host, ReadText(*host, errors_).value_or(""));
    const SimTime end = work.start + work.drain + work.duration;
    for (const JobOptions& job : scenario_.jobs) {
      const bool uses = std::ranges::any_of(job.gpus, [&](topology::GpuIndex gpu) {
        return scenario_.fabric->gpu(gpu).host == work.node;
      });
      if (uses && Overlap(work.start, end, job.start, job.end)) {
        errors_.Add(*host, fmt::format("the job {} uses the host while it reboots", job.name));
      }
    }
  }
  CheckOverlap(node, work);
  scenario_.maintenance.push_back(work);
}

void Loader::ReadForeign(const YamlNode& node) {
  const YamlMap map(node, "foreign traffic",
                    {"from", "to", "load", "message", "priority", "start", "end"}, errors_);
  TcpFlow::Options flow;
  flow.seed = HashCombine(HashCombine(scenario_.seed, 0x7c9), scenario_.foreign.size());
  const auto end = [&](std::string_view key, topology::NicIndex& nic) {
    const YamlNode* at = map.Require(key);
    if (at == nullptr) return;
    if (const auto text = ReadText(*at, errors_)) nic = NicAt(*at, *text).value_or(nic);
  };
  end("from", flow.from);
  end("to", flow.to);
  if (flow.from == flow.to) errors_.Add(node, "foreign traffic needs two different NICs");
  Ratio(map, "load", 1e-6, 0.5, flow.load);
  Message(map, flow.message);
  if (const YamlNode* priority = map.Find("priority")) {
    Number(map, "priority", 0, kPriorities - 1, flow.priority);
    if ((scenario_.network.switches.buffer.lossless >> flow.priority & 1) != 0 ||
        flow.priority == scenario_.network.nics.cnp_priority) {
      errors_.Add(*priority, "foreign traffic needs a priority without PFC and without CNPs");
    }
  }
  Parsed(map, "start", ParseSimTime, flow.start);
  Parsed(map, "end", ParseSimTime, flow.end);
  if (flow.start >= scenario_.duration) {
    errors_.Add(node,
                "foreign traffic starts after the run: start must be before the scenario's "
                "duration");
  }
  if (flow.end <= flow.start) errors_.Add(node, "end must be after start");
  scenario_.foreign.push_back(flow);
}

}  // namespace rocescope::sim
