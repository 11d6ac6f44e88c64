// SPDX-License-Identifier: BSD-3-Clause
import { expect, it } from "vitest";
import type { Topology } from "../api/messages";
import { nicNames } from "./nic_names";

it("finds the NIC of an address", () => {
  const topology = { nodes: [{ name: "gpu-1", nics: [{ device: "mlx5_0", addresses: ["10.0.0.1", "fd00::1"] }] }, { name: "leaf0", nics: [] }] } as unknown as Topology;
  const names = nicNames(topology);
  expect([names.get("10.0.0.1"), names.get("fd00::1"), names.get("10.0.0.9")]).toEqual(["gpu-1:mlx5_0", "gpu-1:mlx5_0", undefined]);
  expect(nicNames(undefined).size).toBe(0);
});
