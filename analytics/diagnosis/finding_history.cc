// SPDX-License-Identifier: BSD-3-Clause
#include "analytics/diagnosis/finding_history.h"

#include <algorithm>
#include <set>
#include <tuple>
#include <utility>

#include "analytics/diagnosis/detectors.h"
#include "analytics/diagnosis/recurrence.h"

namespace rocescope {
namespace {

// The diagnosis may miss or misjudge the start of a fault in this many of the first stored windows,
// because it needs windows before it for comparison.
constexpr size_t kMargin = 64;

// A place whose counters were not read in this many windows is not observed.
constexpr int64_t kUnobservedWindows = 16;

bool IsSame(const Finding& a, const Finding& b) { return a.kind == b.kind && a.place == b.place; }

// The end of the windows in which the start of a fault is uncertain; the earliest possible time if
// all windows are stored.
Timestamp CertainFrom(const DiagnosisInput& input) {
  const auto read = input.parts().metrics.WindowsRead();
  if (!read || input.windows() <= kMargin) return Timestamp::min();
  const bool stores_all = read->second - read->first <= static_cast<int64_t>(input.windows());
  return stores_all ? Timestamp::min() : input.BeginOf(kMargin);
}

// Whether the detector that reported the finding has this property.
bool Has(const Finding& finding, bool Detector::* property) {
  const Detector* const detector = FindDetector(finding.detector);
  return detector != nullptr && detector->*property;
}

bool IsRead(const DiagnosisInput& input, const Entity& entity, Timestamp since, bool& exists) {
  const auto& entities = input.parts().metrics.entities();
  const auto at = entities.find(entity);
  if (at == entities.end()) return false;
  exists = true;
  return std::ranges::any_of(at->second.series,
                             [&](const auto& of) { return of.second.last_reading() >= since; });
}

// Whether counters of the place were read recently, or there are none.
bool IsObserved(const DiagnosisInput& input, const Place& place) {
  if (input.windows() == 0) return true;
  const Duration timeout = std::max<Duration>(kUnobservedWindows * input.parts().metrics.window(),
                                              4 * input.reading_period());
  const Timestamp since = input.EndOf(input.windows() - 1) - timeout;
  const topology::Fabric& fabric = input.fabric();
  std::vector<Entity> entities;
  switch (place.kind) {
    case PlaceKind::kLink:
      for (const topology::PortIndex port : fabric.link(place.index).ends) {
        entities.push_back(input.EntityOf(port));
      }
      break;
    case PlaceKind::kSwitch:
      for (uint32_t i = 0; i < fabric.node(place.index).port_count; ++i) {
        entities.push_back(input.EntityOf(fabric.node(place.index).first_port + i));
      }
      break;
    case PlaceKind::kNic:
      entities.push_back({.kind = EntityKind::kNic, .index = place.index});
      if (const auto port = fabric.Peer(fabric.nic(place.index).port); port != topology::kNone) {
        entities.push_back(input.EntityOf(port));
      }
      break;
    case PlaceKind::kGpu:
      entities.push_back({.kind = EntityKind::kGpu, .index = place.index});
      break;
  }
  bool exists = false;
  for (const Entity& entity : entities) {
    if (IsRead(input, entity, since, exists)) return true;
  }
  return !exists;
}

bool IsSymptomIn(const Findings& found, const Finding& finding) {
  return std::ranges::any_of(found, [&](const Finding& root) {
    return std::ranges::any_of(root.symptoms, [&](const Suspect& symptom) {
      return symptom.kind == finding.kind && symptom.place == finding.place;
    });
  });
}

std::vector<std::string> IdsOf(const Attribution& attribution,
                               const std::vector<uint32_t>& indices) {
  std::vector<std::string> ids;
  for (const uint32_t job : indices) ids.push_back(attribution.jobs[job].job.id);
  return ids;
}

std::vector<uint32_t> IndicesOf(const Attribution& attribution,
                                const std::vector<std::string>& ids) {
  std::vector<uint32_t> indices;
  for (size_t i = 0; i < attribution.jobs.size(); ++i) {
    if (std::ranges::find(ids, attribution.jobs[i].job.id) != ids.end()) {
      indices.push_back(static_cast<uint32_t>(i));
    }
  }
  return indices;
}

void MakeUnique(std::vector<std::string>& ids) {
  std::ranges::sort(ids);
  ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
}

// The time from one sign of a fault to the next, up to which both are signs of one fault.
Duration QuietTime(const DiagnosisInput& input) {
  return input.thresholds().quiet_windows * input.parts().metrics.window();
}

}  // namespace

Findings FindingHistory::Lasting(const DiagnosisInput& input) const {
  const Timestamp certain_from = CertainFrom(input);
  Findings lasting;
  for (const Known& known : known_) {
    if (known.finding.until || known.finding.from >= certain_from) continue;
    const Finding& finding = known.finding;
    if (Has(finding, &Detector::whole_time)) continue;
    if (!Has(finding, &Detector::compares_with_itself) && IsObserved(input, finding.place)) {
      continue;
    }
    lasting.push_back(finding);
    lasting.back().affected_jobs = IndicesOf(input.parts().attribution, known.jobs);
    lasting.back().exposed_jobs = IndicesOf(input.parts().attribution, known.exposed_jobs);
  }
  return lasting;
}

Findings FindingHistory::Update(Findings found, const DiagnosisInput& input) {
  const Attribution& attribution = input.parts().attribution;
  const Timestamp certain_from = CertainFrom(input);
  const Timestamp reached =
      input.windows() > 0 ? input.EndOf(input.windows() - 1) : Timestamp::min();
  std::vector<Known> all;
  std::set<size_t> merged;  // indices into known_
  for (Finding& finding : found) {
    Known now{.active_at = reached,
              .jobs = IdsOf(attribution, finding.affected_jobs),
              .exposed_jobs = IdsOf(attribution, finding.exposed_jobs)};
    bool is_known = false;
    for (size_t i = 0; i < known_.size(); ++i) {
      const Known& before = known_[i];
      const Finding& older = before.finding;
      if (!IsSame(older, finding)) continue;
      is_known = true;
      if (older.from >= certain_from) continue;  // the new one is more precise
      // One of them ended long before the other one began: they are different faults.
      if (older.until && finding.from > *older.until + QuietTime(input)) continue;
      if (finding.until && older.from > *finding.until + QuietTime(input)) continue;
      merged.insert(i);
      finding.from = std::min(finding.from, older.from);
      finding.detected_at = std::min(finding.detected_at, older.detected_at);
      // The stored windows no longer contain the start, which is often the best evidence.
      if (older.confidence > finding.confidence && !finding.is_contradicted) {
        finding.confidence = older.confidence;
        finding.uncalibrated = older.uncalibrated;
        finding.detector = older.detector;
        finding.evidence = older.evidence;
        finding.alternatives = older.alternatives;
        finding.further = older.further;
      }
      now.jobs.insert(now.jobs.end(), before.jobs.begin(), before.jobs.end());
      now.exposed_jobs.insert(now.exposed_jobs.end(), before.exposed_jobs.begin(),
                              before.exposed_jobs.end());
    }
    // Earlier diagnoses had the same evidence and the time before it, and did not find this fault.
    if (!is_known && finding.detected_at < certain_from && !Has(finding, &Detector::whole_time)) {
      continue;
    }
    MakeUnique(now.jobs);
    MakeUnique(now.exposed_jobs);
    std::erase_if(now.exposed_jobs,
                  [&](const std::string& id) { return std::ranges::binary_search(now.jobs, id); });
    now.finding = finding;
    all.push_back(std::move(now));
  }
  for (size_t i = 0; i < known_.size(); ++i) {
    Known& before = known_[i];
    const Finding& finding = before.finding;
    // If all evidence of a finding is still available, the new diagnosis replaces it.
    if (merged.contains(i) || finding.from >= certain_from || Has(finding, &Detector::whole_time) ||
        IsSymptomIn(found, finding)) {
      continue;
    }
    if (!finding.until) before.finding.until = before.active_at;
    all.push_back(std::move(before));
  }
  std::ranges::stable_sort(all, {}, [](const Known& known) {
    return std::tuple(known.finding.from, known.finding.kind, known.finding.place);
  });
  const auto is_old = [&](const Known& known) {
    return known.finding.until && *known.finding.until < certain_from;
  };
  auto too_many = static_cast<size_t>(std::ranges::count_if(all, is_old));
  too_many -= std::min(too_many, kMostResolved);
  std::erase_if(all, [&](const Known& known) {
    if (too_many == 0 || !is_old(known)) return false;
    --too_many;
    return true;
  });
  known_ = std::move(all);
  Findings findings;
  for (Known& known : known_) {
    known.finding.affected_jobs = IndicesOf(attribution, known.jobs);
    known.finding.exposed_jobs = IndicesOf(attribution, known.exposed_jobs);
    findings.push_back(known.finding);
  }
  return JoinRecurring(std::move(findings));
}

}  // namespace rocescope
