import type { Field, FieldTable } from './fields.ts';

/** One field of a request, for documentation. */
export interface FieldRow {
  /** `text.verbosity`. */
  readonly path: string;
  readonly class: 'meaning' | 'advice';
  /** Which upstreams get it: those of every format, as far as it has a word for it, or of the same one. */
  readonly upstreams: 'all' | 'same format';
  /** Values that ask for what happens anyway, beside null; null for none. */
  readonly neutral: string | null;
  readonly about: string;
}

/** The fields of a request and those within them, except for the contents of messages and tools. */
export function fieldRows(table: FieldTable, prefix = ''): readonly FieldRow[] {
  return [...table.entries].flatMap(([name, field]) => {
    const path = `${prefix}${name}`;
    const own = table.within(name);
    return [rowOf(path, field), ...(own && !CONTENTS.has(name) ? fieldRows(own, `${path}.`) : [])];
  });
}

/** Fields with a list of messages, parts or tools. */
const CONTENTS = new Set(['contents', 'input', 'messages', 'system', 'systemInstruction', 'tools']);

function rowOf(path: string, field: Field): FieldRow {
  const reaches = field.class === 'advice' || field.isTranslated;
  return {
    path,
    class: field.class,
    upstreams: reaches ? 'all' : 'same format',
    neutral: field.neutral?.words ?? null,
    about: field.about,
  };
}
