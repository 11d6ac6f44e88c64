// SPDX-License-Identifier: BSD-3-Clause
import { expect, it } from "vitest";
import { leafSpine } from "../fabric/fixture";
import { jobLevelsPath, kIndicatorsPath } from "../jobs/service_tables";
import { EmbeddedSource, readEmbedded } from "./embedded_source";

const flow = (source_nic: string, destination_nic: string) => ({
  source_nic, destination_nic, source: "", destination: "", intervals: [],
});
const stored = {
  "/api/v1/topology": leafSpine({ hosts: 4, hostsPerLeaf: 2, spines: 2 }),
  "/api/v1/hotspots": { hotspots: [] },
  "/api/v1/hotspots?job_id=a%20(b)": { hotspots: ["b"] },
  "/api/v1/paths?job_id=train": { paths: [flow("host0:mlx5_0", "host2:mlx5_0"), flow("host2:mlx5_0", "host0:mlx5_0")] },
};
const source = new EmbeddedSource(stored);

it("answers from the page regardless of paging", async () => {
  expect(await source.get("/api/v1/hotspots?page_size=100")).toEqual({ kind: "answer", value: { hotspots: [] } });
});

it("finds the service levels under the keys of web_test.cc", async () => {
  const page = new EmbeddedSource({ "/api/v1/service-levels": 1, "/api/v1/service-levels?job_id=nccl-2": 2 });
  expect(await page.get(kIndicatorsPath)).toEqual({ kind: "answer", value: 1 });
  expect(await page.get(jobLevelsPath("nccl-2"))).toEqual({ kind: "answer", value: 2 });
});

it("accepts both encodings of a job id", async () => {
  for (const job of ["a%20(b)", "a+%28b%29"]) {
    const answer = await source.get(`/api/v1/hotspots?job_id=${job}&page_size=8`);
    expect(answer).toEqual({ kind: "answer", value: { hotspots: ["b"] } });
  }
});

it("reports missing data as not stored", async () => {
  expect(await source.get("/api/v1/anomalies")).toMatchObject({ kind: "not_stored" });
  expect(await source.get("/api/v1/hotspots?job_id=other")).toMatchObject({ kind: "not_stored" });
});

it("selects the paths between two ends from all jobs", async () => {
  const answer = await source.get("/api/v1/paths?source=host0%3Agpu%3A0&destination=host2%3Amlx5_0&page_size=9");
  expect(answer).toMatchObject({ kind: "answer", value: { total_size: 1, paths: [{ source_nic: "host0:mlx5_0" }] } });
});

it("returns no paths for two ends without traffic", async () => {
  const answer = await source.get("/api/v1/paths?source=host0%3Amlx5_0&destination=host1%3Amlx5_0");
  expect(answer).toMatchObject({ kind: "answer", value: { paths: [] } });
});

it("reads the data element of a replay", () => {
  expect(readEmbedded(document)).toBeUndefined();
  document.body.innerHTML = '<script type="application/json" id="rocescope-data">{"/a": "\\u003c/script>"}</script>';
  expect(readEmbedded(document)).toEqual({ "/a": "</script>" });
});
