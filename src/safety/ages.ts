import { normalise } from './normalise.ts';
import { ageWords } from './word-lists.ts';
import type { Word } from './words.ts';

/** An age in years that the words from `start` to `end` state. */
export interface Age {
  readonly years: number;
  readonly start: number;
  readonly end: number;
}

const WORDS = ageWords();
const normalised = (words: readonly string[]) => words.map(normalise);

/** The numbers from 1 to 17 by their names. */
const NUMBERS = new Map<string, number>();
for (const names of Object.values(WORDS.numbers)) {
  for (const [index, name] of names.entries()) {
    if (name !== null) NUMBERS.set(normalise(name), index + 1);
  }
}
const TENS = new Set(normalised(WORDS.tens));
const LINKS = new Set(normalised(WORDS.links));
const UNITS = normalised(WORDS.units).map(unit);
const INFANT_UNITS = normalised(WORDS.infantUnits).map(unit);
const LEADS = new Set(normalised(WORDS.leads));
const LEAD_FILLERS = new Set(normalised(WORDS.leadFillers));

const HAN_DIGITS = '〇一二三四五六七八九';
const COUNTED = /^([0-9]{1,3})(\p{L}+)$/u;
const DIGITS = /^[0-9]{1,4}$/;

interface Unit {
  readonly words: readonly string[];
  readonly isOpen: boolean;
}

function unit(written: string): Unit {
  const isOpen = written.endsWith('*');
  const bare = isOpen ? written.slice(0, -1) : written;
  const isHan = /^[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}]+$/u.test(bare);
  return { words: isHan ? Array.from(bare) : bare.split(' '), isOpen };
}

/** Every age that a prompt states. */
export function agesOf(words: readonly Word[]): Age[] {
  return words.map((_, at) => ageAt(words, at)).filter((age) => age !== null);
}

function ageAt(words: readonly Word[], at: number): Age | null {
  const { text } = words[at]!;
  const counted = COUNTED.exec(text);
  if (counted !== null) {
    return ageWithUnit(words, at, { years: Number(counted[1]), start: at }, counted[2]!);
  }
  const number = numberAt(words, at);
  if (number === null) return null;
  const age = ageWithUnit(words, at + 1, number);
  if (age !== null || !isLed(words, number.start)) return age;
  return { ...number, end: at + 1 };
}

/** A number as an age, if a unit begins at an index. `head` replaces the unit's first word. */
function ageWithUnit(
  words: readonly Word[],
  at: number,
  { years, start }: Omit<Age, 'end'>,
  head = words[at]?.text,
): Age | null {
  const end = unitEnd(words, at, UNITS, head);
  if (end !== null) return { years, start, end };
  const infant = unitEnd(words, at, INFANT_UNITS, head);
  return infant === null ? null : { years: 0, start, end: infant };
}

/** The number whose last word is at an index. */
function numberAt(words: readonly Word[], at: number): Omit<Age, 'end'> | null {
  const { text } = words[at]!;
  if (DIGITS.test(text)) {
    const before = words[at - 1];
    if (words[at]!.glued && before !== undefined && DIGITS.test(before.text)) {
      // `1,000` is a thousand; of `2.5` and `10-12` the first number is the age.
      if (text.length === 3) return { years: 1000, start: at - 1 };
      return { years: Number(before.text), start: at - 1 };
    }
    return { years: Number(text), start: at };
  }
  const han = hanNumber(words, at);
  if (han !== null) return han;
  const years = NUMBERS.get(text);
  if (years === undefined) {
    return TENS.has(text) ? { years: 20, start: at } : null;
  }
  const before = words[at - 1]?.text ?? '';
  const isAfterTens =
    TENS.has(before) || (LINKS.has(before) && TENS.has(words[at - 2]?.text ?? ''));
  if (isAfterTens) return { years: 20 + years, start: at - 1 };
  if (before === 'on' && years < 10) return { years: 10 + years, start: at - 1 };
  return { years, start: at };
}

function hanNumber(words: readonly Word[], at: number): Omit<Age, 'end'> | null {
  let start = at;
  while (start >= 0 && at - start < 4 && isHanDigit(words[start]!.text)) start--;
  start++;
  if (start > at) return null;
  let years = 0;
  let unit = 0;
  for (let index = start; index <= at; index++) {
    const { text } = words[index]!;
    if (text === '百') return { years: 100, start };
    if (text === '十') {
      years = (unit === 0 ? 1 : unit) * 10;
      unit = 0;
    } else {
      unit = text === '两' ? 2 : HAN_DIGITS.indexOf(text);
    }
  }
  return { years: years + unit, start };
}

function isHanDigit(text: string): boolean {
  return (
    text === '十' || text === '百' || text === '两' || (text !== '' && HAN_DIGITS.includes(text))
  );
}

/** The end of the first unit that begins at an index. */
function unitEnd(
  words: readonly Word[],
  at: number,
  units: readonly Unit[],
  head: string | undefined,
): number | null {
  if (head === undefined) return null;
  for (const { words: parts, isOpen } of units) {
    const last = parts.length - 1;
    const fits = parts.every((part, index) => {
      const text = index === 0 ? head : (words[at + index]?.text ?? '');
      return isOpen && index === last ? text.startsWith(part) : text === part;
    });
    if (fits) return at + parts.length;
  }
  return null;
}

function isLed(words: readonly Word[], start: number): boolean {
  for (let at = start - 1; at >= 0 && start - at <= 3; at--) {
    const { text } = words[at]!;
    if (LEADS.has(text)) return true;
    if (!LEAD_FILLERS.has(text)) return false;
  }
  return false;
}
