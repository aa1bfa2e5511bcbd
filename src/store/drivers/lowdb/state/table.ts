import { Sums } from '../../../sums.ts';

/** Index that is updated with the rows of a table. */
interface Index<Row> {
  replace(order: number, before: Row | null, after: Row | null): void;
}

/** Rows of one kind by their order of creation. Times do not give that order, since clocks may go back. */
export class Table<Row> {
  readonly #rows = new Map<number, Row>();
  readonly #indexes: Index<Row>[] = [];
  #next = 1;

  get size(): number {
    return this.#rows.size;
  }

  get rows(): ReadonlyMap<number, Row> {
    return this.#rows;
  }

  /** Adds an index. It must be added before the first row, as those of the next methods. */
  index<Kind extends Index<Row>>(index: Kind): Kind {
    this.#indexes.push(index);
    return index;
  }

  /** @param keyOf null for a row without a key */
  unique(keyOf: (row: Row) => string | null): UniqueIndex<Row> {
    return this.index(new UniqueIndex(this.#rows, keyOf));
  }

  group(groupOf: (row: Row) => string): GroupIndex<Row> {
    return this.index(new GroupIndex(this.#rows, groupOf));
  }

  /** @param partOf null for a row that adds nothing */
  sum(partOf: (row: Row) => readonly [name: string, amount: number] | null): SumIndex<Row> {
    return this.index(new SumIndex(partOf));
  }

  /** Assigns the order of a new row. */
  newOrder(): number {
    return this.#next++;
  }

  /** Order that the next new row will get. */
  get next(): number {
    return this.#next;
  }

  /** Sets a minimum for the order of new rows. */
  reserve(next: number): void {
    this.#next = Math.max(this.#next, next);
  }

  /** Sets or, with null, removes a row. Returns the previous row. */
  put(order: number, row: Row | null): Row | null {
    const before = this.#rows.get(order) ?? null;
    if (row === null) this.#rows.delete(order);
    else this.#rows.set(order, row);
    if (order >= this.#next) this.#next = order + 1;
    for (const index of this.#indexes) index.replace(order, before, row);
    return before;
  }
}

/** Index that finds the one row with a key. */
export class UniqueIndex<Row> {
  readonly #orders = new Map<string, number>();
  readonly #rows: ReadonlyMap<number, Row>;
  readonly #keyOf: (row: Row) => string | null;

  constructor(rows: ReadonlyMap<number, Row>, keyOf: (row: Row) => string | null) {
    this.#rows = rows;
    this.#keyOf = keyOf;
  }

  order(key: string): number | undefined {
    return this.#orders.get(key);
  }

  get(key: string): Row | undefined {
    const order = this.#orders.get(key);
    return order === undefined ? undefined : this.#rows.get(order);
  }

  replace(order: number, before: Row | null, after: Row | null): void {
    const from = before && this.#keyOf(before);
    const to = after && this.#keyOf(after);
    if (from === to) return;
    if (from !== null && this.#orders.get(from) === order) this.#orders.delete(from);
    if (to !== null) this.#orders.set(to, order);
  }
}

/** Index that sums up a number of the rows of each group. */
export class SumIndex<Row> extends Sums {
  readonly #partOf: (row: Row) => readonly [name: string, amount: number] | null;

  constructor(partOf: (row: Row) => readonly [name: string, amount: number] | null) {
    super();
    this.#partOf = partOf;
  }

  replace(_: number, before: Row | null, after: Row | null): void {
    const [from, to] = [before && this.#partOf(before), after && this.#partOf(after)];
    if (from) this.add(from[0], -from[1]);
    if (to) this.add(to[0], to[1]);
  }
}

interface Group {
  /** Orders, ascending. Some may have left the group: removing each at once would move all after it. */
  orders: number[];
  live: number;
}

/** Index that iterates over the rows of a group in the order of creation, in either direction. */
export class GroupIndex<Row> {
  readonly #groups = new Map<string, Group>();
  readonly #rows: ReadonlyMap<number, Row>;
  readonly #groupOf: (row: Row) => string;

  constructor(rows: ReadonlyMap<number, Row>, groupOf: (row: Row) => string) {
    this.#rows = rows;
    this.#groupOf = groupOf;
  }

  count(name: string): number {
    return this.#groups.get(name)?.live ?? 0;
  }

  /** Newest first. @param before upper bound of the order, exclusive */
  *newest(name: string, before = Infinity): Generator<Row> {
    const { orders } = this.#groups.get(name) ?? { orders: [] };
    for (let at = insertionIndex(orders, before) - 1; at >= 0; at -= 1) {
      const row = this.#member(name, orders[at]!);
      if (row !== undefined) yield row;
    }
  }

  /** Oldest first, with their orders. @param after lower bound of the order, exclusive */
  *oldest(name: string, after = 0): Generator<[order: number, row: Row]> {
    const { orders } = this.#groups.get(name) ?? { orders: [] };
    for (let at = insertionIndex(orders, after + 1); at < orders.length; at += 1) {
      const row = this.#member(name, orders[at]!);
      if (row !== undefined) yield [orders[at]!, row];
    }
  }

  replace(order: number, before: Row | null, after: Row | null): void {
    const from = before && this.#groupOf(before);
    const to = after && this.#groupOf(after);
    if (from === to) return;
    if (from !== null) this.#leave(from);
    if (to !== null) this.#join(to, order);
  }

  #member(name: string, order: number): Row | undefined {
    const row = this.#rows.get(order);
    return row !== undefined && this.#groupOf(row) === name ? row : undefined;
  }

  #join(name: string, order: number): void {
    const group = this.#groups.get(name) ?? { orders: [], live: 0 };
    this.#groups.set(name, group);
    const { orders } = group;
    const place = insertionIndex(orders, order);
    // The order may still be in the list from before the row left the group.
    if (orders[place] !== order) orders.splice(place, 0, order);
    group.live += 1;
  }

  #leave(name: string): void {
    const group = this.#groups.get(name)!;
    group.live -= 1;
    if (group.live === 0) this.#groups.delete(name);
    else if (group.orders.length > 2 * group.live + 64) {
      group.orders = group.orders.filter((order) => this.#member(name, order) !== undefined);
    }
  }
}

/** Position of an order in an ascending list, or the position to insert it at. */
function insertionIndex(orders: readonly number[], order: number): number {
  if (orders.length === 0 || orders[orders.length - 1]! < order) return orders.length;
  let low = 0;
  let high = orders.length - 1;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (orders[middle]! < order) low = middle + 1;
    else high = middle;
  }
  return low;
}
