// SPDX-License-Identifier: BSD-3-Clause
// Queue of the requests of all clients. The clients take turns, regardless of how many connections
// and requests each of them has.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <string>
#include <utility>

namespace rocescope {

// Not thread-safe.
class FairQueue {
 public:
  // While more than `max_unsent` bytes of responses to a peer are unsent, its other requests wait.
  explicit FairQueue(uint64_t max_unsent) : max_unsent_(max_unsent) {}

  void Add(const std::string& peer, std::function<void()> handle) {
    peers_[peer].waiting.push_back(std::move(handle));
  }

  // Takes the next request: the oldest one of the next peer that may be served. Null if there is
  // none.
  std::function<void()> Next() {
    auto at = peers_.upper_bound(last_);
    for (size_t i = 0; i < peers_.size(); ++i, ++at) {
      if (at == peers_.end()) at = peers_.begin();
      auto& [name, peer] = *at;
      if (peer.waiting.empty() || peer.unsent > max_unsent_) continue;
      std::function<void()> handle = std::move(peer.waiting.front());
      peer.waiting.pop_front();
      last_ = name;
      EraseIfIdle(at);
      return handle;
    }
    return nullptr;
  }

  // Must be followed by Sent with the same size.
  void Sending(const std::string& peer, uint64_t bytes) { peers_[peer].unsent += bytes; }
  void Sent(const std::string& peer, uint64_t bytes) {
    const auto at = peers_.find(peer);
    if (at == peers_.end()) return;  // nothing was unsent, or Clear was called
    at->second.unsent -= bytes;
    EraseIfIdle(at);
  }

  // Forgets everything. The functions that it destroys may call Sent.
  void Clear() { const Peers forgotten = std::exchange(peers_, {}); }

 private:
  struct Peer {
    std::deque<std::function<void()>> waiting;
    uint64_t unsent = 0;  // bytes
  };
  using Peers = std::map<std::string, Peer>;

  void EraseIfIdle(Peers::iterator at) {
    if (at->second.waiting.empty() && at->second.unsent == 0) peers_.erase(at);
  }

  const uint64_t max_unsent_;
  Peers peers_;
  std::string last_;  // peer of the last request
};

}  // namespace rocescope
