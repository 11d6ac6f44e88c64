// SPDX-License-Identifier: BSD-3-Clause
// Counters of a NIC. Each row has the name and the description of a counter. Counters that mlx5
// also has have the names of its hw_counters.
#pragma once

#include <cstdint>

namespace rocescope::endpoint {

#define ROCESCOPE_ENDPOINT_COUNTERS(ROW)                                                    \
  ROW(sent_packets, "RoCEv2 packets sent, including ACKs, NAKs and CNPs")                   \
  ROW(received_packets, "RoCEv2 packets received and accepted")                             \
  ROW(retransmitted_packets, "retransmitted request packets")                               \
  ROW(naks_sent, "NAKs sent for a PSN sequence error")                                      \
  ROW(rx_write_requests, "RDMA WRITE requests received")                                    \
  ROW(out_of_sequence, "request packets received out of sequence")                          \
  ROW(duplicate_request, "duplicate request packets received")                              \
  ROW(packet_seq_err, "NAKs received for a PSN sequence error")                             \
  ROW(local_ack_timeout_err, "ACK timeouts")                                                \
  ROW(req_transport_retries_exceeded, "queue pairs that failed after the last retry")       \
  ROW(req_remote_invalid_request, "queue pairs that failed because of another kind of NAK") \
  ROW(np_ecn_marked_roce_packets, "request packets received with a CE mark")                \
  ROW(np_cnp_sent, "CNPs sent")                                                             \
  ROW(rp_cnp_handled, "CNPs received and handled")                                          \
  ROW(rx_icrc_encapsulated, "packets dropped because of a wrong iCRC")                      \
  ROW(connecting_packets, "request packets repeated before the first answer of the peer")   \
  ROW(rx_malformed, "packets dropped because their lengths or headers are inconsistent")    \
  ROW(rx_unknown_queue_pair, "packets dropped because no queue pair has their number")      \
  ROW(tx_errors, "packets that the interface did not accept")                               \
  ROW(rx_socket_drops, "frames dropped because the socket's receive buffer was full")

struct Counters {
#define ROW(name, description) uint64_t name = 0;
  ROCESCOPE_ENDPOINT_COUNTERS(ROW)
#undef ROW
};

}  // namespace rocescope::endpoint
