// SPDX-License-Identifier: BSD-3-Clause
// The ledger of a source: every received frame is counted in exactly one line.
import type { Ledger } from "../api/messages";

export interface LedgerLine {
  name: string;
  meaning: string;
  count: bigint;
  kind: "decoded" | "filtered" | "dropped" | "missing";
}

export function linesOf(ledger: Ledger): LedgerLine[] {
  const lines: LedgerLine[] = [
    { name: "decoded", meaning: "Decoded and forwarded to the analysis.", count: BigInt(ledger.decoded), kind: "decoded" },
    { name: "filtered", meaning: "Excluded by the configured filter.", count: BigInt(ledger.filtered), kind: "filtered" },
    ...ledger.dropped.map((drop): LedgerLine => ({
      name: drop.reason, meaning: drop.meaning, count: BigInt(drop.count), kind: "dropped",
    })),
  ];
  const sum = lines.reduce((total, line) => total + line.count, 0n);
  const rest = BigInt(ledger.received) - sum;
  if (rest !== 0n) {
    // Counters are not read at the same instant, so a few frames are in flight. More is a defect.
    lines.push({ name: "in flight", meaning: "Received, but not yet counted in another line.", count: rest, kind: "missing" });
  }
  return lines.filter((line) => line.count !== 0n || line.kind === "decoded");
}

export function shareOf(count: bigint, of: bigint): number {
  return of === 0n ? 0 : Number((count * 1_000_000n) / of) / 1_000_000;
}
