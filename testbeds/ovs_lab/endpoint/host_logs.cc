// SPDX-License-Identifier: BSD-3-Clause
#include "testbeds/ovs_lab/endpoint/host_logs.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "base/address.h"
#include "base/hash.h"

namespace rocescope::endpoint {
namespace {

constexpr int kFirstWithSplits = 18;  // release of NCCL that has ncclCommSplit

// As in the simulator: the first process of a job on a host, and the next one for each GPU.
uint32_t ProcessOf(const LabPlan& plan, const JobOptions& job, uint32_t gpu_number) {
  constexpr uint32_t kFirstProcess = 40'000;
  constexpr uint32_t kMostJobs = 40'000;  // process numbers of Linux end at 2^22
  constexpr uint32_t kGpusOfAHost = 16;
  return kFirstProcess + static_cast<uint32_t>(job.id % kMostJobs) * 100 + gpu_number +
         plan.start_number % 5 * kGpusOfAHost;
}

std::string_view HostName(std::string_view name) { return name.substr(0, name.find('.')); }

// The socket of the peer's bootstrap, whose port is unknown.
std::string PeerText(const topology::Fabric& fabric, topology::NicIndex nic) {
  constexpr uint32_t kPort = 43'210;
  return fmt::format("{}<{}>", ToString(fabric.nic(nic).addresses[0].address), kPort);
}

std::string CompletionText(int minor, const std::string& peer, const std::string& local,
                           const std::string& remote, const std::string& device,
                           FailureCause cause) {
  const bool retries = cause == FailureCause::kRetriesExceeded;
  const int status = retries ? 12 : 9;  // enum ibv_wc_status
  // Vendor syndromes of mlx5: transport retry counter exceeded, remote invalid request.
  const int vendor = retries ? 129 : 137;
  if (minor < 20) {
    return fmt::format(
        "NET/IB : Got completion from peer {} with error {}, opcode 0, len 0, vendor err {} (Send) "
        "localGid {} remoteGid {}",
        peer, status, vendor, local, remote);
  }
  if (minor < 30) {
    return fmt::format(
        "NET/IB : Got completion from peer {} with status={} opcode=0 len=0 vendor err {} (Send) "
        "localGid {} remoteGids{}{}",
        peer, status, vendor, local, remote, minor < 22 ? "" : " hca " + device);
  }
  return fmt::format(
      "NET/IB: Got completion from peer {} with status={}({}) opcode=IBV_WC_SEND(0) len=0 "
      "vendor_err={} localGid {} remoteGids{} hca {}",
      peer, retries ? "IBV_WC_RETRY_EXC_ERR" : "IBV_WC_REM_INV_REQ_ERR", status, vendor, local,
      remote, device);
}

}  // namespace

// Creates one communicator for each group of a phase. The group of all ranks uses the job's
// communicator; other groups are splits of it or, before NCCL 2.18, independent communicators.
sim::LoggedJob Describe(const LabPlan& plan, const JobPlan& job, Timestamp start) {
  const topology::Fabric& fabric = *plan.fabric;
  sim::LoggedJob logged = {
      .id = job.options.id, .name = job.options.name, .start = start, .mtu = plan.transport.mtu};
  std::map<topology::NodeIndex, uint32_t> devices;  // number of GPUs of the job on each host
  for (const topology::GpuIndex index : job.options.gpus) {
    const topology::Gpu& gpu = fabric.gpu(index);
    logged.ranks.push_back({.gpu = index,
                            .process_id = ProcessOf(plan, job.options, gpu.number),
                            .cuda_device = devices[gpu.host]++,
                            .nvml_device = gpu.number});
  }
  const uint64_t seed = HashCombine(job.seed, plan.start_number);
  std::vector<uint32_t> everyone(logged.ranks.size());
  for (uint32_t rank = 0; rank < everyone.size(); ++rank) everyone[rank] = rank;
  logged.communicators.push_back({.id = Mix64(seed), .ranks = everyone});
  std::map<std::vector<uint32_t>, uint32_t> known = {{everyone, 0}};
  std::vector<uint32_t> of_group;
  for (const Group& group : job.groups) {
    const auto [at, fresh] =
        known.try_emplace(group.members, static_cast<uint32_t>(logged.communicators.size()));
    of_group.push_back(at->second);
    if (!fresh) continue;
    sim::LoggedCommunicator communicator = {.id = Mix64(HashCombine(seed, at->second)),
                                            .ranks = group.members,
                                            .color = static_cast<int>(group.number)};
    if (plan.nccl.minor >= kFirstWithSplits) communicator.parent = 0;
    logged.communicators.push_back(std::move(communicator));
  }
  for (const Channel& channel : job.channels) {
    const uint32_t number = of_group[channel.group];
    const std::vector<uint32_t>& ranks = logged.communicators[number].ranks;
    const auto place = [&](uint32_t rank) {
      return static_cast<uint32_t>(std::find(ranks.begin(), ranks.end(), rank) - ranks.begin());
    };
    sim::LoggedConnection connection = {.communicator = number,
                                        .from = place(channel.from),
                                        .to = place(channel.to),
                                        .sender = job.nics[channel.from],
                                        .receiver = job.nics[channel.to],
                                        .fifo_rkey = channel.fifo_rkey};
    for (const Channel::Pair& pair : channel.pairs) {
      connection.queue_pairs.push_back({.sender = pair.sender.qpn,
                                        .receiver = pair.receiver.qpn,
                                        .sender_psn = pair.sender.first_psn,
                                        .receiver_psn = pair.receiver.first_psn});
    }
    logged.connections.push_back(std::move(connection));
  }
  return logged;
}

std::string RenderNcclLogs(const LabPlan& plan, const sim::LoggedJob& job,
                           topology::NodeIndex host) {
  std::string text;
  for (uint32_t rank = 0; rank < job.ranks.size(); ++rank) {
    if (plan.fabric->gpu(job.ranks[rank].gpu).host != host) continue;
    text += sim::RenderNcclLog(*plan.fabric, job, rank, plan.nccl);
  }
  return text;
}

std::string RenderNcclFailure(const LabPlan& plan, const JobPlan& job, const sim::LoggedJob& logged,
                              const JobFailure& failure) {
  const sim::LoggedRank& own = logged.ranks[failure.rank];
  const topology::NicIndex nic = job.nics[failure.rank];
  const topology::NicIndex peer = job.nics[failure.peer_rank];
  const auto gid = [&](topology::NicIndex index) {
    return "::ffff:" + ToString(plan.fabric->nic(index).addresses[0].address);
  };
  constexpr uint32_t kProxyThread = 22;
  return fmt::format("\n{}:{}:{} [{}] transport/net_ib.cc:1327 NCCL WARN {}\n",
                     HostName(plan.fabric->node(job.hosts[failure.rank]).name), own.process_id,
                     own.process_id + kProxyThread, own.cuda_device,
                     CompletionText(plan.nccl.minor, PeerText(*plan.fabric, peer), gid(nic),
                                    gid(peer), plan.fabric->nic(nic).device,
                                    failure.cause.value_or(FailureCause::kRemoteInvalidRequest)));
}

}  // namespace rocescope::endpoint
