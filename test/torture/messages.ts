import type { AttackContext } from './attacks/attack.ts';
import type { Kind } from './fuzz/fuzz.ts';
import type { FaultScope } from './outages.ts';
import type { Load } from './tenants/bad-load.ts';
import type { Violation } from './violations.ts';

/** Message to the process of the attackers. */
export type Command =
  | {
      readonly type: 'calibrate';
      readonly context: AttackContext;
      readonly seed: string;
      readonly seconds: number;
    }
  | {
      readonly type: 'attack';
      readonly rate: number;
      /** Parts of the names of the scenarios to run; all without it. */
      readonly only?: readonly string[];
    }
  | { readonly type: 'outage'; readonly scope: FaultScope; readonly begins: boolean }
  /** Begins no further round of scenarios. */
  | { readonly type: 'last rounds' }
  /** Ends load and fuzzing, and finishes running scenarios. */
  | { readonly type: 'finish' }
  | { readonly type: 'end' };

/** Result of one scenario. */
export interface AttackReport {
  readonly name: string;
  readonly summary: string;
  rounds: number;
  requests: number;
}

/** Message from the process of the attackers. */
export type Message =
  | { readonly type: 'ready' }
  | { readonly type: 'calibrated'; readonly capacity: number }
  /** Every scenario has run once. */
  | { readonly type: 'first round' }
  | { readonly type: 'progress'; readonly line: string }
  | {
      readonly type: 'ended';
      readonly load: Load;
      /** Duration of the load. */
      readonly seconds: number;
      readonly attacks: readonly AttackReport[];
      readonly fuzzed: Readonly<Record<Kind, number>>;
      readonly violations: readonly Violation[];
    };
