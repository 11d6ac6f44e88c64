// SPDX-License-Identifier: BSD-3-Clause
// What a client with the role tenant may read: its own jobs, and of other messages the parts that
// say nothing about other jobs and their hosts. Findings, hotspots and the coverage are copied
// field by field, so that their new fields stay hidden until they are added here. From jobs, paths
// and the health, single fields are removed: own_jobs_test.cc fails until somebody has reviewed a
// new field of them.
#pragma once

#include <google/protobuf/repeated_field.h>

#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "analytics/engine/snapshot.h"
#include "appliance/common/access/caller.h"
#include "base/time.h"
#include "topology/fabric.h"

namespace rocescope {

class NodeNames;
namespace v1 {
class Allocation;
class DiagnosisCoverage;
class Event;
class Finding;
class FlowPath;
class Health;
class Hotspot;
class Job;
class JobSummary;
class ReplayReport;
}  // namespace v1

// For a client that may read everything, all jobs are its own, and nothing is removed.
class OwnJobs {
 public:
  // `fabric` may be null; it and `names` must outlive the object.
  OwnJobs(const Caller& caller, const topology::Fabric* fabric, const NodeNames& names);
  OwnJobs(OwnJobs&&) noexcept;
  ~OwnJobs();

  bool AreAll() const { return caller_.MayReadAll(); }
  // Whether jobs of this user are the client's own.
  bool IsUser(std::string_view user) const { return AreAll() || caller_.IsUser(user); }

  // Adds the job if it is the client's own, and says whether it is. `index`: in
  // Attribution::jobs; nullopt for jobs of past answers.
  bool Add(const std::string& id, const v1::Allocation* allocation,
           std::optional<size_t> index = std::nullopt);
  // Sets the start of an own job. Findings and events before it concern an earlier job with the
  // same id.
  void SetStart(const std::string& id, Timestamp start) { starts_[id] = start; }
  // Returns nullopt if the start is unknown.
  std::optional<Timestamp> StartOf(std::string_view id) const;
  // Adds a host of an own job that has not ended, as a log, the scheduler or the topology spells
  // it.
  void AddHost(const std::string& host);

  // Whether a job of the client that has not ended uses the host.
  bool HasHost(topology::NodeIndex host) const { return AreAll() || hosts_.contains(host); }

  // The job is one of the snapshot.
  bool Has(size_t index) const { return AreAll() || indexes_.contains(index); }
  bool HasId(std::string_view job_id) const { return AreAll() || ids_.contains(job_id); }
  const std::set<std::string, std::less<>>& ids() const { return ids_; }
  // Whether the finding affects an own job.
  bool IsAffectedBy(const v1::Finding& finding) const;
  // Whether both ends are at hosts of own jobs that have not ended, or unknown.
  bool HasPath(const FlowPath& path) const;
  // Whether the client may know a place or a port: it is in the fabric, or at a host of an own job.
  bool MayName(std::string_view place) const;

  // Each removes what the client may not read. A finding or a hotspot that affects no own job must
  // not be returned at all.
  void Restrict(v1::Finding& finding) const;
  void Restrict(v1::Hotspot& hotspot) const;
  void Restrict(v1::FlowPath& path) const;
  void Restrict(v1::DiagnosisCoverage& coverage) const;
  void Restrict(v1::Health& health) const;
  void Restrict(v1::Job& job) const;
  // `findings`: those of the same time. Removes all sentences about findings if the job is not the
  // client's own.
  void Restrict(const google::protobuf::RepeatedPtrField<v1::Finding>& findings,
                v1::JobSummary& job) const;
  // Returns false if the client may not get the event.
  bool Restrict(v1::Event& event) const;

 private:
  bool IsNodeNamed(std::string_view node) const;
  // Whether this was the id of an own job at the time `last`.
  bool HadId(std::string_view job_id, Timestamp last) const;
  // `last`: latest time that the finding is about.
  bool IsAffectedBy(const v1::Finding& finding, Timestamp last) const;
  void Restrict(v1::Finding& finding, Timestamp last) const;
  // `reported`: time at which the finding had these affected jobs.
  bool RestrictFault(Timestamp reported, v1::Event& event) const;

  Caller caller_;
  const topology::Fabric* fabric_;
  const NodeNames& node_names_;
  std::set<std::string, std::less<>> ids_;
  std::map<std::string, Timestamp, std::less<>> starts_;
  std::set<size_t> indexes_;
  std::set<topology::NodeIndex> hosts_;
  std::unique_ptr<v1::ReplayReport> names_;  // how sentences name the own jobs
};

}  // namespace rocescope
