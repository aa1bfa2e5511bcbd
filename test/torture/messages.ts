import type { Arms } from './attacks/attack.ts';
import type { Kind } from './fuzz/fuzz.ts';
import type { Reach } from './outages.ts';
import type { Load } from './tenants/bad-load.ts';
import type { Violation } from './violations.ts';

/** What the process of the attackers is told. */
export type Command =
  | {
      readonly type: 'calibrate';
      readonly arms: Arms;
      readonly seed: string;
      readonly seconds: number;
    }
  | {
      readonly type: 'attack';
      readonly rate: number;
      /** Parts of names of scenarios, in the place of all that are not left out. */
      readonly only?: readonly string[];
    }
  | { readonly type: 'outage'; readonly reach: Reach; readonly begins: boolean }
  /** No scenario is repeated any more. */
  | { readonly type: 'last rounds' }
  /** Load and fuzzing end; scenarios are finished. */
  | { readonly type: 'finish' }
  | { readonly type: 'end' };

/** What came of one scenario. */
export interface AttackReport {
  readonly name: string;
  readonly summary: string;
  rounds: number;
  tried: number;
}

/** What it tells. */
export type Message =
  | { readonly type: 'ready' }
  | { readonly type: 'calibrated'; readonly capacity: number }
  /** Every scenario was run once. */
  | { readonly type: 'first round' }
  | { readonly type: 'progress'; readonly line: string }
  | {
      readonly type: 'ended';
      readonly load: Load;
      /** For which requests were sent. */
      readonly seconds: number;
      readonly attacks: readonly AttackReport[];
      readonly fuzzed: Readonly<Record<Kind, number>>;
      readonly violations: readonly Violation[];
    };
