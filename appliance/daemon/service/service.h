// SPDX-License-Identifier: BSD-3-Clause
// The calls of service.proto, independent of the transport: gRPC and HTTP pass the same requests
// and return the same responses and errors. Thread-safe. No call waits for the engine or for
// sources.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "appliance/common/access/caller.h"
#include "appliance/common/process/notice.h"
#include "appliance/daemon/core/daemon.h"
#include "appliance/daemon/service/answer_view.h"
#include "appliance/daemon/service/certificate_state.h"
#include "appliance/daemon/service/event_log.h"
#include "appliance/daemon/service/finding_reviews.h"
#include "appliance/daemon/service/job_registry.h"
#include "appliance/daemon/service/own_jobs.h"
#include "appliance/daemon/service/page.h"
#include "appliance/daemon/service/service_error.h"
#include "appliance/daemon/service/traffic_counters.h"

namespace rocescope {

namespace v1 {
#define ROCESCOPE_CALL(service, name, request, response, path, access) \
  class request;                                                       \
  class response;
#include "rocescope/v1/service_calls.inc"
}  // namespace v1

class HistoryStore;
class JobFile;
struct SeriesQuery;

class Service {
 public:
  // `daemon` and the files must outlive the service. `history` may be null (no history), and so may
  // `jobs` (registered jobs are not saved) and `findings` (acknowledgements and mutes are not
  // saved). `version` is the version of rocescope. `notify` receives warnings about registered
  // jobs, `notify_findings` each acknowledgement and mute.
  Service(
      Daemon& daemon, std::string version, HistoryStore* history = nullptr, JobFile* jobs = nullptr,
      Notify notify = [](Severity, const std::string&) {}, FindingFile* findings = nullptr,
      Notify notify_findings = [](Severity, const std::string&) {});

  // Declares one function for each call without a stream:
  //   ServiceStatus ListJobs(const Caller& caller, const v1::ListJobsRequest& request,
  //                          v1::ListJobsResponse& out);
  // The transport has checked that a role of the caller permits the call (role.h).
#define ROCESCOPE_CALL(service, name, request, response, path, access) \
  ServiceStatus name(const Caller& caller, const v1::request& in, v1::response& out);
#include "rocescope/v1/service_calls.inc"

  // Sets the problem of the last reload of configuration and host files, which GetHealth reports;
  // empty: the reload succeeded.
  void SetReloadProblem(std::string problem);

  // Sets the restrictions of the process that the kernel does not support, one sentence each, which
  // GetHealth reports. Call it before the first request.
  void SetMissingRestrictions(std::vector<std::string> sentences) {
    missing_restrictions_ = std::move(sentences);
  }

  // Sets the state of the servers' certificates, which GetHealth and metrics report.
  void SetCertificates(std::vector<CertificateState> certificates);
  std::vector<CertificateState> certificates() const;

  // Returns the jobs of the snapshot that the client may read.
  OwnJobs OwnJobsOf(const Caller& caller, const AnswerView& answer) const;

  // For WatchEvents, which each transport implements, and for the producers of events.
  EventLog& events() { return events_; }
  AnswerViews& views() { return views_; }
  // Requests and event streams refused because a limit of clients, connections or streams was
  // reached; counted by the servers, for metrics.
  struct Refusals {
    std::atomic<uint64_t> http = 0;
    std::atomic<uint64_t> grpc = 0;
  };
  Refusals& refusals() { return refusals_; }
  FindingReviews& reviews() { return reviews_; }
  // For metrics.
  TrafficCounters& traffic() { return traffic_; }
  // Receives the messages of agents.
  AgentIntake& agents() { return daemon_.agents(); }
  const Daemon& daemon() const { return daemon_; }
  const std::string& version() const { return version_; }
  const HistoryStore* history() const { return history_; }

 private:
  // A list request, and the snapshot of its page token or the newest snapshot.
  struct Paged {
    ListRequest list;
    std::shared_ptr<const AnswerView> answer;
  };
  ServiceResult<std::shared_ptr<const AnswerView>> Answered();
  // Takes the result of ReadListRequest and passes on its error.
  ServiceResult<Paged> Page(ServiceResult<ListRequest> list);
  // Version of the snapshot in page tokens. Unlike Answer::version it is unique across restarts.
  uint64_t PageVersion(const AnswerView& answer) const { return began_ + answer.answer().version; }
  ServiceResult<std::shared_ptr<const AnswerView>> AnsweredWithTopology();
  ServiceStatus NeedTopology() const;
  ServiceStatus NeedHistory() const;

