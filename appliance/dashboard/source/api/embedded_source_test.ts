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

it("resolves the name of a host to all of its NICs", async () => {
  const answer = await source.get("/api/v1/paths?source=host0&destination=host2");
  expect(answer).toMatchObject({ kind: "answer", value: { total_size: 1 } });
});

it("does not claim that an unknown end or rank has no traffic", async () => {
  expect(await source.get("/api/v1/paths?source=host0&destination=nobody")).toEqual({ kind: "not_stored", message: 'This file does not contain the end "nobody".' });
  expect(await source.get("/api/v1/paths?source=0&destination=7&job_id=train")).toEqual({ kind: "not_stored", message: 'This file does not contain rank 0 of the job "train".' });
  expect(await source.get("/api/v1/paths?source=host0&destination=host2&job_id=other")).toEqual({ kind: "not_stored", message: 'This file does not contain the job "other".' });
});

it("finds a job by its name and its number in the scheduler", async () => {
  const named = (job_id: string, name: string, scheduler_job_id: string) => ({ job_id, allocation: { name, scheduler_job_id } });
  const page = new EmbeddedSource({ "/api/v1/jobs": { jobs: [named("a-1", "one", "7"), named("a-2", "two", "8"), named("a-3", "two", "9")] }, "/api/v1/jobs/a-1": 1, "/api/v1/paths?job_id=a-1": 2 });
  expect(await page.get("/api/v1/jobs/one")).toEqual({ kind: "answer", value: 1 });
  expect(await page.get("/api/v1/paths?job_id=7&page_size=9")).toEqual({ kind: "answer", value: 2 });
  expect(await page.get("/api/v1/jobs/two")).toEqual({ kind: "not_stored", message: 'This file does not contain the job "two".' });
});

it("names the jobs with flows through a port", () => {
  const uses = (port: string) => ({ intervals: [{ ports: [port], shares: [] }] });
  const page = new EmbeddedSource({
    "/api/v1/paths?job_id=a": { paths: [uses("leaf0:1")], total_size: 1 }, "/api/v1/paths?job_id=b": { paths: [uses("leaf0:2")], total_size: 2 },
  });
  expect(page.jobsAt(["leaf0:1"])).toEqual({ jobs: ["a"], isComplete: false });
  expect(new EmbeddedSource({}).jobsAt(["leaf0:1"])).toBeUndefined();
});

it("offers what it contains", () => {
  expect(source.offers("/api/v1/topology")).toBe(true);
  expect(source.offers("/api/v1/sources")).toBe(false);
  expect([source.offersPlace("host0:mlx5_0"), source.offersPlace("10.9.9.9")]).toEqual([true, false]);
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
