import fc from 'fast-check';

/** Unexpected values. */
const STRANGE: readonly unknown[] = [
  null,
  true,
  false,
  0,
  -1,
  0.5,
  1e308,
  Number.MAX_SAFE_INTEGER,
  '',
  ' ',
  'x',
  '1',
  '\0',
  '\ud800',
  'a\nb\r\nX-Evil: 1',
  'y'.repeat(10_000),
  'oriel:AAAA',
  `oriel:${Buffer.from('["chat","openai",{"reasoning_details":5}]').toString('base64url')}`,
  `oriel:${Buffer.from('["responses","openai",{"id":{},"encrypted_content":7}]').toString('base64url')}`,
  `oriel:${Buffer.from('["messages","anthropic",{"signature":[]}]').toString('base64url')}`,
  'data:image/png;base64,AAAA',
  'data:;base64',
  [],
  [null],
  [[]],
  {},
  { length: 1 },
  { toString: 1, valueOf: 1 },
  { type: 'text' },
  { type: 'constructor' },
  { type: 'function', function: null },
  JSON.parse('{"constructor":1,"hasOwnProperty":null}'),
];

/** One change to a value. */
export interface Mutation {
  /** Index of the changed node. */
  readonly at: number;
  readonly how: 'delete' | 'replace' | 'duplicate' | 'wrap' | 'text' | 'rename' | 'swap';
  readonly value: unknown;
}

export const mutations: fc.Arbitrary<readonly Mutation[]> = fc.array(
  fc.record({
    at: fc.nat(100_000),
    how: fc.constantFrom(
      'delete',
      'replace',
      'replace',
      'duplicate',
      'wrap',
      'text',
      'rename',
      'swap',
    ),
    value: fc.constantFrom(...STRANGE),
  }),
  { minLength: 1, maxLength: 2 },
);

interface Node {
  readonly parent: Record<string, unknown> | unknown[];
  readonly key: string | number;
}

function nodesOf(value: unknown): Node[] {
  if (typeof value !== 'object' || value === null) return [];
  const keys = Array.isArray(value) ? [...value.keys()] : Object.keys(value);
  const parent = value as Record<string | number, unknown>;
  return keys.flatMap((key) => [
    { parent: parent as Node['parent'], key },
    ...nodesOf(parent[key]),
  ]);
}

/** A mutated copy of a value. */
export function mutated<Value>(value: Value, changes: readonly Mutation[]): Value {
  const copy = structuredClone(value);
  for (const { at, how, value: strange } of changes) {
    const nodes = nodesOf(copy);
    if (nodes.length === 0) continue;
    const { parent, key } = nodes[at % nodes.length]!;
    const fields = parent as Record<string | number, unknown>;
    const old = fields[key];
    const list = Array.isArray(parent) ? parent : null;
    switch (how) {
      case 'delete':
        if (list) list.splice(Number(key), 1);
        else delete fields[key];
        break;
      case 'replace':
        fields[key] = structuredClone(strange);
        break;
      case 'duplicate':
        if (list) list.splice(Number(key), 0, structuredClone(old));
        else fields[`${key}_`] = structuredClone(old);
        break;
      case 'wrap':
        fields[key] = Array.isArray(old) ? { a: old } : [old];
        break;
      case 'text':
        fields[key] = JSON.stringify(old) ?? '';
        break;
      case 'rename':
        if (list) list.reverse();
        else {
          delete fields[key];
          fields[`x_${key}`] = old;
        }
        break;
      case 'swap': {
        const other = nodes[(at * 7 + 1) % nodes.length]!;
        fields[key] = structuredClone(
          (other.parent as Record<string | number, unknown>)[other.key],
        );
        break;
      }
    }
  }
  return copy;
}
