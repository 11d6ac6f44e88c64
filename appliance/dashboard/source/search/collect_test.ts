// SPDX-License-Identifier: BSD-3-Clause
import { expect, it } from "vitest";
import type { FindPathsResponse, GetJobResponse, ListFindingsResponse, ListJobsResponse, Topology } from "../api/messages";
import { makeFinding } from "../findings/fixture";
import { collectItems, type Loaded } from "./collect";

const kLoaded: Loaded = {
  topology: {
    name: "", links: [{ a: "host0:mlx5_0", b: "leaf0:1", bits_per_second: "1" }],
    nodes: [
      { name: "host0", tier: "TIER_HOST", nics: [{ device: "mlx5_0", rail: 0, addresses: ["10.0.0.1"] }], gpus: [{ index: 3, rail: 0, nic: "mlx5_0" }] },
      { name: "leaf0", tier: "TIER_LEAF", nics: [], gpus: [] },
    ],
  } as Topology,
  jobs: { jobs: [{ job_id: "j1", allocation: { name: "pretrain", user: "ada", scheduler_job_id: "4711" } }] } as ListJobsResponse,
  findings: { findings: [makeFinding()], suspected_findings: [makeFinding({ kind: "flap", confidence: 0.2 })] } as unknown as ListFindingsResponse,
  jobDetails: [{ job: { job_id: "j1", ranks: [{ rank: 5, host: "host0", queue_pairs: [{ qpn: 6656 }] }] } } as unknown as GetJobResponse],
  paths: [{ paths: [{ source: "10.0.0.1", destination: "10.0.0.2", destination_qpn: 77 }] } as unknown as FindPathsResponse],
};

it("contains a name of every kind, with the view that shows it", () => {
  const items = collectItems(kLoaded);
  const hrefs = Object.fromEntries(items.filter(({ kind }) => kind !== "view").map(({ kind, name, href }) => [`${kind} ${name}`, href]));
  expect(hrefs).toEqual({
    "finding Silent packet loss, leaf1:3-spine0:1": "#/findings/gray_loss~leaf1%3A3-spine0%3A1~leaf1%3A3~20260131T120000Z",
    "finding Link flaps, leaf1:3-spine0:1": "#/findings/flap~leaf1%3A3-spine0%3A1~leaf1%3A3~20260131T120000Z",
    "job pretrain": "#/jobs/j1",
    "host host0": "#/fabric?at=host0",
    "switch leaf0": "#/fabric?at=leaf0",
    "NIC host0:mlx5_0": "#/fabric?at=host0%3Amlx5_0",
    "GPU host0:gpu:3": "#/fabric?at=host0%3Agpu%3A3",
    "port leaf0:1": "#/fabric?at=leaf0%3A1",
    "address 10.0.0.1": "#/fabric?at=host0%3Amlx5_0",
    "rank rank 5": "#/jobs/j1",
    "QP 6656": "#/jobs/j1",
    "QP 77": "#/paths?source=10.0.0.1&destination=10.0.0.2",
  });
});

it("works before anything is loaded", () => {
  expect(collectItems({ jobDetails: [], paths: [] }).map(({ name }) => name)).toContain("Overview");
});
