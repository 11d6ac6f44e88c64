// SPDX-License-Identifier: BSD-3-Clause
// The calls of service.proto, independent of the transport: gRPC and HTTP pass the same requests
// and return the same responses and errors. Thread-safe. No call waits for the engine or for
// sources.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "appliance/daemon/core/daemon.h"
#include "appliance/daemon/service/answer_view.h"
#include "appliance/daemon/service/event_log.h"
#include "appliance/daemon/service/job_registry.h"
#include "appliance/daemon/service/service_error.h"
#include "appliance/daemon/service/traffic_counters.h"

namespace rocescope {

namespace v1 {
class DoctorRequest;
class DoctorResponse;
class EndJobRequest;
class EndJobResponse;
class FindPathsRequest;
class FindPathsResponse;
class GetDependenciesRequest;
class GetDependenciesResponse;
class GetHealthRequest;
class GetJobHistoryRequest;
class GetJobHistoryResponse;
class GetJobRequest;
class GetJobResponse;
class GetLinkHistoryRequest;
class GetLinkHistoryResponse;
class GetServiceLevelsRequest;
class GetServiceLevelsResponse;
class GetTopologyRequest;
class Health;
class ListAnomaliesRequest;
class ListAnomaliesResponse;
class ListFindingsRequest;
class ListFindingsResponse;
class ListHotspotsRequest;
class ListHotspotsResponse;
class ListJobsRequest;
class ListJobsResponse;
class ListLinkLoadsRequest;
class ListLinkLoadsResponse;
class ListNodeSwitchesRequest;
class ListNodeSwitchesResponse;
class ListPastEventsRequest;
class ListPastEventsResponse;
class ListRegisteredJobsRequest;
class ListRegisteredJobsResponse;
class ListSourcesRequest;
class ListSourcesResponse;
class RankNodesRequest;
class RankNodesResponse;
class RegisterJobRequest;
class RegisterJobResponse;
class Topology;
}  // namespace v1

class HistoryStore;
class JobFile;

class Service {
 public:
  // `daemon`, `history` and `jobs` must outlive the service. `history` may be null (no history),
  // and so may `jobs` (registered jobs are not saved). `version` is the version of rocescope.
  Service(Daemon& daemon, std::string version, HistoryStore* history = nullptr,
          JobFile* jobs = nullptr);

  ServiceStatus GetHealth(const v1::GetHealthRequest& request, v1::Health& out);
  ServiceStatus ListSources(const v1::ListSourcesRequest& request, v1::ListSourcesResponse& out);
  ServiceStatus Doctor(const v1::DoctorRequest& request, v1::DoctorResponse& out);

  ServiceStatus ListJobs(const v1::ListJobsRequest& request, v1::ListJobsResponse& out);
  ServiceStatus GetJob(const v1::GetJobRequest& request, v1::GetJobResponse& out);

  ServiceStatus RegisterJob(const v1::RegisterJobRequest& request, v1::RegisterJobResponse& out);
  ServiceStatus EndJob(const v1::EndJobRequest& request, v1::EndJobResponse& out);
  ServiceStatus ListRegisteredJobs(const v1::ListRegisteredJobsRequest& request,
                                   v1::ListRegisteredJobsResponse& out);

  ServiceStatus GetTopology(const v1::GetTopologyRequest& request, v1::Topology& out);
  ServiceStatus ListLinkLoads(const v1::ListLinkLoadsRequest& request,
                              v1::ListLinkLoadsResponse& out);
  ServiceStatus FindPaths(const v1::FindPathsRequest& request, v1::FindPathsResponse& out);
  ServiceStatus ListHotspots(const v1::ListHotspotsRequest& request, v1::ListHotspotsResponse& out);
  ServiceStatus ListNodeSwitches(const v1::ListNodeSwitchesRequest& request,
                                 v1::ListNodeSwitchesResponse& out);
  ServiceStatus RankNodes(const v1::RankNodesRequest& request, v1::RankNodesResponse& out);

  ServiceStatus ListFindings(const v1::ListFindingsRequest& request, v1::ListFindingsResponse& out);
  ServiceStatus ListAnomalies(const v1::ListAnomaliesRequest& request,
                              v1::ListAnomaliesResponse& out);
  ServiceStatus GetServiceLevels(const v1::GetServiceLevelsRequest& request,
                                 v1::GetServiceLevelsResponse& out);
  ServiceStatus GetDependencies(const v1::GetDependenciesRequest& request,
                                v1::GetDependenciesResponse& out);

  ServiceStatus ListPastEvents(const v1::ListPastEventsRequest& request,
                               v1::ListPastEventsResponse& out);
  ServiceStatus GetLinkHistory(const v1::GetLinkHistoryRequest& request,
                               v1::GetLinkHistoryResponse& out);
  ServiceStatus GetJobHistory(const v1::GetJobHistoryRequest& request,
                              v1::GetJobHistoryResponse& out);

  // Sets the problem of the last reload of configuration and host files, which GetHealth reports;
  // empty: the reload succeeded.
  void SetReloadProblem(std::string problem);

  // For WatchEvents, which each transport implements, and for the producers of events.
  EventLog& events() { return events_; }
  AnswerViews& views() { return views_; }
  // For metrics.
  TrafficCounters& traffic() { return traffic_; }
  // Receives the messages of agents.
  AgentIntake& agents() { return daemon_.agents(); }
  const Daemon& daemon() const { return daemon_; }
  const std::string& version() const { return version_; }
  const HistoryStore* history() const { return history_; }

 private:
  // The newest snapshot, or the snapshot of a page token.
  struct Paged {
    std::shared_ptr<const AnswerView> answer;
    uint64_t first = 0;  // index of the first element of the page
  };
  ServiceResult<std::shared_ptr<const AnswerView>> Answered();
  ServiceResult<Paged> Page(const std::string& token);
  // Version of the snapshot in page tokens. Unlike Answer::version it is unique across restarts.
  uint64_t PageVersion(const AnswerView& answer) const { return began_ + answer.answer().version; }
  ServiceResult<std::shared_ptr<const AnswerView>> AnsweredWithTopology();
  ServiceStatus NeedTopology() const;
  ServiceStatus NeedHistory() const;

  // Returns the error for a job that the snapshot does not contain.
  ServiceError NoSuchJob(std::string_view name) const;

  // Passes the registered jobs to the analysis and to the job file. With concurrent calls, the
  // newest state is passed last. Returns when the state is on disk, or after a second; GetHealth
  // reports the delay.
  void TellAllocations();

  // Requires a topology.
  struct Neighbourhood;
  const Neighbourhood& Neighbours();
  // Returns all jobs of schedulers, including ended ones.
  std::vector<Allocation> Allocations(const Snapshot& snapshot) const;

  Daemon& daemon_;
  std::mutex telling_;
  std::mutex reload_mutex_;
  std::string reload_problem_;
  const std::string version_;
  HistoryStore* const history_;
  JobFile* const job_file_;
  JobRegistry registry_;
  std::once_flag neighbours_made_;
  std::shared_ptr<const Neighbourhood> neighbours_;
  AnswerViews views_;
  const uint64_t began_;  // first cursor and page version of this process
  EventLog events_;
  TrafficCounters traffic_;
};

// Computes the end of the page that starts at `first` in a list of `elements`, and the token of the
// next page (empty if there is none). `version` is PageVersion of the snapshot; 0 for lists without
// a snapshot.
struct PageEnd {
  uint64_t end = 0;
  std::string next;
};
PageEnd EndOfPage(uint64_t first, uint32_t asked, uint64_t elements, uint64_t version);

}  // namespace rocescope
