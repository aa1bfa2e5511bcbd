import { useEffect, useState } from 'preact/hooks';
import { useAction } from './action.ts';
import { useEvents } from './live.ts';
import { sendJson } from './request.ts';
import { useJson } from './resource.ts';

type Id = string | number;

/** A page of the server. */
interface Page<Item> {
  readonly items: readonly Item[];
  /** Where the next page begins; nothing after the last one. */
  readonly next: Id | null | undefined;
}

/** A list as far as it is loaded. Before the first page has come there may be items of events. */
interface Pages<Item> extends Page<Item> {
  readonly isLoaded: boolean;
}

/** The items of a list. */
interface Kind<Item> {
  readonly idOf: (item: Item) => Id;
  /** An item of which there is another state already; the later one by default. */
  readonly merged?: (known: Item | undefined, item: Item) => Item;
}

/** Where a list comes from. */
interface Source<Answer, Item> extends Kind<Item> {
  readonly pageOf: (answer: Answer) => Page<Item>;
  /** Path and name of events with items as they are now; null while they are not followed. */
  readonly events?: readonly [path: string | null, name: string];
  /** Whether an item that is new belongs to the list. */
  readonly admits?: (item: Item) => boolean;
  readonly onItem?: (item: Item) => void;
}

export const NO_PAGES = { items: [], next: null, isLoaded: false };

/** Items that a list has at most when events add one; the oldest are forgotten. */
const MAX_ITEMS = 5000;

/** With the first page, which may be loaded again. Items before it are those that events named meanwhile. */
export function withFirst<Item>(kind: Kind<Item>, pages: Pages<Item>, page: Page<Item>) {
  const { idOf, merged = latest } = kind;
  const { items, next, isLoaded } = pages;
  const known = new Map(items.map((item) => [idOf(item), item]));
  const listed = new Set(page.items.map(idOf));
  const first = items.findIndex((item) => listed.has(idOf(item)));
  const fresh = page.items.map((item) => merged(known.get(idOf(item)), item));
  // So many items are new that those between are not known.
  if (isLoaded && first === -1) return { ...page, items: fresh, isLoaded: true };
  const cut = first === -1 ? items.length : first;
  const older = items.slice(cut).filter((item) => !listed.has(idOf(item)));
  return {
    items: [...items.slice(0, cut), ...fresh, ...older],
    next: isLoaded ? next : page.next,
    isLoaded: true,
  };
}

/** With the page after the last item. */
export function withNext<Item>({ idOf }: Kind<Item>, pages: Pages<Item>, page: Page<Item>) {
  const known = new Set(pages.items.map(idOf));
  const older = page.items.filter((item) => !known.has(idOf(item)));
  return { ...page, items: [...pages.items, ...older], isLoaded: true };
}

/** With an item as it is now; one that is not known is new. */
export function withItem<Item>(kind: Kind<Item>, pages: Pages<Item>, item: Item): Pages<Item> {
  const { idOf, merged = latest } = kind;
  const { items } = pages;
  const index = items.findIndex((one) => idOf(one) === idOf(item));
  if (index === -1) return { ...pages, items: [item, ...items].slice(0, MAX_ITEMS) };
  return { ...pages, items: items.with(index, merged(items[index], item)) };
}

const latest = <Item>(_: Item | undefined, item: Item): Item => item;

/**
 * A list of the server, as far as it is loaded. One with events keeps its older pages when it is loaded again.
 *
 * @param path with a query
 */
export function useList<Answer, Item>(path: string, source: Source<Answer, Item>) {
  const { pageOf, idOf, events, admits = () => true, onItem } = source;
  const { data: first, error, reload } = useJson<Answer>(path);
  const [pages, setPages] = useState<Pages<Item>>(NO_PAGES);
  const { items, next, isLoaded } = pages;
  useEffect(() => {
    if (first === undefined) return;
    setPages((known) => withFirst(source, events ? known : NO_PAGES, pageOf(first)));
  }, [first]);
  const add = (item: Item) =>
    setPages((known) => {
      const isKnown = known.items.some((one) => idOf(one) === idOf(item));
      return isKnown || admits(item) ? withItem(source, known, item) : known;
    });
  const onData = (item: Item) => {
    add(item);
    onItem?.(item);
  };
  useEvents(events?.[0] ?? null, events?.[1] ?? '', onData, reload);
  const older = useAction(async () => {
    const page = await sendJson(`${path}&after=${encodeURIComponent(next!)}`);
    setPages((known) => withNext(source, known, pageOf(page as Answer)));
  });
  return {
    path,
    /** Undefined until the first page is loaded. */
    data: isLoaded ? items : undefined,
    items: isLoaded ? items : [],
    /** Why the list was not loaded; events go on with one that was. */
    error: isLoaded && events ? undefined : error,
    ...{ hasMore: next != null, older, add, reload },
  };
}
