import type { TaskState } from './task.ts';

/** Rest of a provider's key on a route. Times are durations: the clocks of nodes may differ. */
export interface KeyRestEvent {
  readonly provider: string;
  /** The provider's name of the model. */
  readonly model: string;
  /** Name of the route. */
  readonly route: string;
  /** Part of the key's SHA-256. */
  readonly fingerprint: string;
  /** The account whose request has failed; null where those of several accounts have. Absent from earlier versions. */
  readonly account?: string | null;
  /** Milliseconds in which the key is not used at all, and in which other keys are used before it. */
  readonly skipped: number;
  readonly avoided: number;
  readonly failure: {
    readonly type: string;
    readonly message: string;
    readonly code: string | null;
    readonly status: number;
  };
}

/** What another node changed. A hint: some are lost, so that readers poll as well. */
export type StoreEvent =
  /** A task that another node has begun, ended or put back. */
  | {
      readonly kind: 'task';
      readonly id: string;
      readonly accountId: string;
      readonly status: TaskState;
    }
  /** There are pending tasks for which their node has no free slot. */
  | { readonly kind: 'pending' }
  /** A delivery is due for which its node has no room. */
  | { readonly kind: 'delivery' }
  /** Providers or models that commands have added were changed. */
  | { readonly kind: 'config' }
  /** A provider has refused or limited a key at another node, so that the key rests. */
  | ({ readonly kind: 'rest' } & KeyRestEvent)
  /**
   * The lease of this node has ended, and other nodes take over its claims. It has a new identifier, under
   * which it may claim again.
   */
  | { readonly kind: 'lease_lost' };

/** Events that a node sends to the others itself. All further ones come from the driver. */
export type PublishedEvent = Extract<StoreEvent, { kind: 'pending' | 'delivery' | 'rest' }>;
