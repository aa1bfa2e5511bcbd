import { sendJson } from './request.ts';
import { type Resource, useResource } from './resource.ts';

export interface Budget {
  readonly granted: number;
  readonly reserved: number;
  readonly spent: number;
}

export interface BudgetWindow extends Budget {
  readonly period: 'day' | 'week' | 'month';
  readonly time_zone: string;
  /** Seconds since the epoch. */
  readonly resets: number;
}

interface Spending {
  readonly budget: Budget | null;
  readonly windows: readonly BudgetWindow[];
}

/** Answer of `v1/account`. */
export interface Account {
  readonly id: string;
  readonly name: string;
  readonly plan: 'free' | 'paid';
  readonly created: number;
  readonly credits: Budget & { readonly available: number };
  readonly limits: { readonly requests_per_minute: number };
  readonly key: Spending & {
    readonly id: string;
    readonly name: string;
    readonly expires: number | null;
    readonly models: readonly string[] | null;
    readonly team: (Spending & { readonly id: string; readonly name: string }) | null;
  };
}

/** The account of the session, with its credits. */
export function useAccount(): Resource<Account> {
  return useResource((signal) => sendJson<Account>('v1/account', { signal }), []);
}
