// SPDX-License-Identifier: BSD-3-Clause
// Responses with one PSN, of flows that are in lock step, until it can be said which request each
// of them answers: the first the first one, and so on, if as many requests as responses were seen.
// If the mirror lost any, nothing is said.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "analytics/connection/flow_state.h"
#include "base/hash.h"
#include "base/time.h"

namespace rocescope {

struct AnswerGroup {
  static constexpr size_t kMost = 8;  // as many as RequestIndex has ways

  struct Response {
    uint32_t responder = 0;  // FlowAtTap, of this version
    FlowVersion version;
    Timestamp time;
  };
  uint32_t channel = 0;
  uint32_t psn = 0;
  Timestamp last;
  size_t size = 0;  // 0: the place is free
  bool overflown = false;
  std::array<Response, kMost> responses;
};

// Fixed size: a group that is in another one's place is closed before its time.
class AnswerGroups {
 public:
  // Behind a response the others with its PSN come within this time.
  static constexpr Duration kSettled = std::chrono::microseconds(200);

  AnswerGroups() : groups_(kPlaces) {}

  // `close` takes an AnswerGroup that is complete.
  template <typename Close>
  void Add(uint32_t channel, uint32_t psn, const AnswerGroup::Response& response, Close close) {
    const auto place = static_cast<uint32_t>(Mix64(uint64_t{channel} << 24 | psn) & (kPlaces - 1));
    AnswerGroup& group = groups_[place];
    const bool same =
        group.channel == channel && group.psn == psn && response.time - group.last <= kSettled;
    if (group.size > 0 && !same) CloseGroup(group, close);
    if (group.size == 0) {
      if (count_ == kPlaces) CloseOldest(close);
      group = {.channel = channel, .psn = psn};
      order_[(begin_ + count_++) % kPlaces] = place;
    }
    group.last = response.time;
    if (group.size == AnswerGroup::kMost) {
      group.overflown = true;
    } else {
      group.responses[group.size++] = response;
    }
  }

  // Closes what is complete at `now`, oldest first.
  template <typename Close>
  void Settle(Timestamp now, Close close) {
    while (count_ > 0) {
      const AnswerGroup& group = groups_[order_[begin_]];
      if (group.size > 0 && now - group.last <= kSettled) return;
      CloseOldest(close);
    }
  }

 private:
  static constexpr uint32_t kPlaces = 1u << 14;

  template <typename Close>
  static void CloseGroup(AnswerGroup& group, Close close) {
    if (!group.overflown) close(group);
    group.size = 0;
  }

  // It may have been closed before, for another that needed its place.
  template <typename Close>
  void CloseOldest(Close close) {
    AnswerGroup& group = groups_[order_[begin_]];
    if (group.size > 0) CloseGroup(group, close);
    begin_ = (begin_ + 1) % kPlaces;
    --count_;
  }

  std::vector<AnswerGroup> groups_;
  std::vector<uint32_t> order_ = std::vector<uint32_t>(kPlaces);  // a ring of places, as begun
  uint32_t begin_ = 0;
  uint32_t count_ = 0;
};

}  // namespace rocescope
