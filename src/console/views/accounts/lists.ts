import type { AccountRecord, KeyRecord, TeamRecord } from '../../../administration/records.ts';
import type { SnakeCased } from '../../../http/owner/commands.ts';
import { useList } from '../../api/list.ts';

export type Account = SnakeCased<AccountRecord>;
export type Key = SnakeCased<KeyRecord>;
export type Team = SnakeCased<TeamRecord>;

/** What the answers of `v1/admin` commands have. */
export interface Outcome<Result> {
  readonly result: Result;
  /** Probable mistakes, such as a model that the catalog lacks. */
  readonly warnings: readonly string[];
}

interface Lists {
  readonly accounts: Account;
  readonly keys: Key;
  readonly teams: Team;
}

/** A list of `v1/admin`: accounts, keys or teams; of one account if it is named. */
export function useHolders<Name extends keyof Lists>(name: Name, account = '') {
  const query = new URLSearchParams({ limit: '100', ...(account && { account }) });
  type Answer = Outcome<Record<Name, readonly Lists[Name][]> & { readonly has_more: boolean }>;
  return useList(`v1/admin/${name}/list?${query}`, {
    pageOf: ({ result }: Answer) => ({
      items: result[name],
      next: result.has_more ? result[name].at(-1)?.id : null,
    }),
    idOf: ({ id }) => id,
  });
}

/** Names of accounts to choose from; undefined where not all are loaded, so that a field takes a name. */
export function namesOf({ items, hasMore }: ReturnType<typeof useHolders<'accounts'>>) {
  return hasMore ? undefined : items.map(({ name }) => name);
}
