// SPDX-License-Identifier: BSD-3-Clause
// The names of NICs, which flows refer to by address.
import { useMemo } from "preact/hooks";
import type { Topology } from "../api/messages";
import { useResource } from "../store/use_store";

export function nicNames(topology: Topology | undefined): Map<string, string> {
  return new Map((topology?.nodes ?? []).flatMap((node) =>
    node.nics.flatMap((nic) => nic.addresses.map((address) => [address, `${node.name}:${nic.device}`] as const))));
}

// Without a topology, or for an address that it does not contain: undefined.
export function useNicNames(): (address: string) => string | undefined {
  const topology = useResource<Topology>("/api/v1/topology").value;
  const names = useMemo(() => nicNames(topology), [topology]);
  return (address) => names.get(address);
}
