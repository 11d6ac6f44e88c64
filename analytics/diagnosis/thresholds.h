// SPDX-License-Identifier: BSD-3-Clause
// The thresholds by which detectors decide. Each row of the table yields a member of Thresholds, a
// key of the configuration, its range and its help. The defaults are chosen such that simulated
// campaigns (testbeds/campaign) without faults give no findings. If a default has a different
// origin, its row names it. Constants of a statistical model are next to its formula: balance.cc,
// doubt.h, hashing.cc and suspects.cc.
#pragma once

#include <cstdint>
#include <string_view>

namespace rocescope {

// member, type, default, unit, minimum, maximum, help
#define ROCESCOPE_THRESHOLDS(ROW)                                                                  \
  /* All detectors. */                                                                             \
  ROW(quiet_windows, uint32_t, 4, "windows", 1, 64,                                                \
      "A fault is resolved after this many windows without a sign of it.")                         \
  ROW(simultaneous_ratio, double, 1e-6, "fraction of a window", 0, 0.5,                            \
      "Counters whose readings are at most this far apart count as read at the same time. Only "   \
      "in a laboratory are different devices read at the same time.")                              \
  ROW(cause_delay_windows, uint32_t, 2, "windows", 0, 64,                                          \
      "If the first sign of a cause follows the symptom by at most this time, the two "            \
      "are still grouped.")                                                                        \
  ROW(effect_windows, uint32_t, 10, "windows", 1, 64,                                              \
      "Maximum time from the last sign of a cause to the start of a symptom for the two to be "    \
      "grouped.")                                                                                  \
  ROW(vote_confidence, double, 0.9, "probability", 0.01, 1,                                        \
      "Maximum confidence of a finding whose place is inferred only from the paths of the "        \
      "flows that lost packets.")                                                                  \
  /* Links: link_loss, crossed_links, longer_links. */                                             \
  ROW(tolerated_frame_errors, double, 1e-8, "fraction of the frames", 1e-15, 0.1,                  \
      "A link is reported for bit errors if the fraction of its frames with a wrong FCS is "       \
      "certainly larger than this. The default is the ratio from which CorrOpt repairs links "     \
      "(Zhuo et al., SIGCOMM 2017).")                                                              \
  ROW(link_error_false_alarms, double, 0.01, "findings per day", 1e-6, 1000,                       \
      "Maximum mean number of false findings of bit errors in the whole fabric.")                  \
  ROW(shared_mismatch_links, uint32_t, 4, "links", 1, 1000,                                        \
      "If more than this many links between two tiers, and more than half of all links "           \
      "between them, have a counter mismatch, it is not reported as a fault: the devices of "      \
      "the two tiers then count frames differently.")                                              \
  ROW(crossed_link_factor, uint32_t, 10, "times the frames in flight", 2, 1000,                    \
      "Minimum mismatch of a link's counters before its cable is suspected to be swapped, as "     \
      "a multiple of the frames that can be in flight.")                                           \
  ROW(added_latency_ns, uint32_t, 1500, "ns", 100, 1000000,                                        \
      "Minimum increase of a link's delay before added latency is reported. Smaller increases "    \
      "can result from clock resolution and frame transmission times.")                            \
  ROW(clock_resolution_ns, uint32_t, 500, "ns", 0, 1000000,                                        \
      "Resolution of mirror timestamps. An increase of a link's delay is reported only if it "     \
      "is also at least this long plus the transmission time of one full-length frame on each "    \
      "link of the path.")                                                                         \
  ROW(latency_baseline_windows, uint32_t, 3, "windows", 1, 64,                                     \
      "Minimum number of windows that must agree on the minimum delay of a path before it is "     \
      "used as the normal delay.")                                                                 \
  ROW(latency_windows, uint32_t, 2, "windows", 1, 64,                                              \
      "Minimum number of windows with a longer delay before the delay is reported; for slow "      \
      "receivers, one more.")                                                                      \
  ROW(latency_packets, uint32_t, 5, "packets", 1, 10000,                                           \
      "Minimum number of packets with a longer delay before the delay is reported.")               \
  /* Switches: switch_loss, threshold, late_cnps, hashing. */                                      \
  ROW(drained_ratio, double, 0.02, "fraction of the traffic before", 0, 1,                         \
      "A switch that goes down while its neighbours send less than this to it was drained for "    \
      "maintenance, and is not reported.")                                                         \
  ROW(similar_drop_ratio, double, 0.2, "fraction of the traffic before", 0, 1,                     \
      "If the traffic of most switches of a tier falls below this, a switch that carries "         \
      "nothing is not considered drained.")                                                        \
  ROW(drain_baseline_windows, uint32_t, 64, "windows", 1, 256,                                     \
      "Number of windows before a switch goes down. The traffic before is that of the busiest "    \
      "one of them.")                                                                              \
  ROW(queued_frames_uncertainty, double, 0.5, "fraction", 0, 1,                                    \
      "Relative uncertainty of the number of frames in the queues of a switch, which is "          \
      "estimated from the queued bytes. Missing frames within this uncertainty can still be "      \
      "queued, so they are weak evidence of loss.")                                                \
  ROW(early_pause_ratio, double, 0.3, "fraction", 0.01, 1,                                         \
      "A PFC pause is reported as too early if the paused queue holds less than this "             \
      "fraction of what comparable queues hold without a pause. A healthy dynamic "                \
      "threshold can fall to a third of its maximum, with sixteen congested ports and "            \
      "an alpha of 1/8 (Choudhury and Hahne, 1998).")                                              \
  ROW(similar_queue_ratio, double, 0.8, "fraction", 0.1, 1,                                        \
      "Queues are comparable if the shorter one has at least this fraction of the other's bytes.") \
  ROW(similar_queues, uint32_t, 5, "queues", 1, 1000,                                              \
      "Minimum number of comparable queues for judging missing CE marks. If there are fewer, "     \
      "shorter queues are used too.")                                                              \
  ROW(slow_path_ns, uint32_t, 700, "ns", 0, 1000000,                                               \
      "If even the fastest data packet on the same path is delayed by more than this, CNPs do "    \
      "not count as late. The default is the time of two frames of 4 kB at 100 Gb/s.")             \
  ROW(late_cnps, uint32_t, 3, "packets", 1, 10000,                                                 \
      "Minimum number of CNPs that a switch delays before late CNPs are reported.")                \
  ROW(cnps_in_data_queue, uint32_t, 2, "packets", 1, 10000,                                        \
      "Minimum number of CNPs in a data queue, according to INT, before this is reported.")        \
  ROW(data_queue_packets, uint32_t, 20, "packets", 1, 1000000,                                     \
      "Minimum number of data packets in a queue for it to count as a data queue.")                \
  ROW(data_queue_ratio, double, 0.1, "fraction", 0, 1,                                             \
      "Minimum fraction of a switch's data packets in a queue for it to count as a data "          \
      "queue.")                                                                                    \
  ROW(reroute_windows, uint32_t, 2, "windows", 0, 64,                                              \
      "For hash polarisation: for this long after a link comes up again, flows are not "           \
      "expected to use it.")                                                                       \
  ROW(polarisation_evidence, double, 13.8, "natural logarithm", 1, 100,                            \
      "Minimum evidence before hash polarisation is reported: logarithm of its likelihood "        \
      "ratio to independent hashing. 13.8 means a million to one.")                                \
  /* NICs: pause, nic_discards, overload, late_answers, corruption, loss_votes. */                 \
  ROW(nic_discards, uint32_t, 8, "packets", 1, 1'000'000,                                          \
      "A NIC is suspected if it discards this many received packets in a window.")                 \
  ROW(nic_discard_ratio, double, 0.001, "fraction of the received packets", 0, 1,                  \
      "A NIC is suspected if it discards at least this fraction of the packets that it "           \
      "receives.")                                                                                 \
  ROW(pause_ratio, double, 0.02, "fraction of a window", 0, 1,                                     \
      "A NIC that pauses its switch for longer than this is slow. Shorter pauses are normal.")     \
  ROW(blocked_ratio, double, 0.95, "fraction of a window", 0.5, 1,                                 \
      "A queue that is paused for at least this long is blocked.")                                 \
  ROW(storm_throughput_ratio, double, 0.02, "fraction of the line rate", 0, 0.5,                   \
      "A blocked link with a lower throughput than this counts as carrying no traffic. "           \
      "The remaining throughput is frames that were in flight and packets of priorities "          \
      "that are not paused.")                                                                      \
  ROW(deadlock_lead_windows, uint32_t, 10, "windows", 0, 64,                                       \
      "Flows that went down a tier and up again (valley route) up to this long before a "          \
      "deadlock are reported as its cause.")                                                       \
  ROW(control_packet_bytes, uint32_t, 78, "bytes", 1, 9216,                                        \
      "Maximum size of control packets. The default is a CNP with a VLAN tag; ACKs are "           \
      "shorter.")                                                                                  \
  ROW(small_packet_bytes, uint32_t, 256, "bytes", 1, 9216,                                         \
      "Maximum mean packet size of a flow that counts as a flow of ACKs.")                         \
  ROW(warm_up_windows, uint32_t, 3, "windows", 0, 64,                                              \
      "New flows of jobs in this number of windows at the start of the data are normal "           \
      "and not a sign of a fault.")                                                                \
  ROW(congested_link_ratio, double, 0.9, "fraction of the line rate", 0.1, 1,                      \
      "Minimum throughput for a link to count as congested, unless CE marks show congestion "      \
      "earlier.")                                                                                  \
  ROW(incast_senders, uint32_t, 5, "senders", 2, 1000,                                             \
      "Minimum number of senders for an overload to be reported as incast. Fewer senders are "     \
      "reported as noisy neighbours.")                                                             \
  ROW(answer_frames, uint32_t, 3, "frames", 1, 1000,                                               \
      "A response can wait in its NIC for frames that the NIC is already sending. The "            \
      "minimum response time of a NIC must increase by more than the transmission time of "        \
      "this many frames, including the response, before the increase is reported.")                \
  ROW(late_answer_frames, uint32_t, 20, "frames", 1, 10000,                                        \
      "Minimum delay of a NIC's responses, beyond what queues explain, before the NIC is "         \
      "reported as a slow receiver. The unit is the transmission time of a 4 kB frame at "         \
      "line rate. The default of 20 is the time that a NIC with a tenth of the line rate "         \
      "needs for two frames.")                                                                     \
  ROW(slow_host_ratio, double, 0.5, "fraction", 0, 1,                                              \
      "If the minimum delay grows by less than this fraction of the growth of the mean delay, "    \
      "a slow receiver is reported instead of a link with added latency.")                         \
  ROW(corrupt_packets, uint32_t, 5, "packets", 1, 10000,                                           \
      "Minimum number of packets with ICRC errors before a switch or NIC is reported for "         \
      "corrupting packets.")                                                                       \
  ROW(naks, uint32_t, 5, "packets", 1, 10000,                                                      \
      "Minimum number of NAKs before packet loss is located by the paths of the flows that "       \
      "lost packets.")                                                                             \
  ROW(nic_losses, uint32_t, 20, "packets", 1, 1000000,                                             \
      "Minimum number of lost packets that NICs count, and that no port counters explain, "        \
      "before the loss is located by the paths between these NICs.")                               \
  ROW(reordered_packets, uint32_t, 10, "packets", 1, 1000000,                                      \
      "Minimum number of reordered packets, in at least three windows, before a link that "        \
      "reorders packets is reported.")                                                             \
  ROW(least_vote_confidence, double, 0.05, "probability", 0, 1,                                    \
      "Minimum probability of the most likely place of a packet loss before it is reported.")      \
  ROW(bit_error_prior, double, 2.0 / 3, "probability", 0, 1,                                       \
      "Prior probability that a packet loss on a link without error counters is caused by bit "    \
      "errors (Zhuo et al., SIGCOMM 2017).")                                                       \
  ROW(lost_before_tap_ratio, double, 0.5, "fraction", 0, 1,                                        \
      "If the number of out-of-order packets at a tap is at least this fraction of the "           \
      "number of NAKs, these packets count as retransmissions after a loss upstream of the "       \
      "tap.")                                                                                      \
  ROW(lost_behind_tap_ratio, double, 0.1, "fraction", 0, 1,                                        \
      "If the number of out-of-order packets at a tap is at most this fraction of the "            \
      "number of NAKs, the packets were lost downstream of the tap.")                              \
  /* GPUs: straggler. */                                                                           \
  ROW(slow_clock_ratio, double, 0.85, "fraction", 0.1, 1,                                          \
      "A GPU is reported as a straggler if its clock is below this fraction of its peers' "        \
      "clock. Boost clocks of healthy GPUs differ by less.")                                       \
  ROW(slow_clock_windows, uint32_t, 2, "windows", 1, 64,                                           \
      "Minimum number of consecutive windows with a low clock. A GPU that a job has just "         \
      "reserved can be idle for a moment.")                                                        \
  ROW(clock_peers, uint32_t, 3, "GPUs", 2, 1000,                                                   \
      "Minimum number of comparable GPUs for their usual clock to be known.")                      \
  ROW(idle_memory_ratio, double, 0.9, "fraction", 0, 1,                                            \
      "A GPU with at least this fraction of its memory free counts as idle and is not "            \
      "compared with other GPUs.")

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
