// SPDX-License-Identifier: BSD-3-Clause
// One function for each thing that can be looked for. Each adds what it suspects, without regard to
// the others: diagnose.h weighs them.
#pragma once

#include "analytics/diagnosis/finding.h"
#include "analytics/diagnosis/scene.h"

namespace rocescope {

// Links that are down, flap or are slow, by what both ends say of them; switches and NICs of which
// nothing is up. link_state.cc
void DetectLinkState(const Scene& scene, Findings& found);

// Frames that a link's one end sent and the other did not get, or got broken. link_loss.cc
void DetectLinkLoss(const Scene& scene, Findings& found);

// Two links whose ends sent and received as if their cables were exchanged. crossed_links.cc
void DetectCrossedLinks(const Scene& scene, Findings& found);

// Frames that went into a switch and did not come out, though it counts no drop; frames that it
// finds too long. switch_loss.cc
void DetectSwitchLoss(const Scene& scene, Findings& found);

// Packets that NICs find damaged though their frames were whole. corruption.cc
void DetectCorruption(const Scene& scene, Findings& found);

// Packets that receivers refused though nobody counts a loss: where NICs tell nothing.
// loss_votes.cc
void DetectUncountedLoss(const Scene& scene, Findings& found);

// NICs that pause their switch, and ports that wait for each other in a loop. pause.cc
void DetectPauses(const Scene& scene, Findings& found);

// Switches that pause or mark at other fillings than the rest. threshold.cc
void DetectThresholds(const Scene& scene, Findings& found);

// NICs that get too much, from senders that were not there before. overload.cc
void DetectOverload(const Scene& scene, Findings& found);

// Links that take longer than before. longer_links.cc
void DetectLongerLinks(const Scene& scene, Findings& found);

// NICs that answer later than before, or their links. late_answers.cc
void DetectLateAnswers(const Scene& scene, Findings& found);

// Switches whose congestion notifications wait behind data. late_notices.cc
void DetectLateNotices(const Scene& scene, Findings& found);

// Switches that send what belongs together by one link. hashing.cc
void DetectHashing(const Scene& scene, Findings& found);

// GPUs that others wait for. straggler.cc
void DetectStragglers(const Scene& scene, Findings& found);

// Cables that are not where they were declared. cables.cc
void DetectCables(const Scene& scene, Findings& found);

}  // namespace rocescope
