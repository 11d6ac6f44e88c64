// SPDX-License-Identifier: BSD-3-Clause
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>

#include "analytics/diagnosis/detectors.h"
#include "analytics/diagnosis/doubt.h"
#include "base/count_text.h"

namespace rocescope {
namespace {

using topology::kNone;
using topology::LinkIndex;
using topology::NodeIndex;
using topology::PortIndex;

// What the windows say of one link.
struct LinkStory {
  size_t first = 0;              // windows from the first sign
  size_t behind = 0;             // to behind the last one
  uint64_t times = 0;            // that it went down, by the end that saw more
  std::optional<size_t> second;  // window in which it did so for the second time
  bool any = false;
  bool was_up = false;  // ever, as an end says
  bool is_told = false;
};

// How often it went down in each window, as an end counts it, and as its readings show.
void AddFalls(const Row& falls, LinkStory& story) {
  uint64_t times = 0;
  for (size_t i = 0; i < falls.size(); ++i) {
    if (falls[i] == 0) continue;
    times += falls[i];
    if (times < 2 || times - falls[i] >= 2) continue;
    story.second = std::min(story.second.value_or(i), i);
  }
  story.times = std::max(story.times, times);
}

Row FallsOf(const Row& up) {
  Row falls(up.size());
  for (size_t i = 1; i < up.size(); ++i) falls[i] = up[i - 1] != 0 && up[i] == 0;
  return falls;
}

LinkStory StoryOf(const Scene& scene, LinkIndex index) {
  LinkStory story;
  // An end says so at the window's end, or went down in it.
  std::vector<bool> down(scene.windows());
  for (const PortIndex port : scene.fabric().link(index).ends) {
    const Entity entity = scene.EntityOf(port);
    const Row flaps = scene.Growth(entity, Metric::kLinkFlaps);
    const Row up = scene.Levels(entity, Metric::kLinkUp);
    const MetricSeries* told = scene.parts().metrics.Find(entity, Metric::kLinkUp);
    // One that was never up is a cable that is not there: cabling tells of it.
    const bool ever = told != nullptr && told->was_ever_nonzero();
    story.is_told |= told != nullptr;
    story.was_up |= ever;
    for (size_t i = 0; i < scene.windows(); ++i) {
      if (flaps[i] > 0 || (ever && !up.empty() && up[i] == 0)) down[i] = true;
    }
    AddFalls(flaps, story);
    if (ever) AddFalls(FallsOf(up), story);
  }
  for (size_t i = 0; i < scene.windows(); ++i) {
    if (!down[i]) continue;
    if (!story.any) story.first = i;
    story.any = true;
    story.behind = i + 1;
  }
  return story;
}

std::optional<Timestamp> EndOfTrouble(const Scene& scene, size_t behind) {
  if (behind >= scene.windows()) return std::nullopt;
  return scene.EndOf(behind - 1);
}

// Whoever is gone tells nothing, while the other end says that the link is down.
bool IsSilent(const Scene& scene, topology::NicIndex nic, const LinkStory& story) {
  const Entity entity{.kind = EntityKind::kNic, .index = nic};
  const Row up = scene.Levels(scene.EntityOf(scene.fabric().Peer(scene.fabric().nic(nic).port)),
                              Metric::kLinkUp);
  bool looked = false;
  for (size_t i = story.first; i < story.behind && i < up.size(); ++i) {
    if (up[i] != 0) continue;
    if (scene.HasReading(entity, Metric::kLinkUp, i)) return false;
    looked = true;
  }
  return looked;
}

Finding OfStory(const Scene& scene, const LinkStory& story, FindingKind kind, Place place) {
  return {.kind = kind,
          .place = place,
          .from = scene.BeginOf(story.first),
          .until = EndOfTrouble(scene, story.behind),
          .verdict = scene.EndOf(story.first)};
}

// All cables of the node went down in one window or two.
bool IsGone(const Scene& scene, NodeIndex node, const std::vector<LinkStory>& stories,
            size_t& links, LinkStory& whole) {
  links = 0;
  std::vector<PortIndex> untold;
  for (const topology::Port& port : scene.fabric().PortsOf(node)) {
    if (port.link == kNone) continue;
    const LinkStory& story = stories[port.link];
    const auto own = static_cast<PortIndex>(&port - scene.fabric().ports().data());
    // Of a link whose other end tells nothing there is only the word of whoever is gone.
    if (!story.any && !scene.Tells(scene.EntityOf(scene.fabric().Peer(own)), Metric::kLinkUp)) {
      untold.push_back(own);
      continue;
    }
    // A cable that is declared and not there.
    if (!story.any && story.is_told && !story.was_up) continue;
    if (!story.any || story.second) return false;
    if (links++ == 0) {
      whole = story;
      continue;
    }
    const auto [low, high] = std::minmax(whole.first, story.first);
    if (high - low > 1) return false;
    whole.first = low;
    whole.behind = std::max(whole.behind, story.behind);
  }
  if (links < 2) return false;
  return std::ranges::none_of(untold, [&](PortIndex port) {
    return scene.HasReading(scene.EntityOf(port), Metric::kLinkUp, whole.first);
  });
}

void DetectSpeed(const Scene& scene, LinkIndex index, Findings& found) {
  const topology::Link& link = scene.fabric().link(index);
  std::array<bool, 2> slow{};
  size_t first = scene.windows();
  size_t behind = 0;
  uint64_t least = link.bits_per_second;
  for (size_t end = 0; end < 2; ++end) {
    const Row speed = scene.Levels(scene.EntityOf(link.ends[end]), Metric::kLinkSpeed);
    for (size_t i = 0; i < speed.size(); ++i) {
      if (speed[i] == 0 || speed[i] >= link.bits_per_second) continue;
      slow[end] = true;
      first = std::min(first, i);
      behind = std::max(behind, i + 1);
      least = std::min(least, speed[i]);
    }
  }
  if (!slow[0] && !slow[1]) return;
  Finding finding = {.kind = FindingKind::kDegradedRate,
                     .place = {.kind = PlaceKind::kLink,
                               .index = index,
                               .sender = slow[0] == slow[1] ? kNone : link.ends[slow[0] ? 0 : 1]},
                     .confidence = 0.99,
                     .from = scene.BeginOf(first),
                     .until = EndOfTrouble(scene, behind),
                     .verdict = scene.EndOf(first)};
  finding.evidence.push_back(fmt::format("its port says {:.1f} Gb/s, and the topology {:.0f}",
                                         static_cast<double>(least) / 1e9,
                                         static_cast<double>(link.bits_per_second) / 1e9));
  found.push_back(std::move(finding));
}

// As down, at the end of a window.
bool WasRead(const Scene& scene, LinkIndex index, const LinkStory& story) {
  return std::ranges::any_of(scene.fabric().link(index).ends, [&](PortIndex port) {
    const Row up = scene.Levels(scene.EntityOf(port), Metric::kLinkUp);
    if (up.empty()) return true;  // it does not tell
    return std::any_of(up.begin() + static_cast<ptrdiff_t>(story.first),
                       up.begin() + static_cast<ptrdiff_t>(story.behind),
                       [](uint64_t value) { return value == 0; });
  });
}

void DetectOneLink(const Scene& scene, LinkIndex index, const LinkStory& story, Findings& found) {
  const Place place{.kind = PlaceKind::kLink, .index = index};
  if (story.second) {
    Finding finding = OfStory(scene, story, FindingKind::kFlap, place);
    finding.verdict = scene.EndOf(*story.second);
    finding.confidence = 0.99;
    finding.evidence.push_back(fmt::format("it went down {}", Counted(story.times, "time")));
    found.push_back(std::move(finding));
    return;
  }
  Finding finding = OfStory(scene, story, FindingKind::kLinkDown, place);
  finding.evidence.push_back("by one of its ends or both it went down, once");
  // Up at every reading it was down for a moment, or an end has miscounted.
  finding.confidence = WasRead(scene, index, story) ? 0.98 : ConfidenceFromCount(1, 0.98);
  for (const PortIndex port : scene.fabric().link(index).ends) {
    const topology::NicIndex nic = scene.fabric().NicOf(port);
    if (nic == kNone) continue;
    const Place at_nic{.kind = PlaceKind::kNic, .index = nic};
    const Entity entity{.kind = EntityKind::kNic, .index = nic};
    if (!scene.Tells(entity, Metric::kLinkUp)) {
      // The switch sees the same of both; cables and transceivers fail more often.
      finding.confidence = 0.6;
      finding.alternatives.push_back(
          {.kind = FindingKind::kNicCrash, .place = at_nic, .probability = 0.4});
      finding.further.push_back("the NIC's own counters: a dead one tells nothing");
    } else if (IsSilent(scene, nic, story)) {
      finding.kind = FindingKind::kNicCrash;
      finding.place = at_nic;
      finding.confidence = 0.95;
      finding.evidence.push_back("the NIC tells nothing any more, and others do");
    }
  }
  found.push_back(std::move(finding));
}

}  // namespace

void DetectLinkState(const Scene& scene, Findings& found) {
  const topology::Fabric& fabric = scene.fabric();
  std::vector<LinkStory> stories;
  for (LinkIndex link = 0; link < fabric.links().size(); ++link) {
    stories.push_back(StoryOf(scene, link));
    DetectSpeed(scene, link, found);
  }
  std::vector<bool> explained(stories.size());
  for (NodeIndex node = 0; node < fabric.nodes().size(); ++node) {
    if (!fabric.node(node).IsSwitch()) continue;
    size_t links = 0;
    LinkStory whole;
    if (!IsGone(scene, node, stories, links, whole)) continue;
    Finding finding = OfStory(scene, whole, FindingKind::kSwitchCrash,
                              {.kind = PlaceKind::kSwitch, .index = node});
    finding.confidence = 0.99;
    finding.evidence.push_back(
        fmt::format("all of its {} went down at once", Counted(links, "link")));
    for (const topology::Port& port : fabric.PortsOf(node)) {
      if (port.link != kNone) explained[port.link] = true;
    }
    found.push_back(std::move(finding));
  }
  for (LinkIndex link = 0; link < stories.size(); ++link) {
    if (stories[link].any && !explained[link]) DetectOneLink(scene, link, stories[link], found);
  }
}

}  // namespace rocescope
