import { lengthOf, quoted } from './reading.ts';
import { Unmakeable } from './unmakeable.ts';
import type { Work } from './work.ts';

/** Characters that a text by a pattern has at the most. */
const LONGEST = 10_000;

/** Groups within groups. */
const DEEPEST = 50;

interface Wanted {
  readonly least: number;
  readonly most: number;
  /** Texts of different variants differ as far as the pattern lets them. */
  readonly variant: number;
}

/**
 * A text that a pattern matches, made by walking along it: the first of alternatives, and as few of
 * what repeats as the length allows. The pattern is never run, since one from outside may take for
 * ever.
 *
 * @throws Unmakeable where the pattern looks around, or looks back
 */
export function textForPattern(
  pattern: string,
  { least, most, variant }: Wanted,
  work: Work,
): string {
  for (let more = variant; more <= LONGEST; more = more * 2 + 1) {
    const text = new Walk(pattern, { more, variant, work }).text();
    const length = lengthOf(text, work);
    if (length > most) break;
    if (length >= least) return text;
  }
  // Variants made it too long.
  if (variant > 0) return textForPattern(pattern, { least, most, variant: 0 }, work);
  throw new Unmakeable(`no text of that length is known to match ${quoted(pattern)}`);
}

interface WalkOptions {
  readonly more: number;
  readonly variant: number;
  readonly work: Work;
}

/** Steps that one atom of a pattern takes, and one character. */
const ATOM = 8;
const CHARACTER = 4;

class Walk {
  readonly #pattern: string;
  /** Repeats beyond the fewest. */
  readonly #more: number;
  readonly #variant: number;
  readonly #work: Work;
  #at = 0;
  #depth = 0;

  constructor(pattern: string, { more, variant, work }: WalkOptions) {
    this.#pattern = pattern;
    this.#more = more;
    this.#variant = variant;
    this.#work = work;
  }

  text(): string {
    const text = this.#alternatives();
    if (this.#at < this.#pattern.length) throw this.#unknown();
    return text;
  }

  #unknown(): Unmakeable {
    return new Unmakeable(`the sandbox cannot follow the pattern ${quoted(this.#pattern)}`);
  }

  #takes(text: string): boolean {
    if (!this.#pattern.startsWith(text, this.#at)) return false;
    this.#at += text.length;
    return true;
  }

