import type { Answer } from './victim.ts';

/** One daemon or several, which die and come back while clients ask. */
export interface AuditedService {
  /** Asks until there is an answer other than that it should ask later, through all faults. */
  ask(path: string, key: string, init?: RequestInit): Promise<Answer>;
  /** Answers by their status. */
  readonly statuses: ReadonlyMap<number, number>;
  /** Answers that were lost with a daemon. */
  readonly lost: number;
}
