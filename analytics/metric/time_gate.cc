// SPDX-License-Identifier: BSD-3-Clause
#include "analytics/metric/time_gate.h"

#include <algorithm>

namespace rocescope {

using topology::kNone;

TimeGate::Verdict TimeGate::Judge(topology::NodeIndex node, Timestamp time) {
  if (first_node_ == kNone) {
    first_node_ = node;
    newest_ = time;
    return Verdict::kNear;
  }
  many_nodes_ |= node != first_node_;
  if (AreNear(time, newest_)) {
    newest_ = std::max(newest_, time);
    return Verdict::kNear;
  }
  const bool are_packets_there = packets_ != Timestamp{} && AreNear(time, packets_);
  if (!many_nodes_ || are_packets_there) {
    newest_ = time;
    return Verdict::kLeaps;
  }
  for (auto at = strangers_.begin(); at != strangers_.end(); ++at) {
    if (!AreNear(time, at->first) && !AreNear(time, at->last)) continue;
    if (at->node != node) {
      newest_ = std::max(time, at->last);
      strangers_.erase(at);
      return Verdict::kLeaps;
    }
    at->first = std::min(at->first, time);
    at->last = std::max(at->last, time);
    return Verdict::kStrange;
  }
  if (strangers_.size() == kMaxStrangers) strangers_.erase(strangers_.begin());
  strangers_.push_back({.node = node, .first = time, .last = time});
  return Verdict::kStrange;
}

bool TimeGate::Advance(Timestamp packets) {
  packets_ = std::max(packets_, packets);
  for (auto at = strangers_.begin(); at != strangers_.end(); ++at) {
    if (!AreNear(packets_, at->first) && !AreNear(packets_, at->last)) continue;
    newest_ = packets_;
    strangers_.erase(at);
    return true;
  }
  return false;
}

}  // namespace rocescope
