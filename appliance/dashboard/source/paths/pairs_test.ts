// SPDX-License-Identifier: BSD-3-Clause
import { expect, it } from "vitest";
import type { FlowPath } from "../api/messages";
import { suggest } from "../parts/name_input";
import { pairsOf } from "./pairs";

const flow = (source_nic: string, destination_nic: string, ...intervals: [string, string][]) => ({
  source: "10.0.0.1", destination: "10.0.0.2", source_nic, destination_nic,
  intervals: intervals.map(([bytes, state]) => ({ bytes, state })),
}) as unknown as FlowPath;

it("adds up the flows of a pair, the busiest first", () => {
  const pairs = pairsOf([
    flow("a:0", "b:0", ["5", "STATE_EXACT"]), flow("a:0", "b:0", ["5", "STATE_EXACT"], ["2", "STATE_AMBIGUOUS"]), flow("b:0", "a:0", ["90", "STATE_LIKELY"]),
  ]);
  expect(pairs).toEqual([
    { source: "b:0", destination: "a:0", flows: 1, bytes: 90, unsureFlows: 0, changes: 0 },
    { source: "a:0", destination: "b:0", flows: 2, bytes: 12, unsureFlows: 1, changes: 1 },
  ]);
});

it("names an end by its address if the topology does not contain it", () => {
  expect(pairsOf([flow("", "b:0")])[0]).toMatchObject({ source: "10.0.0.1", destination: "b:0", unsureFlows: 1 });
});

it("suggests names that start with the text first", () => {
  const names = [{ value: "host10:mlx5_0" }, { value: "10" }, { value: "slurm-1", hint: "10-node job" }, { value: "host2" }];
  expect(suggest(names, "10").map(({ value }) => value)).toEqual(["10", "slurm-1", "host10:mlx5_0"]);
  expect(suggest(names, "", 2)).toHaveLength(2);
  expect(suggest(names, "nothing")).toEqual([]);
});

it("suggests among 100,000 names in about the time of a search", () => {
  const names = Array.from({ length: 100_000 }, (_, i) => ({ value: `GPU-${i}:mlx5_0` }));
  const timeOf = (act: () => void) => {
    const startMs = performance.now();
    act();
    return performance.now() - startMs;
  };
  const search = () => names.filter(({ value }) => value.toLowerCase().startsWith("gpu-99999:") || value.toLowerCase().includes("gpu-99999:"));
  const best = (act: () => void) => Math.min(...Array.from({ length: 5 }, () => timeOf(act)));
  expect(suggest(names, "gpu-99999:")).toHaveLength(1);
  expect(best(() => suggest(names, "gpu-99999:")) / best(search)).toBeLessThan(10);
});
