// SPDX-License-Identifier: BSD-3-Clause
// The dashboard's data source: a running appliance, or the HTML file that contains the dashboard.
import type { Event as ApplianceEvent } from "./messages";

// An error response of the appliance (Google AIP-193).
export interface ApiError {
  reason: string; // reason in the google.rpc.ErrorInfo, for example "NO_SNAPSHOT_YET"
  message: string;
}

export type Answer =
  | { kind: "answer"; value: unknown }
  | { kind: "refused"; status: number; error: ApiError } // an error response of the appliance
  | { kind: "unreachable"; message: string } // no response
  | { kind: "not_stored"; message: string }; // the file does not contain it

// "steady": recorded data, without a connection.
export type ConnectionState = "connecting" | "open" | "lost" | "steady";

export interface SourceListener {
  event(event: ApplianceEvent): void;
  connection(state: ConnectionState): void;
}

export interface DataSource {
  // False: responses never change.
  readonly live: boolean;
  get(path: string): Promise<Answer>;
  // Whether there can be an answer to the path; a page offers no link to data that it cannot have.
  // Not defined: there can be one to every path.
  offers?(path: string): boolean;
  // Whether the map can show the place. Not defined: it can show every place.
  offersPlace?(place: string): boolean;
  // The jobs with flows through the ports, in place of the dependents of a link that a file does not
  // contain.
  jobsAt?(ports: string[]): { jobs: string[]; isComplete: boolean } | undefined;
  // Sends a change. Undefined: nothing can be changed.
  post?(path: string, body: Record<string, string>): Promise<Answer>;
  // Notifies the listener of events until the returned function is called.
  watch(listener: SourceListener): () => void;
}
