// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/cli/score/score.h"

#include <fmt/format.h>
#include <google/protobuf/util/json_util.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "appliance/api/message_value.h"
#include "appliance/cli/score/score_findings.h"
#include "appliance/cli/score/score_iteration_pattern.h"
#include "appliance/cli/score/score_jobs.h"
#include "rocescope/v1/report.pb.h"
#include "rocescope/v1/score.pb.h"
#include "rocescope/v1/truth.pb.h"

namespace rocescope {
namespace {

constexpr int kMaxMisses = 10;
constexpr uint32_t kBinPercent = 5;

// Returns the number of nested arrays and objects. The parser uses stack and memory for each.
size_t NestingIn(std::string_view json) {
  size_t deepest = 0;
  size_t open = 0;
  bool in_string = false;
  for (size_t i = 0; i < json.size(); ++i) {
    const char c = json[i];
    if (in_string) {
      if (c == '\\') ++i;
      in_string = c != '"';
    } else if (c == '"') {
      in_string = true;
    } else if (c == '[' || c == '{') {
      deepest = std::max(deepest, ++open);
    } else if ((c == ']' || c == '}') && open > 0) {
      --open;
    }
  }
  return deepest;
}

template <typename Message>
Status ParseJson(std::string_view text, std::string_view file, Message& message) {
  constexpr size_t kDeepest = 64;  // several times the depth of these messages
  if (NestingIn(text) > kDeepest) {
    return MakeError(ErrorCode::kInvalidArgument,
                     fmt::format("{}: more than {} nested arrays and objects; is the file damaged?",
                                 file, kDeepest));
  }
  const auto status = google::protobuf::util::JsonStringToMessage(
      google::protobuf::StringPiece(text.data(), text.size()), &message);
  if (status.ok()) return {};
  return MakeError(ErrorCode::kInvalidArgument,
                   fmt::format("{}: {}", file, std::string(status.message())));
}

struct End {
  std::string address;
  uint32_t qpn = 0;

  friend auto operator<=>(const End&, const End&) = default;
};

// One end of a true connection.
struct TrueEnd {
  int connection = 0;
  bool second = false;
};

// The connections that one rank pair spreads its messages over.
using Stripe = std::tuple<std::string, uint32_t, uint32_t, uint32_t, uint32_t>;

// The end of a job may be known by its NIC only.
bool NamesProcess(const v1::Endpoint& end) {
  return end.has_rank() || (!end.host().empty() && end.process_id() != 0);
}

uint64_t BytesOf(const google::protobuf::RepeatedPtrField<v1::TruthPath>& paths) {
  uint64_t bytes = 0;
  for (const v1::TruthPath& path : paths) bytes += path.bytes();
  return bytes;
}

class Scorer {
 public:
  Scorer(const v1::Truth& truth, const v1::ReplayReport& report, const ScoreOptions& options,
         v1::ViewScore& score)
      : truth_(truth), report_(report), options_(options), score_(score) {
    for (int i = 0; i < truth.connections_size(); ++i) {
      const v1::TruthConnection& connection = truth.connections(i);
      ends_[{connection.first().address(), connection.first().qpn()}] = {i, false};
      ends_[{connection.second().address(), connection.second().qpn()}] = {i, true};
    }
    for (const v1::TruthJob& job : truth.jobs()) jobs_[job.name()] = &job;
  }

  void Score() {
    if (options_.about_faults) {
      ScoreFaults();
    } else {
      ScoreConnections();
      ScoreRanks();
      ScoreJobs();
      ScorePaths();
    }
    for (size_t i = 0; i < kMeasures; ++i) {
      if (counts_[i].of == 0) continue;
      v1::Measure& measure = *score_.add_measures();
      measure.set_name(std::string(NameOf(static_cast<MeasureKind>(i))));
      measure.set_right(counts_[i].right);
      measure.set_of(counts_[i].of);
    }
    for (const auto& [key, bin] : bins_) {
      v1::Bin& out = *score_.add_bins();
      out = bin;
      out.set_answer(std::string(key.first));
      out.set_percent(key.second);
    }
  }

