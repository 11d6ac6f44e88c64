// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <map>

#include "analytics/job/qp_peer.h"

namespace rocescope {
namespace {

struct Event {
  size_t line = 0;
  bool is_ece = false;
  size_t index = 0;  // index into queue_pairs or ece

  friend constexpr auto operator<=>(const Event&, const Event&) = default;
};

// A thread prints all queue pairs of a connection, waits for the peer, and then prints one set_ece
// line for each. Several connections may wait at the same time, and peers answer in any order: then
// nothing is certain until all have answered.
class Pairing {
 public:
  Pairing(const NcclProcess& process, std::span<const size_t> connection_size,
          std::vector<std::optional<Qpn>>& remote)
      : process_(process), connection_size_(connection_size), remote_(remote) {}

  void Run(const std::vector<Event>& events) {
    for (size_t i = 0; i < events.size();) {
      if (!events[i].is_ece) {
        waiting_.push_back(events[i++].index);
        continue;
      }
      const size_t first = i;
      while (i < events.size() && events[i].is_ece) ++i;
      Answer(std::span(events).subspan(first, i - first));
    }
  }

 private:
  void Answer(std::span<const Event> answers) {
    const bool is_one_connection = doubtful_ == 0 && answers.size() == waiting_.size() &&
                                   connection_size_[waiting_.front()] == waiting_.size();
    if (is_one_connection) {
      for (size_t i = 0; i < answers.size(); ++i) {
        const NcclEce& ece = process_.ece[answers[i].index];
        const NcclQueuePair& queue_pair = process_.queue_pairs[waiting_[i]];
        if (ece.ib_device == queue_pair.ib_device) remote_[waiting_[i]] = ece.qpn;
      }
    }
    const size_t open = doubtful_ + waiting_.size();
    doubtful_ = open > answers.size() ? open - answers.size() : 0;
    waiting_.clear();
  }

  const NcclProcess& process_;
  std::span<const size_t> connection_size_;
  std::vector<std::optional<Qpn>>& remote_;
  std::vector<size_t> waiting_;
  size_t doubtful_ = 0;  // number of waiting queue pairs whose connection is unknown
};

}  // namespace

std::vector<std::optional<Qpn>> RemoteQpnsFromEce(const NcclProcess& process,
                                                  std::span<const size_t> connection_size) {
  std::map<uint64_t, std::vector<Event>> events_of_thread;
  for (size_t i = 0; i < process.queue_pairs.size(); ++i) {
    const NcclQueuePair& queue_pair = process.queue_pairs[i];
    if (!queue_pair.ece_inline) continue;
    events_of_thread[queue_pair.thread_id].push_back({.line = queue_pair.line, .index = i});
  }
  for (size_t i = 0; i < process.ece.size(); ++i) {
    const NcclEce& ece = process.ece[i];
    if (!ece.is_remote) continue;
    events_of_thread[ece.thread_id].push_back({.line = ece.line, .is_ece = true, .index = i});
  }
  std::vector<std::optional<Qpn>> remote(process.queue_pairs.size());
  for (auto& [thread, events] : events_of_thread) {
    std::ranges::sort(events);
    Pairing(process, connection_size, remote).Run(events);
  }
  return remote;
}

}  // namespace rocescope
