import { useState } from 'preact/hooks';
import type { AccountRecord, KeyRecord } from '../../../administration/records.ts';
import { type Resource, useJson } from '../../api/resource.ts';
import { Button } from '../../components/button.tsx';

/** Elements of a page. */
const LIMIT = 100;

/** A page of a list of `v1/admin`. */
export interface Pages<Result> extends Resource<Outcome<Result & { readonly has_more: boolean }>> {
  /** Path on the server. */
  readonly path: string;
  /** Undefined on the first page. */
  readonly back: (() => void) | undefined;
  /** @param last identifier of the last element of this page */
  readonly next: (last: string) => void;
}

/** A list of `v1/admin`, page by page. Another account begins at the first page. */
export function usePages<Result>(command: string, account = ''): Pages<Result> {
  const [place, setPlace] = useState({ account, cursors: [] as readonly string[] });
  const cursors = place.account === account ? place.cursors : [];
  const after = cursors.at(-1);
  const query = new URLSearchParams({
    ...(account && { account }),
    limit: String(LIMIT),
    ...(after !== undefined && { after }),
  });
  const path = `v1/admin/${command}?${query}`;
  const resource = useJson<Outcome<Result & { readonly has_more: boolean }>>(path);
  const go = (to: readonly string[]) => setPlace({ account, cursors: to });
  return {
    ...resource,
    path,
    back: after === undefined ? undefined : () => go(cursors.slice(0, -1)),
    next: (last) => go([...cursors, last]),
  };
}

interface PageButtonsProps {
  readonly pages: Pages<object>;
  /** Of the page that is shown. */
  readonly items: readonly { readonly id: string }[];
  /** What the list has: "accounts". */
  readonly name: string;
}

/** Buttons for the pages before and after; nothing where there is one page. */
export function PageButtons({ pages, items, name }: PageButtonsProps) {
  const { data, back, next, isLoading } = pages;
  const hasMore = data?.result.has_more === true;
  const last = items.at(-1);
  if (!back && !hasMore) return null;
  return (
    <p class="row">
      <Button disabled={!back || isLoading} onClick={() => back?.()}>
        Earlier {name}
      </Button>
      <Button disabled={!hasMore || isLoading} onClick={() => last && next(last.id)}>
        Later {name}
      </Button>
    </p>
  );
}

/** An account as `v1/admin/accounts/list` has it. */
export type Account = Omit<AccountRecord, 'createdAt'>;

/** A key as `v1/admin/keys/list` has it, with names in snake_case. */
export interface Key extends Omit<KeyRecord, `${string}At`> {
  readonly expires_at: KeyRecord['expiresAt'];
}

/** What the answers of `v1/admin` commands have. */
export interface Outcome<Result> {
  readonly result: Result;
  /** Probable mistakes, such as a model that the catalog lacks. */
  readonly warnings: readonly string[];
}
