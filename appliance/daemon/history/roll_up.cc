// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/daemon/history/roll_up.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "analytics/service_level/service_level.h"
#include "appliance/api/message_value.h"
#include "rocescope/v1/report.pb.h"
#include "rocescope/v1/service.pb.h"
#include "topology/fabric.h"

namespace rocescope {
namespace {

uint32_t ServiceOf(const std::string& name) {
  const auto at = std::ranges::find(kServiceStateNames, name);
  return at == kServiceStateNames.end() ? 0
                                        : static_cast<uint32_t>(at - kServiceStateNames.begin());
}

}  // namespace

LinkRollUp::LinkRollUp(std::shared_ptr<const topology::Fabric> fabric)
    : fabric_(std::move(fabric)) {}

void LinkRollUp::Add(const LinkLoads& loads) {
  if (!loads.from || !fabric_) return;
  const int64_t minute = IntervalIndex(*loads.from, kMinute);
  if (minute < minute_) {
    ++late_;
    return;
  }
  if (minute > minute_) {
    EndMinute();
    minute_ = minute;
  }
  if (!windows_.insert(*loads.from).second) return;
  for (const LinkLoad& load : loads.loads) AddLoad(load, loads.window);
}

void LinkRollUp::AddLoad(const LinkLoad& load, Duration window) {
  LinkMinute& to = ports_[load.port];
  ++to.windows;
  if (const auto use = UtilizationOf(*fabric_, load, window)) {
    ++to.use_windows;
    to.use_sum += *use;
    to.use_most = std::max(to.use_most, *use);
  }
  to.bytes += load.bytes;
  to.marked += load.marked;
  to.dropped += load.dropped;
  to.paused_ns += static_cast<uint64_t>(std::max<int64_t>(0, load.paused.count()));
  to.peak_bytes = std::max(to.peak_bytes, load.peak_bytes);
  to.errors += load.errors;
}

void LinkRollUp::EndMinute() {
  for (auto& [port, minute] : ports_) {
    minute.minute = minute_;
    minute.port = fabric_->NameOf(port);
    over_.emplace_back(std::move(minute));
  }
  ports_.clear();
  windows_.clear();
}

std::vector<HistoryRow> LinkRollUp::Take(bool unfinished) {
  if (unfinished) EndMinute();
  return std::exchange(over_, {});
}

void LinkRollUp::Restart() {
  EndMinute();
  minute_ = INT64_MIN;
}

void JobRollUp::Add(Timestamp reached, std::span<const v1::JobSummary> jobs) {
  if (has_answer_ && reached <= reached_) {
    ++late_;
    return;
  }
  if (has_answer_ && IntervalIndex(reached, kMinute) != IntervalIndex(reached_, kMinute)) {
    EndMinute();
  }
  const Duration since = has_answer_ ? reached - reached_ : Duration{};
  has_answer_ = true;
  reached_ = reached;
  const std::map<std::string, uint64_t> before = std::exchange(bytes_, {});
  for (const v1::JobSummary& job : jobs) {
    const auto known = before.find(job.job_id());
    AddJob(job, since, known == before.end() ? 0 : known->second);
    bytes_[job.job_id()] = job.bytes();
  }
}

void JobRollUp::AddJob(const v1::JobSummary& job, Duration since, uint64_t bytes_before) {
  JobMinute& to = jobs_[job.job_id()];
  to.name = job.allocation().name();
  to.allocation = job.allocation().scheduler_job_id();
  ++to.looks;
  // A decrease means that connections were attributed differently.
  const uint64_t bytes = job.bytes() > bytes_before ? job.bytes() - bytes_before : 0;
  to.bytes += bytes;
  if (Nanoseconds(job.iteration_period()) > 0) {
    ++to.period_looks;
    to.period_sum_ns += static_cast<uint64_t>(Nanoseconds(job.iteration_period()));
    if (bytes > 0) {
      to.iterations += static_cast<double>(since.count()) /
                       static_cast<double>(Nanoseconds(job.iteration_period()));
    }
  }
  to.findings = std::max(to.findings, static_cast<uint32_t>(job.finding_sentences_size()));
  to.service = std::max(to.service, ServiceOf(WordOf(job.service_level_state())));
}

void JobRollUp::EndMinute() {
  for (auto& [id, minute] : jobs_) {
    minute.minute = IntervalIndex(reached_, kMinute);
    minute.job = id;
    over_.emplace_back(std::move(minute));
  }
  jobs_.clear();
}

void JobRollUp::Restart() {
  EndMinute();
  bytes_.clear();
  has_answer_ = false;
}

std::vector<HistoryRow> JobRollUp::Take(bool unfinished) {
  if (unfinished) EndMinute();
  return std::exchange(over_, {});
}

}  // namespace rocescope
