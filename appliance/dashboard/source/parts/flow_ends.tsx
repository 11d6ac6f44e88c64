// SPDX-License-Identifier: BSD-3-Clause
// The two ends of a flow: the names of the NICs if the topology contains them, otherwise the addresses.
import { useNicNames } from "../fabric/nic_names";
import { Place } from "./names";

interface Flow {
  source: string; // address
  destination: string; // address
  destination_qpn: number;
}

export function FlowEnds({ flow: { source, destination, destination_qpn } }: { flow: Flow }) {
  const nameOf = useNicNames();
  const end = (address: string) => {
    const name = nameOf(address);
    return name === undefined ? <span class="name">{address}</span> : <span title={address}><Place name={name} /></span>;
  };
  return <>{end(source)} → {end(destination)} QP {destination_qpn}</>;
}