 private:
  struct Count {
    double right = 0;
    double of = 0;
  };

  void Add(MeasureKind kind, double right, double of) {
    counts_[static_cast<size_t>(kind)].right += right;
    counts_[static_cast<size_t>(kind)].of += of;
  }
  void AddAnswer(std::string_view answer, double confidence, bool right) {
    const auto percent = static_cast<uint32_t>(confidence * 100 + 1e-9) / kBinPercent * kBinPercent;
    v1::Bin& bin = bins_[{answer, std::min(percent, 100 - kBinPercent)}];
    bin.set_answers(bin.answers() + 1);
    bin.set_right(bin.right() + right);
    bin.set_confidence(bin.confidence() + confidence);
  }
  void Miss(std::string sentence) {
    if (score_.misses_size() < kMaxMisses) score_.add_misses(std::move(sentence));
  }

  const TrueEnd* Find(const v1::Endpoint& end) const {
    if (!end.has_qpn()) return nullptr;
    const auto at = ends_.find({end.address(), end.qpn()});
    return at == ends_.end() ? nullptr : &at->second;
  }
  const v1::TruthConnection& At(const TrueEnd& end) const {
    return truth_.connections(end.connection);
  }
  static bool HasTraffic(const v1::TruthConnection& connection) {
    return BytesOf(connection.forward()) + BytesOf(connection.backward()) > 0;
  }
  static Stripe StripeOf(const v1::TruthConnection& connection, int number) {
    // Background traffic has no stripes: each connection is its own stripe.
    if (connection.job().empty()) return {"", static_cast<uint32_t>(number), 0, 0, 0};
    return {connection.job(), connection.phase(), connection.group(), connection.from_rank(),
            connection.to_rank()};
  }

  void ScoreFaults() {
    for (const StatedFinding& finding : ScoreFindings(
             truth_, report_, options_.reported, options_.window_ns, *score_.mutable_findings())) {
      AddAnswer("finding", finding.confidence, finding.right);
    }
  }
  void ScoreConnections();
  void ScoreRanks();
  void ScoreJobs();
  void ScoreIterationPatterns(const std::map<std::string, std::string>& true_job);
  void ScorePaths();
  void AddReach(const v1::TruthPath& path);
  void ScorePath(const google::protobuf::RepeatedPtrField<v1::TruthPath>& truth,
                 const v1::FlowPath* found);
  const v1::TruthRank* RankOf(const TrueEnd& end) const;
  uint32_t ProcessOf(const v1::TruthConnection& connection, const v1::TruthRank& rank,
                     int number) const;

