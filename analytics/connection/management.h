// SPDX-License-Identifier: BSD-3-Clause
// ConnectRequests of the communication manager (CM) that wait for a reply.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <unordered_map>

#include "base/address.h"
#include "base/hash.h"
#include "base/qpn.h"
#include "base/segment.h"
#include "dataplane/record/record.h"

namespace rocescope {

class ConnectRequests {
 public:
  explicit ConnectRequests(size_t capacity) : capacity_(capacity) {}

  struct Request {
    Qpn qpn;  // queue pair of the requester
    Timestamp time;
  };

  void Add(const ManagementRecord& request);

  // Returns the request that a ConnectReply answers. The request remains stored, because another
  // tap may show the same reply.
  std::optional<Request> AnsweredBy(const ManagementRecord& reply) const;

  uint64_t dropped() const { return dropped_; }  // evicted by later requests

 private:
  struct Key {
    Segment segment;
    IpAddress requester;
    IpAddress replier;
    uint32_t comm_id;  // communication ID of the requester
    friend bool operator==(const Key&, const Key&) = default;
  };
  struct KeyHash {
    size_t operator()(const Key& key) const {
      return HashUnorderedPair(key.requester, key.replier,
                               uint64_t{key.segment} << 32 | key.comm_id);
    }
  };

  size_t capacity_;
  std::unordered_map<Key, Request, KeyHash> requests_;
  std::deque<Key> order_;
  uint64_t dropped_ = 0;
};

}  // namespace rocescope
