// SPDX-License-Identifier: BSD-3-Clause
// The thresholds by which detectors decide. Each row of the table yields a member of Thresholds, a
// key of the configuration, its range and its help. The defaults are chosen such that simulated
// campaigns (testbeds/campaign) without faults give no findings; a row names its source if it has
// another one. Constants of a statistical model are next to its formula: balance.cc, doubt.h,
// hashing.cc and suspects.cc.
#pragma once

#include <cstdint>
#include <string_view>

namespace rocescope {

// member, type, default, unit, minimum, maximum, help
#define ROCESCOPE_THRESHOLDS(ROW)                                                                  \
  /* All detectors. */                                                                             \
  ROW(quiet_windows, uint32_t, 4, "windows", 1, 64,                                                \
      "A fault is resolved after this many windows without a sign of it.")                         \
  ROW(simultaneous_ratio, double, 0.01, "fraction of a window", 0, 0.5,                            \
      "Counters whose readings are at most this far apart count as read at the same time.")        \
  ROW(cause_delay_windows, uint32_t, 2, "windows", 0, 64,                                          \
      "A cause may become visible this much later than its symptom.")                              \
  ROW(effect_windows, uint32_t, 10, "windows", 1, 64,                                              \
      "A symptom may start this long after the last sign of its cause.")                           \
  ROW(vote_confidence, double, 0.9, "probability", 0.01, 1,                                        \
      "Upper limit for the confidence of a place that is inferred from who lost packets.")         \
  /* Links: link_loss, crossed_links, longer_links. */                                             \
  ROW(shared_mismatch_links, uint32_t, 4, "links", 1, 1000,                                        \
      "If more links between two tiers, and over half of them, show the same mismatch of "         \
      "counters, their devices count differently and it is not a fault.")                          \
  ROW(crossed_link_factor, uint32_t, 10, "times the frames in flight", 2, 1000,                    \
      "Mismatch of a link's counters from which its cable may be swapped.")                        \
  ROW(added_latency_ns, uint32_t, 1500, "ns", 100, 1000000,                                        \
      "Least increase of a link's delay. Smaller ones are within clock resolution and frame "      \
      "lengths.")                                                                                  \
  ROW(clock_resolution_ns, uint32_t, 500, "ns", 0, 1000000,                                        \
      "Resolution of the clocks of mirrors, added to the time of a frame on each link.")           \
  ROW(latency_baseline_windows, uint32_t, 3, "windows", 1, 64,                                     \
      "Windows that have to agree on the least delay of a path.")                                  \
  ROW(latency_windows, uint32_t, 2, "windows", 1, 64, "Windows that have to show a longer delay.") \
  ROW(latency_packets, uint32_t, 5, "packets", 1, 10000,                                           \
      "Packets that have to show a longer delay.")                                                 \
  /* Switches: switch_loss, threshold, late_cnps, hashing. */                                      \
  ROW(queued_frames_uncertainty, double, 0.5, "fraction", 0, 1,                                    \
      "Uncertainty of the number of queued frames, which is computed from queued bytes.")          \
  ROW(early_pause_ratio, double, 0.3, "fraction", 0.01, 1,                                         \
      "A pause is too early below this fraction of what other switches buffer without a pause. "   \
      "A dynamic threshold falls to a third with sixteen congested ports at an alpha of 1/8 "      \
      "(Choudhury and Hahne, 1998).")                                                              \
  ROW(similar_queue_ratio, double, 0.8, "fraction", 0.1, 1,                                        \
      "Queues are comparable if the shorter one has at least this fraction of the other's bytes.") \
  ROW(similar_queues, uint32_t, 5, "queues", 1, 1000,                                              \
      "Comparable queues that are needed to judge missing CE marks; else shorter ones count too.") \
  ROW(slow_path_ns, uint32_t, 700, "ns", 0, 1000000,                                               \
      "CNPs are not late if data take this much longer on the same path: two frames of 4 kB at "   \
      "100 Gb/s.")                                                                                 \
  ROW(late_cnps, uint32_t, 3, "packets", 1, 10000, "CNPs of a switch that have to be late.")       \
  ROW(cnps_in_data_queue, uint32_t, 2, "packets", 1, 10000,                                        \
      "CNPs that INT has to report in a queue of data packets.")                                   \
  ROW(data_queue_packets, uint32_t, 20, "packets", 1, 1000000,                                     \
      "Data packets from which a queue counts as a queue of data.")                                \
  ROW(data_queue_ratio, double, 0.1, "fraction", 0, 1,                                             \
      "Fraction of a switch's data packets from which a queue counts as a queue of data.")         \
  ROW(reroute_windows, uint32_t, 2, "windows", 0, 64,                                              \
      "Routes recover up to this long after a link comes up again.")                               \
  ROW(polarisation_evidence, double, 13.8, "natural logarithm", 1, 100,                            \
      "Evidence for hash polarisation: 13.8 is a chance of one in a million.")                     \
  /* NICs: pause, overload, late_answers, corruption, loss_votes. */                               \
  ROW(pause_ratio, double, 0.02, "fraction of a window", 0, 1,                                     \
      "A NIC that pauses its switch for longer than this is slow. Shorter pauses are normal.")     \
  ROW(blocked_ratio, double, 0.95, "fraction of a window", 0.5, 1,                                 \
      "A queue that is paused for at least this long is blocked.")                                 \
  ROW(storm_throughput_ratio, double, 0.02, "fraction of the line rate", 0, 0.5,                   \
      "Throughput below which a blocked link carries no traffic. What remains are the frames "     \
      "that were in flight, and packets that need no credit.")                                     \
  ROW(deadlock_lead_windows, uint32_t, 10, "windows", 0, 64,                                       \
      "Flows that took a valley route up to this long before a deadlock belong to its cause.")     \
  ROW(control_packet_bytes, uint32_t, 78, "bytes", 1, 9216,                                        \
      "Largest control packet: a CNP with a VLAN tag. ACKs are shorter.")                          \
  ROW(small_packet_bytes, uint32_t, 256, "bytes", 1, 9216,                                         \
      "Mean packet size up to which a flow counts as a flow of ACKs.")                             \
  ROW(warm_up_windows, uint32_t, 3, "windows", 0, 64,                                              \
      "Windows at the start in which new flows of jobs are expected.")                             \
  ROW(congested_link_ratio, double, 0.9, "fraction of the line rate", 0.1, 1,                      \
      "Throughput from which a link counts as congested, unless CE marks show it earlier.")        \
  ROW(incast_senders, uint32_t, 5, "senders", 2, 1000,                                             \
      "Senders from which an overload is an incast; fewer senders are noisy neighbours.")          \
  ROW(answer_frames, uint32_t, 3, "frames", 1, 1000,                                               \
      "Frames that an immediate response may wait for, itself included.")                          \
  ROW(late_answer_frames, uint32_t, 20, "frames", 1, 10000,                                        \
      "Response time of a slow receiver: twice the time of a frame at a tenth of the line rate.")  \
  ROW(slow_host_ratio, double, 0.5, "fraction", 0, 1,                                              \
      "If the least delay grows by less than this fraction of the mean delay, the host is slow, "  \
      "and not its link longer.")                                                                  \
  ROW(corrupt_packets, uint32_t, 5, "packets", 1, 10000,                                           \
      "ICRC errors from which a switch or NIC corrupts packets.")                                  \
  ROW(naks, uint32_t, 5, "packets", 1, 10000, "NAKs from which packet loss is located by votes.")  \
  ROW(least_vote_confidence, double, 0.05, "probability", 0, 1,                                    \
      "Votes that leave every place less likely than this give no finding.")                       \
  ROW(bit_error_prior, double, 2.0 / 3, "probability", 0, 1,                                       \
      "Share of bit errors among losses on links that no counter shows (Zhuo et al., SIGCOMM "     \
      "2017).")                                                                                    \
  ROW(lost_before_tap_ratio, double, 0.5, "fraction", 0, 1,                                        \
      "If a tap sees at least this fraction of the lost packets out of order, they were lost "     \
      "before it.")                                                                                \
  ROW(lost_behind_tap_ratio, double, 0.1, "fraction", 0, 1,                                        \
      "If a tap sees at most this fraction of the lost packets out of order, they were lost "      \
      "behind it.")                                                                                \
  /* GPUs: straggler. */                                                                           \
  ROW(slow_clock_ratio, double, 0.85, "fraction", 0.1, 1,                                          \
      "A GPU is a straggler below this fraction of its peers' clock. Boost clocks of healthy "     \
      "GPUs differ by less.")                                                                      \
  ROW(clock_peers, uint32_t, 3, "GPUs", 2, 1000, "GPUs that are needed to know the usual clock.")  \
  ROW(idle_memory_ratio, double, 0.9, "fraction", 0, 1,                                            \
      "A GPU with at least this fraction of its memory free is idle.")

struct Thresholds {
#define ROW(member, type, value, unit, minimum, maximum, help) type member = value;
  ROCESCOPE_THRESHOLDS(ROW)
#undef ROW

  friend bool operator==(const Thresholds&, const Thresholds&) = default;
};

// Calls visit(name, member, unit, minimum, maximum, help) for each threshold, in the table's order.
// The member is a reference, so that the visitor can read or change it.
template <typename AnyThresholds, typename Visit>
constexpr void VisitThresholds(AnyThresholds& thresholds, Visit visit) {
#define ROW(member, type, value, unit, minimum, maximum, help)                \
  visit(std::string_view(#member), thresholds.member, std::string_view(unit), \
        static_cast<type>(minimum), static_cast<type>(maximum), std::string_view(help));
  ROCESCOPE_THRESHOLDS(ROW)
#undef ROW
}

}  // namespace rocescope