  const v1::Truth& truth_;
  const v1::ReplayReport& report_;
  const ScoreOptions& options_;
  v1::ViewScore& score_;
  std::map<End, TrueEnd> ends_;
  std::map<std::string, const v1::TruthJob*> jobs_;
  std::array<Count, kMeasures> counts_{};
  std::map<std::pair<std::string_view, uint32_t>, v1::Bin> bins_;
};

void Scorer::ScoreConnections() {
  double stated = 0;
  double exact = 0;
  double within_stripe = 0;
  std::set<int> found;
  std::set<int> found_stripe;
  for (const v1::Connection& connection : report_.connections()) {
    if (connection.state() != v1::Connection::STATE_PAIRED) continue;
    const TrueEnd* a = Find(connection.a());
    const TrueEnd* b = Find(connection.b());
    ++stated;
    const bool pair = a != nullptr && b != nullptr && a->connection == b->connection;
    const bool stripe = a != nullptr && b != nullptr && a->second != b->second &&
                        StripeOf(At(*a), a->connection) == StripeOf(At(*b), b->connection);
    AddAnswer("pair", connection.confidence(), pair);
    if (pair) found.insert(a->connection);
    if (stripe) found_stripe.insert(a->second ? b->connection : a->connection);
    exact += pair;
    within_stripe += stripe;
    if (!pair) {
      Miss(fmt::format("{} qp {} and {} qp {} are wrongly stated to be a pair ({:.3f}){}",
                       connection.a().address(), connection.a().qpn(), connection.b().address(),
                       connection.b().qpn(), connection.confidence(),
                       stripe ? ", but are in one stripe" : ""));
    }
  }
  double all = 0;
  for (const v1::TruthConnection& connection : truth_.connections()) all += HasTraffic(connection);
  Add(MeasureKind::kStripePrecision, within_stripe, stated);
  Add(MeasureKind::kPairPrecision, exact, stated);
  Add(MeasureKind::kStripeRecall, static_cast<double>(found_stripe.size()), all);
  Add(MeasureKind::kPairRecall, static_cast<double>(found.size()), all);
}

const v1::TruthRank* Scorer::RankOf(const TrueEnd& end) const {
  const auto job = jobs_.find(At(end).job());
  if (job == jobs_.end()) return nullptr;
  const auto rank = static_cast<int>(end.second ? At(end).to_rank() : At(end).from_rank());
  return rank < job->second->ranks_size() ? &job->second->ranks(rank) : nullptr;
}

// A job that crashed runs again in new processes, with new connections.
uint32_t Scorer::ProcessOf(const v1::TruthConnection& connection, const v1::TruthRank& rank,
                           int number) const {
  const auto job = jobs_.find(connection.job());
  const auto restart = static_cast<int>(connection.incarnation()) - 1;
  if (job == jobs_.end() || restart < 0 || restart >= job->second->restarts_size()) {
    return rank.process_id();
  }
  const auto& processes = job->second->restarts(restart).process_ids();
  return number < processes.size() ? processes[number] : rank.process_id();
}

// An end is right if its process is: by the rank number if the logs contain one, else by host and
// process.
void Scorer::ScoreRanks() {
  std::map<End, const v1::Endpoint*> stated;
  for (const v1::Connection& connection : report_.connections()) {
    for (const v1::Endpoint* end : {&connection.a(), &connection.b()}) {
      if (!end->has_qpn() || !NamesProcess(*end)) continue;
      stated[{end->address(), end->qpn()}] = end;
    }
  }
  // Maps each job of the report to the true job that most of its ends belong to.
  std::map<std::string, std::map<std::string, uint64_t>> votes;
  for (const auto& [end, claim] : stated) {
    const auto at = ends_.find(end);
    if (at != ends_.end()) ++votes[claim->job_id()][At(at->second).job()];
  }
  const auto job_of = [&](const std::string& id) -> std::string {
    const auto& counted = votes[id];
    const auto most = std::ranges::max_element(counted, {}, [](const auto& v) { return v.second; });
    return most == counted.end() ? "" : most->first;
  };
  for (const auto& [end, place] : ends_) {
    const v1::TruthConnection& connection = At(place);
    const v1::TruthRank* rank = RankOf(place);
    const auto bytes = static_cast<double>(
        std::max(BytesOf(connection.forward()), BytesOf(connection.backward())));
    if (rank == nullptr || bytes <= 0 || bytes < options_.elephant_bytes) continue;
    const auto at = stated.find(end);
    bool right = false;
    if (at != stated.end()) {
      const v1::Endpoint& claim = *at->second;
      const auto number =
          static_cast<int>(place.second ? connection.to_rank() : connection.from_rank());
      right = claim.has_rank()
                  ? claim.rank() == number && job_of(claim.job_id()) == connection.job()
                  : claim.host() == rank->host() &&
                        claim.process_id() == ProcessOf(connection, *rank, number);
      AddAnswer("rank", claim.rank_confidence(), right);
      if (!right) {
        Miss(fmt::format("{} qp {} is assigned to rank {} of {} but belongs to rank {}",
                         end.address, end.qpn, claim.has_rank() ? claim.rank() : -1, claim.job_id(),
                         number));
      }
    }
    Add(MeasureKind::kRanks, right, 1);
  }
}

// Without a rank, the assignment of a connection to a job is an answer of its own.
void Scorer::ScoreJobs() {
  const JobAgreement agreement = CompareJobs(truth_, report_);
  Add(MeasureKind::kJobs, agreement.adjusted_rand * agreement.nics, agreement.nics);
  if (options_.has_activity) ScoreIterationPatterns(agreement.true_job);
  for (const v1::Connection& connection : report_.connections()) {
    for (const v1::Endpoint* end : {&connection.a(), &connection.b()}) {
      const TrueEnd* at = Find(*end);
      if (end->job_id().empty() || NamesProcess(*end) || at == nullptr) continue;
      const std::string& job = At(*at).job();
      const auto taken_for = agreement.true_job.find(end->job_id());
      AddAnswer("job", end->rank_confidence(),
                !job.empty() && taken_for != agreement.true_job.end() && taken_for->second == job);
    }
  }
}

void Scorer::ScoreIterationPatterns(const std::map<std::string, std::string>& true_job) {
  IterationPatternAgreement iteration_patterns =
      CompareIterationPatterns(truth_, report_, true_job);
  Add(MeasureKind::kCollectives, iteration_patterns.collectives, iteration_patterns.of_collectives);
  Add(MeasureKind::kPeriods, iteration_patterns.periods, iteration_patterns.of_periods);
  Add(MeasureKind::kPeriodsStated, iteration_patterns.stated_periods,
      iteration_patterns.of_periods);
  Add(MeasureKind::kPeriodsWrong, iteration_patterns.stated_periods - iteration_patterns.periods,
      iteration_patterns.stated_periods);
  Add(MeasureKind::kPeriodError, iteration_patterns.period_errors, iteration_patterns.of_periods);
  Add(MeasureKind::kWaitedFor, iteration_patterns.straggler, iteration_patterns.of_waited_for);
  for (std::string& miss : iteration_patterns.misses) Miss(std::move(miss));
}

void Scorer::ScorePaths() {
  using Key = std::tuple<std::string, std::string, uint32_t>;
  std::map<Key, const v1::FlowPath*> found;
  for (const v1::FlowPath& path : report_.paths()) {
    found[{path.source(), path.destination(), path.destination_qpn()}] = &path;
  }
  for (const v1::TruthConnection& connection : truth_.connections()) {
    const auto score = [&](const v1::TruthEnd& from, const v1::TruthEnd& to, const auto& paths) {
      const auto at = found.find({from.address(), to.address(), to.qpn()});
      if (static_cast<double>(BytesOf(paths)) < options_.elephant_bytes) return;
      ScorePath(paths, at == found.end() ? nullptr : at->second);
    };
    score(connection.first(), connection.second(), connection.forward());
    score(connection.second(), connection.first(), connection.backward());
  }
}

// With independent random samples, a path is revealed with probability 1 - exp(-expected samples).
void Scorer::AddReach(const v1::TruthPath& path) {
  constexpr int kPortsOverCore = 5;
  if (options_.samples_per_byte == 0) return;
  const auto bytes = static_cast<double>(path.bytes());
  const double told =
      path.ports_size() < kPortsOverCore ? 1 : 1 - std::exp(-options_.samples_per_byte * bytes);
  Add(MeasureKind::kPathReach, told * bytes, bytes);
}

// The true bytes are assumed to be distributed evenly over the time during which the path was valid
// and the flow was observed.
void Scorer::ScorePath(const google::protobuf::RepeatedPtrField<v1::TruthPath>& truth,
                       const v1::FlowPath* found) {
  for (const v1::TruthPath& path : truth) {
    const auto bytes = static_cast<double>(path.bytes());
    if (bytes == 0) continue;
    double right = 0;
    double wrong = 0;
    // Part of the time from the first to the last packet observed while this path was valid.
    int64_t begin = path.end_ns();
    int64_t end = path.start_ns();
    struct Part {
      int64_t length;
      bool asserted;
      bool right;
      double probability;
    };
    std::vector<Part> parts;
    for (int i = 0; found != nullptr && i < found->intervals_size(); ++i) {
      const v1::PathInterval& stretch = found->intervals(i);
      const int64_t until = i + 1 < found->intervals_size()
                                ? std::min(Nanoseconds(stretch.end_time()),
                                           Nanoseconds(found->intervals(i + 1).start_time()))
                                : Nanoseconds(stretch.end_time());
      const int64_t from = std::max(Nanoseconds(stretch.start_time()), path.start_ns());
      const int64_t to = std::min(until, path.end_ns());
      if (to < from) continue;
      begin = std::min(begin, from);
      end = std::max(end, to);
      const bool asserted = stretch.state() == v1::PathInterval::STATE_EXACT ||
                            stretch.state() == v1::PathInterval::STATE_LIKELY;
      const bool same =
          stretch.ports_size() == path.ports_size() + 1 &&
          std::equal(path.ports().begin(), path.ports().end(), stretch.ports().begin() + 1);
      parts.push_back({to - from + 1, asserted, same, stretch.probability()});
    }
    for (const Part& part : parts) {
      const double share = static_cast<double>(part.length) / static_cast<double>(end - begin + 1);
      if (part.asserted) (part.right ? right : wrong) += bytes * share;
      if (share > 0.01) AddAnswer("path", part.probability, part.right);
    }
    Add(MeasureKind::kPath, right, bytes);
    Add(MeasureKind::kPathWrong, wrong, bytes);
    AddReach(path);
    if (wrong > bytes * 0.01) {
      Miss(fmt::format("{} to {} qp {}: {:.0f} bytes are asserted on a wrong path; right: {}",
                       found->source(), found->destination(), found->destination_qpn(), wrong,
                       fmt::join(path.ports(), " > ")));
    }
  }
}

}  // namespace

Status ParseTruth(std::string_view text, std::string_view file, v1::Truth& truth) {
  if (Status parsed = ParseJson(text, file, truth); !parsed) return parsed;
  constexpr uint32_t kSchemaVersion = 2;  // the version of truth.proto that this program reads
  if (truth.schema_version() != kSchemaVersion) {
    return MakeError(ErrorCode::kInvalidArgument,
                     fmt::format("{}: schema_version is {}; expected {}", file,
                                 truth.schema_version(), kSchemaVersion));
  }
  return {};
}

Status ParseScore(std::string_view text, std::string_view file, v1::Score& score) {
  return ParseJson(text, file, score);
}

void ScoreView(const v1::Truth& truth, const v1::ReplayReport& report, const ScoreOptions& options,
               v1::ViewScore& score) {
  Scorer(truth, report, options, score).Score();
}

void AddScore(const v1::ViewScore& from, v1::ViewScore& into) {
  into.set_view(from.view());
  for (const v1::Measure& measure : from.measures()) {
    auto* const all = into.mutable_measures();
    const auto at = std::ranges::find(*all, measure.name(), &v1::Measure::name);
    v1::Measure& sum = at == all->end() ? *all->Add() : *at;
    sum.set_name(measure.name());
    sum.set_right(sum.right() + measure.right());
    sum.set_of(sum.of() + measure.of());
  }
  for (const v1::Bin& bin : from.bins()) {
    auto* const all = into.mutable_bins();
    const auto at = std::ranges::find_if(*all, [&](const v1::Bin& known) {
      return known.answer() == bin.answer() && known.percent() == bin.percent();
    });
    v1::Bin& sum = at == all->end() ? *all->Add() : *at;
    sum.set_answer(bin.answer());
    sum.set_percent(bin.percent());
    sum.set_answers(sum.answers() + bin.answers());
    sum.set_right(sum.right() + bin.right());
    sum.set_confidence(sum.confidence() + bin.confidence());
  }
  for (const std::string& miss : from.misses()) {
    if (into.misses_size() < kMaxMisses) into.add_misses(miss);
  }
}

}  // namespace rocescope
