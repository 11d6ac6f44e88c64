// SPDX-License-Identifier: BSD-3-Clause
#include "analytics/path/path_tracker.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

namespace rocescope {

using topology::kNone;
using topology::NodeIndex;
using topology::Path;
using topology::PortIndex;

namespace {

// From this probability on, other paths are not reported.
constexpr double kCertain = 0.999;

// Probability that a tap on a link shows none of the packets that crossed it: for one packet, and
// for many.
constexpr double kOneMissed = 0.1;
constexpr double kAllMissed = 1e-4;
constexpr uint64_t kMany = 5;  // packets; more packets do not lower the probability further

}  // namespace

PathTracker::PathTracker(FlowRegistry& flows, const topology::Fabric& fabric,
                         const PathOptions& options)
    : options_(options),
      routes_(fabric),
      crossings_(fabric),
      finder_(routes_, crossings_),
      registry_(flows) {
  flows.OnEviction([this](FlowId flow) { Forget(flow); });
}

void PathTracker::Add(FlowId id, const FlowRecord& record) {
  const CrossingId crossing = crossings_.OfTap(record.tap);
  if (crossing == kNoCrossing || record.packets == 0) return;
  const Duration ahead = clocks_ == nullptr ? Duration(0) : clocks_->OfTap(record.tap);
  const Timestamp first_seen = record.first_seen - ahead;
  const Timestamp last_seen = record.last_seen - ahead;
  if (crossing >= active_.size()) active_.resize(size_t{crossing} + 1);
  Activity& active = active_[crossing];
  active.first = std::min(active.first, first_seen);
  active.last = std::max(active.last, last_seen);
  Flow* const known = FindOrAdd(id);
  if (known == nullptr) return;
  Flow& flow = *known;
  if (flow.history && flow.history->cut && last_seen >= *flow.history->cut) {
    flow.history->cut.reset();
    Begin(flow, PathChange::kNewOwner);
  }
  Add(flow, {.crossing = crossing,
             .tap = static_cast<uint16_t>(record.tap),
             .sources = kFromMirror,
             .first = first_seen,
             .last = last_seen,
             .packets = record.packets,
             .bytes = record.bytes});
  if (flow.udp_source_port != record.udp_source_port) {
    const bool changed = flow.udp_source_port != 0;
    flow.udp_source_port = record.udp_source_port;
    PathChange& began = flow.now.began;
    if (changed && began == PathChange::kRerouted) began = PathChange::kNewSourcePort;
  }
}

void PathTracker::Add(FlowId id, const HopRecord& record) {
  if (!record.packet.known) return;
  const NodeIndex node = crossings_.fabric().FindSwitchByInt(record.node_id);
  if (node == kNone || !record.metadata.Has(wire::kIntPorts)) return;
  const bool by_clock = clocks_ != nullptr && record.event_time_told;
  const Timestamp time =
      record.event_time - (by_clock ? clocks_->OfIntNode(record.node_id) : Duration(0));
  Flow* const flow = FindOrAdd(id);
  if (flow == nullptr) return;
  Seen seen = {.sources = kFromInt, .first = time, .last = time, .packets = 1};
  for (const CrossingId crossing : {crossings_.Entering(node, record.metadata.ingress_port),
                                    crossings_.Leaving(node, record.metadata.egress_port)}) {
    seen.crossing = crossing;
    if (crossing != kNoCrossing) Add(*flow, seen);
  }
}

void PathTracker::Add(FlowId id, const SampleRecord& record) {
  if (!record.packet.known || record.discarded) return;
  const NodeIndex node = crossings_.fabric().FindSwitchBySflow(record.agent);
  if (node == kNone) return;
  Flow* const flow = FindOrAdd(id);
  if (flow == nullptr) return;
  Seen seen = {.sources = kFromSflow,
               .first = record.event_time,
               .last = record.event_time,
               .packets = record.sampling_rate,
               .bytes = uint64_t{record.sampling_rate} * record.frame_length};
  for (const CrossingId crossing : {crossings_.Entering(node, record.input_port),
                                    crossings_.Leaving(node, record.output_port)}) {
    seen.crossing = crossing;
    if (crossing != kNoCrossing) Add(*flow, seen);
  }
}

void PathTracker::Cut(FlowId id, Timestamp time) {
  if (id < flows_.size() && flows_[id].known) flows_[id].MakeHistory().cut = time;
}

void PathTracker::Approach(FlowId id) const {
  if (id < flows_.size()) PrefetchLines<2>(&flows_[id]);
}

void PathTracker::MarkChanged(FlowId id) {
  if (!std::exchange(flows_[id].changed, true)) changed_.push_back(id);
}

// The caller is about to change the flow.
PathTracker::Flow* PathTracker::FindOrAdd(FlowId id) {
  if (id == kNoFlow) {
    ++statistics_.flows_refused;
    return nullptr;
  }
  Flow& flow = StateOf(flows_, id);
  if (!std::exchange(flow.known, true)) {
    const topology::Fabric& fabric = crossings_.fabric();
    const FlowKey& key = registry_.key(id);
    flow.source = fabric.FindNic({.segment = key.segment, .address = key.source});
    flow.destination = fabric.FindNic({.segment = key.segment, .address = key.destination});
  }
  MarkChanged(id);
  return &flow;
}

void PathTracker::Forget(FlowId id) {
  if (id >= flows_.size() || !flows_[id].known) return;
  ++statistics_.flows_evicted;
  gone_.push_back(registry_.key(id));
  const bool changed = flows_[id].changed;  // it is already in the list of changed flows
  flows_[id] = {};
  flows_[id].changed = changed;
}

PathTracker::History& PathTracker::Flow::MakeHistory() {
  if (history == nullptr) history = std::make_unique<History>();
  return *history;
}

std::span<PathTracker::Stretch> PathTracker::Flow::Earlier() {
  return history ? std::span(history->earlier) : std::span<Stretch>();
}

void PathTracker::Begin(Flow& flow, PathChange change) {
  std::vector<Stretch>& earlier = flow.MakeHistory().earlier;
  earlier.push_back(std::exchange(flow.now, {.began = change}));
  if (earlier.size() >= options_.intervals) {
    earlier.erase(earlier.begin());
    ++statistics_.stretches_dropped;
  }
}

void PathTracker::Add(Flow& flow, const Seen& seen) {
  Stretch& now = flow.now;
  if (now.spread) {
    const bool known =
        std::ranges::find(now.seen, seen.crossing, &Seen::crossing) != now.seen.end();
    const auto quiet = std::ranges::min_element(now.seen, {}, &Seen::last);
    // One of its paths is no longer used.
    if (known && seen.first - quiet->last > options_.calm) {
      Begin(flow, PathChange::kRerouted);
      Append(seen, now);
      return;
    }
  }
  if (!Merge(seen, now)) AddNew(flow, seen);
}

void PathTracker::Append(const Seen& seen, Stretch& stretch) {
  stretch.seen.push_back(seen);
  stretch.settled = false;
}

bool PathTracker::Merge(const Seen& seen, Stretch& stretch) {
  const auto find_in = [&](std::span<Seen> all) {
    const auto at = std::ranges::find(all, seen.crossing, &Seen::crossing);
    return at != all.end() ? &*at : nullptr;
  };
  Seen* known = find_in(stretch.seen);
  if (known == nullptr) known = find_in(stretch.Strays());
  if (known == nullptr) return false;
  if ((known->sources | seen.sources) != known->sources) stretch.settled = false;
  known->first = std::min(known->first, seen.first);
  known->last = std::max(known->last, seen.last);
  CountAt(*known, seen);
  return true;
}

// A second mirror session, or samples, would count the same packets again. Mirrored packets are
// counted exactly; sampled ones are an estimate.
void PathTracker::CountAt(Seen& known, const Seen& seen) {
  const bool was_mirrored = (known.sources & kFromMirror) != 0;
  const bool is_mirrored = (seen.sources & kFromMirror) != 0;
  known.sources |= seen.sources;
  if (was_mirrored && (!is_mirrored || seen.tap != known.tap)) return;
  if (is_mirrored && !was_mirrored) known.packets = known.bytes = 0;
  known.tap = seen.tap;
  known.packets += seen.packets;
  known.bytes += seen.bytes;
}

bool PathTracker::Agrees(const Flow& flow, const Stretch& stretch, CrossingId crossing) {
  asked_.assign(1, crossing);
  for (const Seen& seen : stretch.seen) asked_.push_back(seen.crossing);
  return finder_.Exists(
      {.source = flow.source, .destination = flow.destination, .crossings = asked_});
}

bool PathTracker::AgreePair(const Flow& flow, CrossingId a, CrossingId b) {
  const std::array<CrossingId, 2> both = {a, b};
  return finder_.Exists(
      {.source = flow.source, .destination = flow.destination, .crossings = both});
}

// A path that was used only briefly cannot leave packets behind for longer.
Duration PathTracker::SlackOf(const Seen& a, const Seen& b) const {
  return std::min(options_.slack, std::min(a.last - a.first, b.last - b.first) / 4);
}

// Handles a crossing at which the flow was not observed on its current path.
void PathTracker::AddNew(Flow& flow, const Seen& seen) {
  Stretch& now = flow.now;
  if (flow.source == kNone || flow.destination == kNone || Agrees(flow, now, seen.crossing)) {
    Append(seen, now);
    return;
  }
  const auto disagrees = [&](const Seen& other) {
    return !AgreePair(flow, seen.crossing, other.crossing);
  };
  if (disagrees(seen)) {
    ++statistics_.stray;
    if (now.strays == nullptr) now.strays = std::make_unique<std::vector<Seen>>();
    now.strays->push_back(seen);
    now.settled = false;
    return;
  }
  // When the path that is inconsistent with this crossing was used.
  Seen other;
  for (const Seen& old : now.seen) {
    if (!disagrees(old)) continue;
    if (other.crossing == kNoCrossing) other = old;
    other.first = std::min(other.first, old.first);
    other.last = std::max(other.last, old.last);
  }
  const bool known_spread = now.spread || other.crossing == kNoCrossing;
  if (!known_spread && seen.first >= other.last - SlackOf(seen, other)) {
    Begin(flow, PathChange::kRerouted);
    Append(seen, now);
    return;
  }
  const bool earlier = !known_spread && seen.last <= other.first + SlackOf(seen, other);
  if (earlier && AddToEarlier(flow, seen)) return;
  now.spread = true;
  Append(seen, now);
}

// Adds a late observation to a stretch before the current one.
bool PathTracker::AddToEarlier(Flow& flow, const Seen& seen) {
  if (flow.Earlier().empty()) {
    flow.MakeHistory().earlier.push_back({.began = PathChange::kFirstSeen, .seen = {seen}});
    if (flow.now.began == PathChange::kFirstSeen) flow.now.began = PathChange::kRerouted;
    return true;
  }
  Stretch& before = flow.Earlier().back();
  if (Merge(seen, before)) return true;
  if (!Agrees(flow, before, seen.crossing)) return false;
  Append(seen, before);
  return true;
}

std::shared_ptr<const FlowPaths> PathTracker::Paths() {
  if (std::exchange(tap_learnt_, false)) {
    for (FlowId i = 0; i < flows_.size(); ++i) {
      if (!flows_[i].known) continue;
      for (Stretch& stretch : flows_[i].Earlier()) stretch.settled = false;
      flows_[i].now.settled = false;
      MarkChanged(i);
    }
  }
  if (changed_.empty() && gone_.empty()) return paths_;
  const auto key_of = [this](FlowId i) -> const FlowKey& { return registry_.key(i); };
  std::ranges::sort(changed_, {}, key_of);
  std::ranges::sort(gone_);
  std::vector<FlowKey> keys;
  std::vector<FlowPath> fresh;
  std::vector<FlowId> open;
  keys.reserve(gone_.size() + changed_.size());
  fresh.reserve(changed_.size());
  for (const FlowId i : changed_) {
    Flow& flow = flows_[i];
    const FlowKey& key = key_of(i);
    const bool is_anew = std::ranges::binary_search(gone_, key);
    const FlowPath* const before = is_anew ? nullptr : paths_->Find(key, &FlowPath::flow);
    FlowPath path = PathOf(i, before);
    flow.changed = flow.now.waits || std::ranges::any_of(flow.Earlier(), &Stretch::waits);
    if (flow.changed) open.push_back(i);
    if (path.intervals.empty() || (before != nullptr && *before == path)) continue;
    keys.push_back(key);
    fresh.push_back(std::move(path));
  }
  changed_ = std::move(open);
  keys.insert(keys.end(), gone_.begin(), gone_.end());
  gone_.clear();
  if (keys.empty()) return paths_;
  std::ranges::sort(keys);
  keys.erase(std::ranges::unique(keys).begin(), keys.end());
  paths_ = std::make_shared<const FlowPaths>(paths_->With(keys, std::move(fresh), &FlowPath::flow));
  return paths_;
}

FlowPath PathTracker::PathOf(FlowId id, const FlowPath* before) {
  Flow& flow = flows_[id];
  FlowPath path = {
      .flow = registry_.key(id), .source = flow.source, .destination = flow.destination};
  // While the stretch is the same, the previous answer still applies to it.
  const bool one = flow.Earlier().empty() && before != nullptr && before->intervals.size() == 1;
  const Stretch* last = nullptr;
  const auto add = [&](Stretch& stretch) {
    if (stretch.IsEmpty()) return;
    path.intervals.push_back(
        AnswerOf(flow, stretch, one && stretch.settled ? &before->intervals.front() : nullptr));
    if (last != nullptr) {
      PartAt(flow, *last, stretch, path.intervals[path.intervals.size() - 2],
             path.intervals.back());
    }
    last = &stretch;
  };
  std::ranges::for_each(flow.Earlier(), add);
  add(flow.now);
  return path;
}

// Observations that both paths have in common do not show when the path changed; observations that
// only one of them explains do.
void PathTracker::PartAt(const Flow& flow, const Stretch& before, const Stretch& after,
                         PathInterval& left, PathInterval& right) {
  Timestamp last = Timestamp::min();
  for (const Seen& seen : before.seen) {
    if (!Agrees(flow, after, seen.crossing)) last = std::max(last, seen.last);
  }
  Timestamp first = Timestamp::max();
  for (const Seen& seen : after.seen) {
    if (!Agrees(flow, before, seen.crossing)) first = std::min(first, seen.first);
  }
  if (last != Timestamp::min()) left.until = std::max(left.from, std::min(left.until, last));
  if (first != Timestamp::max()) right.from = first;
}

// `before` is the previous answer, if only times and counts can differ from it.
PathInterval PathTracker::AnswerOf(const Flow& flow, Stretch& stretch, const PathInterval* before) {
  PathInterval answer;
  if (before != nullptr) answer = *before;
  answer.from = Timestamp::max();
  answer.until = Timestamp::min();
  answer.began = stretch.began;
  Seen most;
  for (const std::span<Seen> all : {std::span(stretch.seen), stretch.Strays()}) {
    for (const Seen& seen : all) {
      answer.sources |= seen.sources;
      const auto trust = [](const Seen& s) {
        return std::pair((s.sources & kFromMirror) != 0, s.packets);
      };
      if (trust(seen) > trust(most)) most = seen;
      answer.from = std::min(answer.from, seen.first);
      answer.until = std::max(answer.until, seen.last);
    }
  }
  answer.packets = most.packets;
  answer.bytes = most.bytes;
  stretch.waits = false;
  if (before != nullptr) return answer;
  if (flow.source == kNone || flow.destination == kNone) return answer;
  const std::span<Seen> strays = stretch.Strays();
  if (!strays.empty() || stretch.spread) {
    std::vector<Seen> all = stretch.seen;
    all.insert(all.end(), strays.begin(), strays.end());
    answer.state = strays.empty() ? PathState::kSpread : PathState::kStray;
    Spread(all, answer);
    return answer;
  }
  asked_.clear();
  for (const Seen& seen : stretch.seen) asked_.push_back(seen.crossing);
  Weigh(stretch,
        finder_.Find({.source = flow.source, .destination = flow.destination, .crossings = asked_}),
        answer);
  return answer;
}

// Returns the factor by which silent taps on a path make it less likely; 1 without such taps.
double PathTracker::Believable(Stretch& stretch, const Path& path, uint64_t mirrored) const {
  double factor = 1;
  for (const PortIndex port : path.hops()) {
    for (const CrossingId watched : crossings_.WatchedOf(port)) {
      if (std::ranges::find(stretch.seen, watched, &Seen::crossing) != stretch.seen.end()) continue;
      const Activity active = watched < active_.size() ? active_[watched] : Activity();
      const bool awake =
          active.first <= stretch.seen.front().last && active.last >= stretch.seen.front().first;
      stretch.waits |= !awake;  // the tap's later records may cover that time
      if (awake) {
        factor *= std::max(kAllMissed, std::pow(kOneMissed, static_cast<double>(mirrored)));
      }
    }
  }
  return factor;
}

void PathTracker::Weigh(Stretch& stretch, std::span<const Path> paths, PathInterval& answer) {
  answer.candidates = paths.size();
  stretch.settled = true;
  if (paths.empty()) return;
  uint64_t mirrored = 0;
  for (const Seen& seen : stretch.seen) {
    if ((seen.sources & kFromMirror) != 0) mirrored = std::max(mirrored, seen.packets);
  }
  std::vector<double> weights;
  double sum = 0;
  for (const Path& path : paths) {
    weights.push_back(mirrored > 0 ? Believable(stretch, path, mirrored) : 1);
    sum += weights.back();
  }
  stretch.settled = !stretch.waits && (mirrored == 0 || mirrored >= kMany);
  const auto best = static_cast<size_t>(std::ranges::max_element(weights) - weights.begin());
  answer.path = paths[best];
  answer.probability = weights[best] / sum;
  answer.state = answer.probability >= kCertain          ? PathState::kExact
                 : answer.probability >= options_.likely ? PathState::kLikely
                                                         : PathState::kAmbiguous;
  for (const PortIndex port : paths.front().hops()) {
    const bool in_all = std::ranges::all_of(paths, [&](const Path& path) {
      return std::ranges::find(path.hops(), port) != path.hops().end();
    });
    if (in_all) answer.certain.push_back(port);
  }
}

// Computes how the packets from one tier to the next were distributed over links, from observations
// that identify a single link.
void PathTracker::Spread(std::span<const Seen> all, PathInterval& answer) const {
  const topology::Fabric& fabric = crossings_.fabric();
  const auto tiers = [&](PortIndex port) {
    return std::pair(fabric.node(fabric.port(port).node).tier,
                     fabric.node(fabric.PeerNode(port)).tier);
  };
  std::map<std::pair<topology::Tier, topology::Tier>, uint64_t> of_tiers;
  // A port without a declared link has no endpoints.
  const auto is_port = [&](const Seen& seen) {
    return seen.crossing < fabric.ports().size() &&
           fabric.PeerNode(seen.crossing) != topology::kNone;
  };
  for (const Seen& seen : all) {
    if (is_port(seen)) of_tiers[tiers(seen.crossing)] += seen.packets;
  }
  for (const Seen& seen : all) {
    if (!is_port(seen)) continue;
    const uint64_t sum = of_tiers[tiers(seen.crossing)];
    answer.shares.push_back(
        {.port = seen.crossing,
         .share =
             static_cast<double>(seen.packets) / static_cast<double>(std::max<uint64_t>(sum, 1)),
         .bytes = static_cast<uint32_t>(seen.bytes / std::max<uint64_t>(seen.packets, 1))});
  }
  std::ranges::sort(answer.shares, {}, &PathShare::port);
}

}  // namespace rocescope
