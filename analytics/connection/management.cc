// SPDX-License-Identifier: BSD-3-Clause
#include "analytics/connection/management.h"

namespace rocescope {

void ConnectRequests::Add(const ManagementRecord& request) {
  const Key key{.segment = request.segment,
                .requester = request.source,
                .replier = request.destination,
                .comm_id = request.message.local_comm_id};
  const Request value{.qpn = request.message.local_qpn, .time = request.event_time};
  if (!requests_.insert_or_assign(key, value).second) return;
  order_.push_back(key);
  if (order_.size() <= capacity_) return;
  dropped_ += requests_.erase(order_.front());
  order_.pop_front();
}

std::optional<ConnectRequests::Request> ConnectRequests::AnsweredBy(
    const ManagementRecord& reply) const {
  const auto found = requests_.find({.segment = reply.segment,
                                     .requester = reply.destination,
                                     .replier = reply.source,
                                     .comm_id = reply.message.remote_comm_id});
  if (found == requests_.end()) return std::nullopt;
  return found->second;
}

}  // namespace rocescope
