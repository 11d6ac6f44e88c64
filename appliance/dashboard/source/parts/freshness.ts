// SPDX-License-Identifier: BSD-3-Clause
// The age of the telemetry: the appliance's clock minus the latest event time in the snapshot. A
// response that is new can contain old data.
import type { Health } from "../api/messages";
import { toNs } from "../format/moments";
import { toNanoseconds } from "../format/quantities";
import { useMinute } from "../past/minute_context";
import { useClock, useResource, useShared } from "../store/use_store";
import { clockDifferenceNs } from "./reference";

const kOldWindows = 3;
// The dashboard requests the health up to 5 s after the last time, so newer data is never old.
export const kNeverOldNs = 6e9;

export interface Freshness {
  ageNs: number;
  isOld: boolean; // older than three analysis windows
}

// Undefined before the first snapshot.
export function freshnessOf(health: Health, receivedMs: number, browserMs: number): Freshness | undefined {
  const dataNs = toNs(health.snapshot?.data_time);
  if (dataNs === undefined) return undefined;
  const nowNs = BigInt(browserMs) * 1_000_000n + clockDifferenceNs(health, receivedMs);
  // The clocks of mirrors and switches differ from the appliance's clock.
  const ageNs = Math.max(0, Number(nowNs - dataNs));
  const windowNs = toNanoseconds(health.snapshot?.window_duration);
  return { ageNs, isOld: ageNs > Math.max(kNeverOldNs, kOldWindows * windowNs) };
}

// Undefined for recorded data, for a past minute, and before the first snapshot.
export function useFreshness(): Freshness | undefined {
  const minute = useMinute();
  const present = usePresentFreshness();
  return minute === undefined ? present : undefined;
}

// The same, also if a past minute is selected.
export function usePresentFreshness(): Freshness | undefined {
  const { store } = useShared();
  const health = useResource<Health>(store.source.live ? "/api/v1/health" : "");
  const now = useClock(1000);
  // The clock may have ticked last before the response arrived.
  return health.value && freshnessOf(health.value, health.receivedMs, Math.max(now, health.receivedMs));
}