  // The same calls with at_time: past answers from the history.
  ServiceStatus PastJobs(const Caller& caller, const v1::ListJobsRequest& in,
                         v1::ListJobsResponse& out);
  ServiceStatus PastJob(const Caller& caller, const v1::GetJobRequest& in, v1::GetJobResponse& out);
  ServiceStatus PastLinkLoads(const v1::ListLinkLoadsRequest& in, v1::ListLinkLoadsResponse& out);
  ServiceStatus PastHotspots(const Caller& caller, const v1::ListHotspotsRequest& in,
                             v1::ListHotspotsResponse& out);
  ServiceStatus PastFindings(const Caller& caller, const v1::ListFindingsRequest& in,
                             v1::ListFindingsResponse& out);
  ServiceStatus PastAnomalies(const v1::ListAnomaliesRequest& in, v1::ListAnomaliesResponse& out);
  ServiceStatus PastServiceLevels(const Caller& caller, const v1::ListServiceLevelsRequest& in,
                                  v1::ListServiceLevelsResponse& out);

  // Returns the time of the past answers that the client may request with this `at_time`: for a
  // tenant, the data time of the list of jobs, which says which jobs were its own then. Requires a
  // history.
  ServiceResult<google::protobuf::Timestamp> PastTime(
      const Caller& caller, const google::protobuf::Timestamp& at_time) const;
  // Returns the jobs of a past answer with this data time that the client may read. `at_time` is
  // the result of PastTime, by which the answer was found. The answer can be older, and the list of
  // jobs before it older still. Therefore only jobs count that were the client's own in both lists.
  ServiceResult<OwnJobs> PastOwnJobs(const Caller& caller,
                                     const google::protobuf::Timestamp& at_time,
                                     const google::protobuf::Timestamp& data_time) const;
  // Removes from the summaries of past jobs what a tenant may not read.
  ServiceStatus RestrictPast(const Caller& caller, const google::protobuf::Timestamp& at_time,
                             const std::vector<v1::JobSummary*>& jobs) const;

  // Returns the start of a job in the scheduler; nullopt: unknown. `snapshot` may be null.
  std::optional<Timestamp> StartOf(const Snapshot* snapshot, const v1::Allocation& job) const;

  // Returns the id of the job with this id, number or name; empty for an empty name.
  ServiceResult<std::string> JobIdOf(const Snapshot& snapshot, const OwnJobs& own,
                                     const std::string& name) const;
  // Returns the error for a job that the snapshot does not contain, or that is not the client's
  // own.
  ServiceError NoSuchJob(const OwnJobs& own, std::string_view name) const;
  // Returns an error if the client is a tenant and the request names no job.
  static ServiceStatus NeedJob(const Caller& caller, const std::string& job_id);
  // Sets the job of the query for a tenant, and restricts the time range to this job: an earlier
  // job of someone else can have had the same id or number. Returns false if the tenant has no such
  // job, or if its start is unknown.
  bool FindOwnSeries(const Caller& caller, const std::string& name, SeriesQuery& query);

  // Passes the registered jobs to the analysis and to the job file. Concurrent calls share the
  // work, and the newest state is passed last. Returns when the state is on disk, when writing
  // fails, or after a second. Returns why the state is not on disk; empty: it is.
  std::string PublishAllocations();
  // Returns an error if the configuration requires that jobs are stored, and `problem` is not
  // empty.
  ServiceStatus RequireDurable(const std::string& problem) const;

  // Adds the nodes that the topology does not contain to the response, and logs what the analysis
  // cannot use: these nodes, GPUs that the topology does not contain, and a start in the future.
  void CheckRegistered(const Allocation& job, v1::RegisterJobResponse& out) const;

  // Requires a topology.
  struct Neighbourhood;
  const Neighbourhood& Neighbours();
  // Returns all jobs of schedulers, including ended ones.
  std::vector<Allocation> Allocations(const Snapshot& snapshot) const;

  Daemon& daemon_;
  // The versions of the registry and of the job file that were published last.
  struct Published {
    uint64_t registry = 0;
    uint64_t file = 0;
  };
  std::mutex publish_mutex_;  // guards the next member
  Published published_;
  mutable std::mutex reload_mutex_;  // guards the next two
  std::string reload_problem_;
  std::vector<CertificateState> certificates_;
  std::vector<std::string> missing_restrictions_;
  const std::string version_;
  HistoryStore* const history_;
  JobFile* const job_file_;
  const Notify notify_;
  JobRegistry registry_;
  FindingReviews reviews_;
  std::once_flag neighbours_made_;
  std::shared_ptr<const Neighbourhood> neighbours_;
  AnswerViews views_;
  const uint64_t began_;  // first cursor and page version of this process
  EventLog events_;
  TrafficCounters traffic_;
  Refusals refusals_;
};

}  // namespace rocescope
