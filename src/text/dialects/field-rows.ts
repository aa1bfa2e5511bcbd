import { getOrInsert } from '../../maps.ts';
import type { Field, FieldClass, FieldTable } from './field-table.ts';
import { ANY } from './fields.ts';

/** One field of a request, for documentation. */
export interface FieldRow {
  /** `text.verbosity`, `messages[].name`. */
  readonly path: string;
  /** Types of the objects that have it; absent where all have it. */
  readonly types?: readonly string[];
  readonly class: FieldClass;
  /** Which upstreams get it: those of every format, as far as it has a word for it, or of the same one. */
  readonly upstreams: 'all' | 'same format';
  /** Values that ask for what happens anyway, beside null; null for none. */
  readonly neutral: string | null;
  readonly about: string;
}

/** The fields of a request, and those of the objects within them. */
export function fieldRows(table: FieldTable): readonly FieldRow[] {
  const listing = new Listing();
  listing.add(table, '', null, true);
  return listing.rows();
}

/** Collects fields, of which objects of several types may have the same. */
class Listing {
  readonly #rows = new Map<string, { readonly row: FieldRow; readonly types: Set<string> }>();
  /** Types of the objects at each place. */
  readonly #types = new Map<string, Set<string>>();

  /**
   * @param place the path of the objects
   * @param type that of the objects; null for any
   * @param isTranslated whether upstreams of other formats get them
   */
  add(table: FieldTable, place: string, type: string | null, isTranslated: boolean): void {
    for (const [name, field] of table.entries) {
      // What clients send back of answers asks for nothing.
      if (field.neutral === ANY) continue;
      const path = place === '' ? name : `${place}.${name}`;
      this.#put(place, type, rowOf(path, field, isTranslated));
      const within = field.isList ? `${path}[]` : path;
      for (const kind of field.kinds) {
        const isSent = isTranslated && kind.isTranslated;
        if (kind.table !== null) this.add(kind.table, within, kind.type ?? type, isSent);
        else if (!kind.isTranslated) this.#put(within, kind.type, nativeRow(within));
      }
    }
  }

  rows(): readonly FieldRow[] {
    return Array.from(this.#rows.values(), ({ row, types }) => {
      const place = row.path.slice(0, row.path.lastIndexOf('.') + 1);
      const isAny = types.size === 0 || types.size === this.#types.get(place)?.size;
      return isAny ? row : { ...row, types: [...types] };
    });
  }

  #put(place: string, type: string | null, row: FieldRow): void {
    const key = JSON.stringify(row);
    const { types } = getOrInsert(this.#rows, key, () => ({ row, types: new Set() }));
    if (type === null) return;
    types.add(type);
    getOrInsert(this.#types, `${place}.`, () => new Set()).add(type);
  }
}

/** Objects whose fields are not listed, since only upstreams of the same format get them. */
function nativeRow(path: string): FieldRow {
  const about = 'Sent unchanged.';
  return { path, class: 'meaning', upstreams: 'same format', neutral: null, about };
}

function rowOf(path: string, field: Field, isTranslated: boolean): FieldRow {
  const reaches = field.class === 'advice' || field.isTranslated;
  return {
    path,
    class: field.class,
    upstreams: reaches && isTranslated ? 'all' : 'same format',
    neutral: field.neutral?.words ?? null,
    about: field.about,
  };
}
