import { boundedText, integer, optional } from '../schema/fields.ts';
import { inParts, type Listing } from '../store/selection.ts';
import type { AdminCommand, AdminOutput, AdminTable } from './admin-command.ts';

/** Elements of a page at most, and where no limit is given. */
export const MAX_PAGE = 1000;

/** Options of a command that lists. */
export const pageOptions = {
  limit: optional(integer(1, MAX_PAGE), `size of a page; ${MAX_PAGE} over HTTP by default`),
  after: optional(boundedText(256), 'id of the last element of the previous page', {
    expects: 'an id',
  }),
};

interface PageOptions {
  readonly limit?: number | undefined;
  readonly after?: string | undefined;
}

/** One page of the elements of a list that match. */
export async function readPage<Item extends { readonly id: string }>(
  list: Listing<Item>,
  { limit = MAX_PAGE, after }: PageOptions,
  matches?: (item: Item) => boolean,
): Promise<{ readonly items: Item[]; readonly hasMore: boolean }> {
  const items: Item[] = [];
  // One more than the page shows whether another follows.
  const part = matches ? undefined : limit + 1;
  for await (const item of inParts(list, { after, part })) {
    if (matches?.(item) === false) continue;
    if (items.length === limit) return { items, hasMore: true };
    items.push(item);
  }
  return { items, hasMore: false };
}

/** A page as a table, and a line below it if others follow. */
export function shownPage<Item extends { readonly id: string }>(
  tableOf: (items: readonly Item[]) => AdminTable,
  items: readonly Item[],
  hasMore: boolean,
): AdminOutput {
  const messages = hasMore ? [`more follow: --after ${items.at(-1)!.id}`] : [];
  return { tables: [tableOf(items)], messages };
}

type Page = Readonly<Record<string, unknown>> & { readonly hasMore?: boolean };

/**
 * Runs a command of the command line: one that lists until its last page, where the user asks for no page.
 *
 * @param input the arguments that the user gave
 * @param run runs it with these arguments changed; undefined where that could not be done
 */
export async function runToLastPage<Outcome extends { readonly result: object }>(
  { list }: AdminCommand,
  input: PageOptions,
  run: (page: { readonly after?: string }) => Promise<Outcome | undefined>,
): Promise<Outcome | undefined> {
  const first = await run({});
  if (!first || list === undefined || input.limit !== undefined) return first;
  const itemsOf = (page: Page) => page[list] as readonly { readonly id: string }[];
  let page = first.result as Page;
  const all = [...itemsOf(page)];
  while (page.hasMore) {
    const next = await run({ after: all.at(-1)!.id });
    if (!next) return undefined;
    page = next.result as Page;
    for (const item of itemsOf(page)) all.push(item);
  }
  return { ...first, result: { ...page, [list]: all } };
}
