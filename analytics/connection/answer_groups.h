// SPDX-License-Identifier: BSD-3-Clause
// Collects responses with the same PSN from flows in lock step, until they can be assigned to
// requests. If the numbers of observed requests and responses are equal, the first response answers
// the first request, and so on. If the mirror lost any of them, the group is ignored.
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
  static constexpr size_t kMost = 8;  // equal to the associativity of RequestIndex

  struct Response {
    uint32_t responder = 0;  // FlowAtTap of this version
    FlowVersion version;
    Timestamp time;
  };
  uint32_t channel = 0;
  uint32_t psn = 0;
  Timestamp last;
  size_t size = 0;  // 0: the slot is free
  bool overflown = false;
  std::array<Response, kMost> responses;
};

// A table of fixed size. A group that needs an occupied slot closes the previous group early.
class AnswerGroups {
 public:
  // After a response, all others with its PSN arrive within this time.
  static constexpr Duration kSettled = std::chrono::microseconds(200);

  AnswerGroups() : groups_(kPlaces) {}

  // Calls `close` with each completed AnswerGroup.
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

  // Closes the groups that are complete at `now`, oldest first.
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

  // The oldest group may already have been closed because another needed its slot.
  template <typename Close>
  void CloseOldest(Close close) {
    AnswerGroup& group = groups_[order_[begin_]];
    if (group.size > 0) CloseGroup(group, close);
    begin_ = (begin_ + 1) % kPlaces;
    --count_;
  }

  std::vector<AnswerGroup> groups_;
  // A ring of slots in order of their groups' first response.
  std::vector<uint32_t> order_ = std::vector<uint32_t>(kPlaces);
  uint32_t begin_ = 0;
  uint32_t count_ = 0;
};

}  // namespace rocescope
