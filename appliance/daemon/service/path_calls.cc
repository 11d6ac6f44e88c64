// SPDX-License-Identifier: BSD-3-Clause
#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "appliance/common/report/job_report.h"
#include "appliance/daemon/service/job_summary.h"
#include "appliance/daemon/service/page.h"
#include "appliance/daemon/service/path_query.h"
#include "appliance/daemon/service/service.h"
#include "rocescope/v1/report.pb.h"
#include "rocescope/v1/service.pb.h"

namespace rocescope {
namespace {

constexpr int kMaxPairs = 1000;
constexpr int32_t kDefaultPathsPerPair = 10;
constexpr int32_t kMaxPathsPerPair = 1000;

// Fills the paths of one pair, or the error.
void FillPair(const topology::Fabric& fabric, const OwnJobs& own,
              const ServiceResult<std::vector<const FlowPath*>>& found, size_t most,
              v1::PairPaths& out) {
  if (!found) {
    const ServiceFaultInfo& info = InfoOf(found.error().fault);
    out.mutable_error()->set_code(info.grpc_number);
    out.mutable_error()->set_reason(std::string(info.reason));
    out.mutable_error()->set_message(found.error().message);
    return;
  }
  size_t count = 0;
  PageBytes bytes;
  bool is_full = false;
  for (const FlowPath* path : *found) {
    if (!own.HasPath(*path)) continue;
    ++count;
    if (count > most || is_full) continue;
    v1::FlowPath one;
    FillPath(fabric, *path, one);
    own.Restrict(one);
    is_full = !bytes.Add(one.ByteSizeLong());
    if (!is_full) *out.add_paths() = std::move(one);
  }
  out.set_total_size(static_cast<int32_t>(count));
}

}  // namespace

ServiceStatus Service::FindPaths(const Caller& caller, const v1::FindPathsRequest& in,
                                 v1::FindPathsResponse& out) {
  if (const auto named = NeedJob(caller, in.job_id()); !named) return named;
  if (const auto there = NeedTopology(); !there) return there;
  const auto page = Page(ReadListRequest(in));
  if (!page) return tl::unexpected(page.error());
  const Snapshot& snapshot = page->answer->snapshot();
  const OwnJobs own = OwnJobsOf(caller, *page->answer);
  const auto job = in.job_id().empty() ? std::nullopt : FindJob(snapshot, own, in.job_id());
  if (!job && !in.job_id().empty()) return tl::unexpected(NoSuchJob(own, in.job_id()));
  auto found = QueryPaths(snapshot, job, in);
  if (!found) return tl::unexpected(found.error());
  std::erase_if(*found, [&](const FlowPath* path) { return !own.HasPath(*path); });
  page->answer->FillMetadata(*out.mutable_snapshot());
  const auto fill = [&](uint64_t i, v1::FlowPath& path) {
    FillPath(*daemon_.fabric(), *(*found)[i], path);
    own.Restrict(path);
  };
  return FillPage(page->list, PageVersion(*page->answer), found->size(), fill, *out.mutable_paths(),
                  out);
}

ServiceStatus Service::BatchFindPaths(const Caller& caller, const v1::BatchFindPathsRequest& in,
                                      v1::BatchFindPathsResponse& out) {
  if (const auto named = NeedJob(caller, in.job_id()); !named) return named;
  if (in.pairs().empty() || in.pairs_size() > kMaxPairs) {
    return RefuseFields(
        {"pairs"}, fmt::format("expected 1 to {} pairs, found {}", kMaxPairs, in.pairs_size()));
  }
  if (const auto sound = CheckSize("paths_per_pair", in.paths_per_pair()); !sound) return sound;
  if (const auto there = NeedTopology(); !there) return there;
  const auto page = Page(ReadListRequest(in));
  if (!page) return tl::unexpected(page.error());
  const Snapshot& snapshot = page->answer->snapshot();
  const OwnJobs own = OwnJobsOf(caller, *page->answer);
  const auto job = in.job_id().empty() ? std::nullopt : FindJob(snapshot, own, in.job_id());
  if (!job && !in.job_id().empty()) return tl::unexpected(NoSuchJob(own, in.job_id()));
  page->answer->FillMetadata(*out.mutable_snapshot());
  const PairQuery query(snapshot, job);
  const int32_t most = in.paths_per_pair() == 0 ? kDefaultPathsPerPair
                                                : std::min(in.paths_per_pair(), kMaxPathsPerPair);
  const auto count = static_cast<uint64_t>(in.pairs_size());
  uint64_t i = std::min(page->list.first(), count);
  for (PageBytes bytes; i < count; ++i) {
    const auto& pair = in.pairs(static_cast<int>(i));
    v1::PairPaths result;
    FillPair(*daemon_.fabric(), own, query.Find(pair.source(), pair.destination()),
             static_cast<size_t>(most), result);
    if (!bytes.Add(result.ByteSizeLong())) break;
    *out.add_results() = std::move(result);
  }
  if (i < count) {
    out.set_next_page_token(
        ToText({.version = PageVersion(*page->answer), .offset = i, .request = page->list.hash}));
  }
  return {};
}

}  // namespace rocescope
