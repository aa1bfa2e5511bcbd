import type { Random } from '../random.ts';

/** Texts that break parsers, stores and terminals. */
const TEXTS: readonly string[] = [
  '',
  ' ',
  '\0',
  '\ud800',
  'a\udc00b',
  '\u202e\u009b31m',
  'e\u0301\u0301\u0301',
  '\u{1f469}\u200d\u{1f4bb}',
  '../../etc/passwd',
  '__proto__',
  'constructor',
  'toString',
  'a\r\nX-Evil: 1',
  '%00%ff%',
  '${ORIEL_BOOTSTRAP_KEY}',
  '1e999',
  '-0',
  'NaN',
  'data:image/png;base64,AAAA',
  'data:;base64',
  'file:///etc/passwd',
  'http://[::1]:1/',
  'http://127.0.0.1:9/latest',
  'javascript:alert(1)',
  'ms://file',
  'oriel:AAAA',
  'sandbox:repeat=3',
  'x'.repeat(300),
  'y'.repeat(40_000),
];

export function strangeText(random: Random): string {
  if (random.chance(0.7)) return random.pick(TEXTS);
  const points = Array.from({ length: random.below(40) }, () =>
    random.pick([random.below(128), random.below(0x3000), 0xd800 + random.below(2048)]),
  );
  return String.fromCharCode(...points);
}

const NUMBERS: readonly number[] = [
  0,
  -0,
  -1,
  1,
  0.5,
  1e-320,
  1e308,
  -1e308,
  2 ** 31,
  2 ** 32,
  2 ** 53,
  2 ** 53 + 2,
  -(2 ** 63),
  11,
  8193,
  1_048_577,
];

export function strangeValue(random: Random): unknown {
  switch (random.below(9)) {
    case 0:
      return null;
    case 1:
      return random.chance(0.5);
    case 2:
      return random.pick(NUMBERS);
    case 3:
    case 4:
      return strangeText(random);
    case 5:
      return Array.from({ length: random.pick([0, 1, 17, 2000]) }, () => random.below(3));
    case 6:
      return JSON.parse('{"__proto__":{"polluted":1},"constructor":{"prototype":{"polluted":1}}}');
    case 7:
      return nested(random.pick([2, 100, 999, 1500]), random.chance(0.5));
    default:
      return { [strangeText(random)]: strangeText(random), type: strangeText(random) };
  }
}

function nested(depth: number, isList: boolean): unknown {
  let value: unknown = 1;
  for (let level = 0; level < depth; level += 1) value = isList ? [value] : { a: value };
  return value;
}

interface Place {
  readonly parent: Record<string | number, unknown>;
  readonly key: string | number;
}

function placesOf(value: unknown): Place[] {
  const places: Place[] = [];
  const open = [value];
  while (open.length > 0 && places.length < 2000) {
    const parent = open.pop();
    if (typeof parent !== 'object' || parent === null) continue;
    const keys = Array.isArray(parent) ? [...parent.keys()] : Object.keys(parent);
    for (const key of keys) {
      const fields = parent as Record<string | number, unknown>;
      places.push({ parent: fields, key });
      open.push(fields[key]);
    }
  }
  return places;
}

/** A copy of a value with one to four changes. */
export function mutatedJson<Value>(value: Value, random: Random): Value {
  const copy = structuredClone(value);
  const changes = 1 + random.below(4);
  for (let change = 0; change < changes; change += 1) {
    const places = placesOf(copy);
    if (places.length === 0) break;
    const { parent, key } = random.pick(places);
    const old = parent[key];
    switch (random.below(8)) {
      case 0:
        if (Array.isArray(parent)) parent.splice(Number(key), 1);
        else delete parent[key];
        break;
      case 1:
        parent[key] = Array.isArray(old) ? { a: old } : [old];
        break;
      case 2:
        parent[key] = typeof old === 'string' ? Number(old) : String(old);
        break;
      case 3:
        if (Array.isArray(parent)) parent.push(structuredClone(old));
        else parent[strangeText(random)] = structuredClone(old);
        break;
      case 4: {
        const other = random.pick(places);
        parent[key] = structuredClone(other.parent[other.key]);
        break;
      }
      default:
        parent[key] = strangeValue(random);
    }
  }
  return copy;
}

/** JSON text of a value in unusual notation, or broken JSON. */
export function writtenJson(value: unknown, random: Random): Buffer {
  const text = JSON.stringify(value) ?? 'null';
  const bytes = Buffer.from(text);
  switch (random.below(14)) {
    case 0:
      return bytes.subarray(0, random.below(bytes.length + 1));
    case 1: {
      const at = random.below(bytes.length + 1);
      const inserted = random.bytes(1 + random.below(6));
      return Buffer.concat([bytes.subarray(0, at), inserted, bytes.subarray(at)]);
    }
    case 2:
      // A duplicate key: every parser must use the last value.
      return Buffer.from(text.replace(/^\{/, '{"model":7,"model":null,"stream":"x",'));
    case 3:
      return Buffer.from(text.replace(/^\{/, '{"__proto__":{"isAdmin":true},'));
    case 4:
      return Buffer.from(text.replaceAll(/\d+/g, (digits) => `${digits}${'0'.repeat(400)}`));
    case 5:
      return Buffer.concat([Buffer.from([0xef, 0xbb, 0xbf]), bytes]);
    default:
      return bytes;
  }
}
