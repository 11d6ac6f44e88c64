// SPDX-License-Identifier: BSD-3-Clause
// Reads jobs in the format of sim/scenario.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>

#include "base/nearest.h"
#include "base/text/name_range.h"
#include "testbeds/ovs_lab/endpoint/plan_reader.h"

namespace rocescope::endpoint {
namespace {

using topology::YamlErrors;
using topology::YamlNode;

constexpr size_t kMostHosts = 1024;
constexpr uint64_t kLargestSize = uint64_t{1} << 40;   // bytes
constexpr uint64_t kLargestChunk = uint64_t{1} << 30;  // a message's length has 32 bits
constexpr uint32_t kMostTransfers = 1u << 20;          // of a collective

class JobReader {
 public:
  JobReader(const topology::Fabric& fabric, YamlErrors& errors)
      : fabric_(fabric), errors_(errors) {}

  JobOptions Read(const YamlNode& node, uint64_t number) {
    const PlanMap map(node, "a job",
                      {"name", "id", "hosts", "gpus", "start", "iterations", "jitter",
                       "queue_pairs", "split_data", "chunk", "phases"},
                      {"end", "interludes", "checkpoint", "restarts"}, errors_);
    JobOptions job{.name = fmt::format("job{}", number), .id = number};
    map.Text("name", job.name);
    map.Number("id", 1, UINT32_MAX, job.id);
    map.Time("start", Duration(0), job.start);
    map.Number("iterations", 1, 1u << 30, job.iterations);
    map.Real("jitter", 0, 0.5, job.jitter);
    map.Number("queue_pairs", 1, 64, job.queue_pairs);
    map.Flag("split_data", job.split_data);
    map.Size("chunk", kLargestChunk, job.chunk);
    ReadHosts(map, job);
    if (const YamlNode* phases = map.Require("phases")) {
      const auto list = topology::ReadList(*phases, errors_);
      if (list.empty()) errors_.Add(*phases, "a job needs at least one phase");
      for (const YamlNode& phase : list) ReadPhase(phase, job);
    }
    return job;
  }

 private:
  void ReadHosts(const PlanMap& map, JobOptions& job) {
    uint32_t gpus_per_host = UINT32_MAX;
    map.Number("gpus", 1, 64, gpus_per_host);
    const YamlNode* hosts = map.Require("hosts");
    if (hosts == nullptr) return;
    const auto text = topology::ReadText(*hosts, errors_);
    const auto names = topology::ExpandNames(text.value_or(""), kMostHosts);
    if (!names) errors_.Add(*hosts, names.error().message);
    std::set<std::string> seen;
    for (const std::string& name : names.value_or(std::vector<std::string>())) {
      const topology::NodeIndex host = fabric_.FindNode(name);
      if (host == topology::kNone || fabric_.node(host).IsSwitch()) {
        std::vector<std::string_view> known;
        for (const topology::Node& node : fabric_.nodes()) known.push_back(node.name);
        errors_.Add(*hosts, fmt::format("the topology has no host \"{}\"{}", name,
                                        DidYouMean(name, known)));
        return;
      }
      if (!seen.insert(name).second) {
        errors_.Add(*hosts, fmt::format("the host {} is listed twice", name));
        return;
      }
      const auto gpus = fabric_.GpusOf(host);
      const auto used = std::min<size_t>(gpus.size(), gpus_per_host);
      if (used == 0 || (gpus_per_host != UINT32_MAX && used < gpus_per_host)) {
        errors_.Add(*hosts, fmt::format("{} has {} GPUs, fewer than the job needs on each host",
                                        name, gpus.size()));
        return;
      }
      for (uint32_t i = 0; i < used; ++i) {
        job.gpus.push_back(gpus[i]);
        local_.push_back(i);
      }
    }
  }

  void ReadPhase(const YamlNode& node, JobOptions& job) {
    const PlanMap map(node, "a phase",
                      {"name", "collective", "size", "compute", "groups", "chunks", "at_once",
                       "microbatches", "microbatch_compute"},
                      {}, errors_);
    Phase phase{.name = fmt::format("phase{}", job.phases.size())};
    map.Text("name", phase.name);
    map.Time("compute", Duration(0), phase.compute);
    if (const YamlNode* kind = map.Require("collective")) {
      phase.has_collective = kind->text != "none";
      if (phase.has_collective) {
        phase.collective.kind = topology::ReadParsed(*kind, sim::ParseCollectiveKind, errors_)
                                    .value_or(sim::CollectiveKind::kRing);
      }
    }
    if (phase.has_collective) {
      ReadCollective(node, map, phase);
    } else {
      for (const std::string_view key : {"size", "groups", "chunks", "at_once", "microbatches"}) {
        if (const YamlNode* unused = map.Find(key)) {
          errors_.Add(*unused, fmt::format("a phase without a collective has no {}", key));
        }
      }
      if (phase.compute == Duration(0)) {
        errors_.Add(node, "a phase without a collective needs a compute time");
      }
    }
    job.phases.push_back(std::move(phase));
  }

  void ReadCollective(const YamlNode& node, const PlanMap& map, Phase& phase) {
    map.Require("size");
    map.Size("size", kLargestSize, phase.collective.bytes);
    map.Number("chunks", 1, 1024, phase.collective.chunks);
    map.Number("at_once", 1, 1024, phase.collective.at_once);
    map.Number("microbatches", 1, 1024, phase.collective.microbatches);
    Duration compute{};
    map.Time("microbatch_compute", Duration(0), compute);
    phase.collective.compute = compute.count() * sim::kNanosecond;
    if (const YamlNode* groups = map.Find("groups")) ReadGroups(*groups, phase);
    // Twice the number of ranks for each, in a ring or an all-to-all; by chunks in a tree.
    const uint64_t ranks = local_.size();
    const uint64_t transfers = ranks * (2 * ranks + 4 * phase.collective.chunks);
    if (transfers > kMostTransfers) {
      errors_.Add(node, fmt::format("a collective of {} ranks is too large for the lab", ranks));
    }
  }

  void ReadGroups(const YamlNode& node, Phase& phase) {
    if (node.kind == YamlNode::Kind::kSequence) {
      for (const YamlNode& group : node.items) {
        std::vector<uint32_t> ranks;
        const uint64_t most = local_.empty() ? 0 : local_.size() - 1;
        for (const YamlNode& rank : topology::ReadList(group, errors_)) {
          if (const auto read = topology::ReadNumber(rank, 0, most, errors_)) {
            ranks.push_back(static_cast<uint32_t>(*read));
          }
        }
        phase.groups.push_back(std::move(ranks));
      }
      return;
    }
    constexpr std::array<std::string_view, 3> kGroupings = {"all", "rails", "hosts"};
    const size_t choice = topology::ReadChoice(node, kGroupings, errors_).value_or(0);
    for (uint32_t rank = 0; rank < local_.size() && choice > 0; ++rank) {
      // Ranks are in the order of their hosts.
      const size_t group =
          choice == 1 ? local_[rank] : phase.groups.size() - (local_[rank] == 0 ? 0 : 1);
      if (group >= phase.groups.size()) phase.groups.resize(group + 1);
      phase.groups[group].push_back(rank);
    }
  }

  const topology::Fabric& fabric_;
  YamlErrors& errors_;
  std::vector<uint32_t> local_;  // by rank: index of its GPU on its host
};

}  // namespace

JobOptions ReadJob(const YamlNode& node, const topology::Fabric& fabric, uint64_t number,
                   YamlErrors& errors) {
  return JobReader(fabric, errors).Read(node, number);
}

}  // namespace rocescope::endpoint