  #alternatives(): string {
    this.#depth += 1;
    if (this.#depth > DEEPEST) throw this.#unknown();
    const first = this.#sequence();
    while (this.#takes('|')) this.#sequence();
    this.#depth -= 1;
    return first;
  }

  #sequence(): string {
    let text = '';
    while (this.#at < this.#pattern.length && !/[|)]/.test(this.#pattern[this.#at]!)) {
      if (this.#takes('^') || this.#takes('$')) continue;
      const atom = this.#atom();
      const times = this.#times();
      if (text.length + atom.length * times > LONGEST) throw this.#unknown();
      text += atom.repeat(times);
    }
    return text;
  }

  #times(): number {
    const [fewest, most] = this.#quantifier();
    this.#takes('?');
    return Math.min(most, fewest + this.#more);
  }

  #quantifier(): readonly [fewest: number, most: number] {
    if (this.#takes('*')) return [0, Infinity];
    if (this.#takes('+')) return [1, Infinity];
    if (this.#takes('?')) return [0, 1];
    const counted = /^\{(\d{1,9})(,?)(\d{0,9})\}/.exec(
      this.#pattern.slice(this.#at, this.#at + 24),
    );
    if (!counted) return [1, 1];
    const [whole, fewest, comma, most] = counted;
    this.#at += whole.length;
    if (comma === '') return [Number(fewest), Number(fewest)];
    return [Number(fewest), most === '' ? Infinity : Number(most)];
  }

  #atom(): string {
    this.#work.spend(ATOM);
    if (this.#takes('(')) {
      if (this.#takes('?') && !this.#takes(':')) {
        const name = /^<[A-Za-z_$][\w$]{0,99}>/.exec(this.#pattern.slice(this.#at, this.#at + 110));
        if (!name) throw this.#unknown();
        this.#at += name[0].length;
      }
      const text = this.#alternatives();
      if (!this.#takes(')')) throw this.#unknown();
      return text;
    }
    if (this.#takes('[')) return this.#class();
    if (this.#takes('.')) return this.#choose([['a', 'z']]);
    if (this.#takes('\\')) {
      const ranges = this.#escape();
      return this.#choose(ranges);
    }
    return this.#character();
  }

  #character(): string {
    this.#work.spend(CHARACTER);
    const code = this.#pattern.codePointAt(this.#at);
    if (code === undefined) throw this.#unknown();
    const character = String.fromCodePoint(code);
    this.#at += character.length;
    return character;
  }

  /** One of several characters, another one for each variant. */
  #choose(ranges: readonly Range[]): string {
    const [from, to] = ranges[0]!;
    const first = from.codePointAt(0)!;
    const size = to.codePointAt(0)! - first + 1;
    if (size < 1) throw this.#unknown();
    return String.fromCodePoint(first + (this.#variant % size));
  }

  #class(): string {
    const excluded = this.#takes('^');
    const ranges: Range[] = [];
    while (!this.#takes(']')) {
      if (this.#takes('\\')) {
        const escaped = this.#escape();
        const [from, to] = escaped[0]!;
        if (escaped.length > 1 || from !== to) {
          ranges.push(...escaped);
          continue;
        }
        ranges.push(this.#range(from));
      } else ranges.push(this.#range(this.#character()));
    }
    if (!excluded) {
      if (ranges.length === 0) throw this.#unknown();
      return this.#choose(ranges);
    }
    this.#work.spend(PLAIN.length * (1 + ranges.length / 4));
    const free = PLAIN.filter((one) => !ranges.some(([from, to]) => one >= from && one <= to));
    if (free.length === 0) throw this.#unknown();
    return free[this.#variant % free.length]!;
  }

  #range(from: string): Range {
    const next = this.#pattern[this.#at + 1];
    if (this.#pattern[this.#at] !== '-' || next === ']' || next === undefined) return [from, from];
    this.#at += 1;
    if (!this.#takes('\\')) return [from, this.#character()];
    const [[, to]] = this.#escape() as [Range];
    return [from, to];
  }

  /** What a backslash stands for, which has been taken. */
  #escape(): readonly Range[] {
    const character = this.#character();
    const known = ESCAPES[character];
    if (known) return known;
    if (character === 'u' || character === 'x') {
      const digits = /^(?:\{([\da-f]{1,6})\}|([\da-f]{4})|([\da-f]{2}))/i.exec(
        this.#pattern.slice(this.#at, this.#at + (character === 'x' ? 2 : 8)),
      );
      const code = Number.parseInt(digits?.[1] ?? digits?.[2] ?? digits?.[3] ?? '', 16);
      if (!digits || !(code <= 0x10ffff)) throw this.#unknown();
      this.#at += digits[0].length;
      const one = String.fromCodePoint(code);
      return [[one, one]];
    }
    // Bounds of words, what was matched before, classes of characters by property.
    if (/[A-Za-z0-9]/.test(character)) throw this.#unknown();
    return [[character, character]];
  }
}

type Range = readonly [from: string, to: string];

const PLAIN = Array.from(
  'abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_- .!#%&~é中',
);

const single = (character: string): readonly Range[] => [[character, character]];

const ESCAPES: Readonly<Record<string, readonly Range[]>> = {
  __proto__: null as never,
  d: [['0', '9']],
  w: [
    ['a', 'z'],
    ['A', 'Z'],
    ['0', '9'],
    ['_', '_'],
  ],
  s: single(' '),
  D: [
    ['a', 'z'],
    ['A', 'Z'],
  ],
  W: single('-'),
  S: [
    ['a', 'z'],
    ['A', 'Z'],
  ],
  n: single('\n'),
  r: single('\r'),
  t: single('\t'),
  f: single('\f'),
  v: single('\v'),
  '0': single('\0'),
};
