import { unknownCursor } from '../../../errors.ts';
import type { Selection } from '../../../selection.ts';
import type { GroupIndex, Table, UniqueIndex } from '../state/table.ts';

/** Accounts, keys or teams with the indexes by which a part of them is found. */
interface Listed<Row> {
  readonly kind: 'account' | 'key' | 'team';
  readonly table: Table<Row>;
  readonly byId: UniqueIndex<Row>;
  readonly ofAccount?: GroupIndex<Row>;
  /** Whether the list has a row. */
  readonly has?: (row: Row) => boolean;
}

/**
 * Rows of a part of a list, in the order of creation.
 *
 * @param group the account whose rows `ofAccount` finds; undefined for all accounts
 * @throws Failure 404 for an unknown `after`
 */
export function selectRows<Row>(
  listed: Listed<Row>,
  group: string | undefined,
  { ids, limit = Infinity, after }: Selection = {},
): Row[] {
  const { kind, byId, has = () => true } = listed;
  const cursor = after === undefined ? undefined : byId.get(after);
  if (after !== undefined && (cursor === undefined || !has(cursor))) {
    throw unknownCursor(kind, after);
  }
  const last = after === undefined ? 0 : byId.order(after)!;
  const found: Row[] = [];
  for (const row of candidates(listed, group, ids, last)) {
    if (found.length >= limit) break;
    if (has(row)) found.push(row);
  }
  return found;
}

function* candidates<Row>(
  { table, byId, ofAccount }: Listed<Row>,
  group: string | undefined,
  ids: readonly string[] | undefined,
  last: number,
): Generator<Row> {
  if (ids !== undefined) {
    const orders = new Set(ids.map((id) => byId.order(id) ?? 0));
    const ascending = [...orders].filter((order) => order > last).sort((one, other) => one - other);
    for (const order of ascending) yield table.rows.get(order)!;
  } else if (group !== undefined && ofAccount) {
    for (const [, row] of ofAccount.oldest(group, last)) yield row;
  } else {
    for (let order = last + 1; order < table.next; order += 1) {
      const row = table.rows.get(order);
      if (row !== undefined) yield row;
    }
  }
}
