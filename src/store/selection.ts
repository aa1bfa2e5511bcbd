/** Part of a list of accounts, keys or teams, which are in the order of creation. Left out, it is all of it. */
export interface Selection {
  /** Only elements with these identifiers, of which unknown ones are left out. */
  readonly ids?: readonly string[];
  readonly limit?: number;
  /** Identifier of the element after which the part begins. */
  readonly after?: string;
}

/** Reads a part of a list. */
export type Listing<Item> = (selection: Selection) => Promise<readonly Item[]>;

/** Elements that are read at once: other requests are answered between such parts. */
const PART = 1000;

/** All elements of a list, or those after one, read in parts. */
export async function* inParts<Item extends { readonly id: string }>(
  list: Listing<Item>,
  {
    after,
    part = PART,
  }: { readonly after?: string | undefined; readonly part?: number | undefined } = {},
): AsyncGenerator<Item, void> {
  for (let last = after; ; ) {
    const items = await list({ limit: part, ...(last !== undefined && { after: last }) });
    yield* items;
    if (items.length < part) return;
    last = items.at(-1)!.id;
  }
}

/** Page of a list, newest first. `after` is the identifier of the last element of the page before. */
export interface Page<Id> {
  readonly limit: number;
  readonly after?: Id;
}
