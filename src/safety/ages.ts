import { normalise } from './normalise.ts';
import type { Word } from './words.ts';

/** An age that a prompt states, in years. The words from `start` to `end` say it. */
export interface Age {
  readonly years: number;
  readonly start: number;
  readonly end: number;
}

function list(text: string): string[] {
  return text.split(/\s*,\s*/).map((term) => normalise(term.trim()));
}

/** One to seventeen, by language; what several languages share is written once. */
const NUMBERS = new Map<string, number>();
for (const names of [
  'one, two, three, four, five, six, seven, eight, nine, ten, eleven, twelve, thirteen, fourteen, fifteen, sixteen, seventeen',
  'ein, zwei, drei, vier, fünf, sechs, sieben, acht, neun, zehn, elf, zwölf, dreizehn, vierzehn, fünfzehn, sechzehn, siebzehn',
  'un, deux, trois, quatre, cinq, six, sept, huit, neuf, dix, onze, douze, treize, quatorze, quinze, seize, dix-sept',
  'un, dos, tres, cuatro, cinco, seis, siete, ocho, nueve, diez, once, doce, trece, catorce, quince, dieciséis, diecisiete',
  'um, dois, três, quatro, cinco, seis, sete, oito, nove, dez, onze, doze, treze, quatorze, quinze, dezesseis, dezessete',
  'un, due, tre, quattro, cinque, sei, sette, otto, nove, dieci, undici, dodici, tredici, quattordici, quindici, sedici, diciassette',
  'jeden, dwa, trzy, cztery, pięć, sześć, siedem, osiem, dziewięć, dziesięć, jedenaście, dwanaście, trzynaście, czternaście, piętnaście, szesnaście, siedemnaście',
  'één, twee, drie, vier, vijf, zes, zeven, acht, negen, tien, elf, twaalf, dertien, veertien, vijftien, zestien, zeventien',
  'bir, iki, üç, dört, beş, altı, yedi, sekiz, dokuz, on, onbir, oniki, onüç, ondört, onbeş, onaltı, onyedi',
  'один, два, три, четыре, пять, шесть, семь, восемь, девять, десять, одиннадцать, двенадцать, тринадцать, четырнадцать, пятнадцать, шестнадцать, семнадцать',
  'одного, двух, трёх, четырёх, пяти, шести, семи, восьми, девяти, десяти, одиннадцати, двенадцати, тринадцати, четырнадцати, пятнадцати, шестнадцати, семнадцати',
  'один, два, три, чотири, п’ять, шість, сім, вісім, дев’ять, десять, одинадцять, дванадцять, тринадцять, чотирнадцять, п’ятнадцять, шістнадцять, сімнадцять',
  'एक, दो, तीन, चार, पाँच, छह, सात, आठ, नौ, दस, ग्यारह, बारह, तेरह, चौदह, पंद्रह, सोलह, सत्रह',
  'satu, dua, tiga, empat, lima, enam, tujuh, delapan, sembilan, sepuluh, sebelas, -, -, -, -, -, -',
  'một, hai, ba, bốn, năm, sáu, bảy, tám, chín, mười, -, -, -, -, -, -, -',
  '한, 두, 세, 네, 다섯, 여섯, 일곱, 여덟, 아홉, 열, 열한, 열두, 열세, 열네, 열다섯, 열여섯, 열일곱',
  'واحد, سنتين, ثلاث, أربع, خمس, ست, سبع, ثماني, تسع, عشر, -, -, -, -, -, -, -',
]) {
  list(names).forEach((name, index) => {
    if (name !== '-') NUMBERS.set(name, index + 1);
  });
}

/** Words before a number that make it an adult's: `twenty-five`, `dua puluh lima`. */
const TENS = new Set(
  list(
    'twenty, thirty, forty, fifty, sixty, seventy, eighty, ninety, hundred, vingt, trente, quarante, cinquante, soixante, treinta, cuarenta, cincuenta, sesenta, setenta, vinte, trinta, quarenta, sessenta, dwadzieścia, trzydzieści, czterdzieści, pięćdziesiąt, yirmi, otuz, kırk, elli, altmış, двадцать, тридцать, сорок, пятьдесят, двадцяти, двадцати, тридцати, двадцять, тридцять, сорока, puluh, mươi, عشرين, ثلاثين',
  ),
);
const LINKS = new Set(['y', 'e', 'i', 'et', 'and']);

/** What stands after a number of years: each is a run of words; a last `*` leaves the end open. */
const UNITS = list(
  'year old*, years old*, year olds, yr old*, yrs old*, years of age, years young, yo, y o, yrs, yr, yos, jahre alt, jahr alt, jährig*, jahre altes, jahre alte, jahre alter, ans, an, años, año, anos, ano, anni, anno, lat, lata, letni*, latka, latek, latki, jaar, jarig*, yaş*, лет, года, год, годик*, летн*, років, роки, рік, річн*, 岁, 歳, 才, 周岁, 살*, 세*, साल*, वर्ष*, बरस, سنوات, سنة, سنه, سنين, عام*, أعوام, tahun, thn, tuổi',
).map(unit);
/** The same for those under two. */
const INFANT_UNITS = list(
  'month old*, months old*, week old*, weeks old*, day old*, days old*, monate alt, mois, meses, mesi, miesięcy, maanden oud, месяц*, місяц*, 个月大, か月, ヶ月, 개월*, bulan, tháng tuổi',
).map(unit);
/** What stands before it. */
const LEADS = new Set(
  list(
    'aged, age, ages, turning, alter, edad, idade, età, wieku, leeftijd, возраст, возрасте, віком, віці, usia, berusia, umur, berumur, عمره, عمرها, عمر, بعمر, उम्र, आयु, tuổi, lên, looks, look',
  ),
);
const LEAD_FILLERS = new Set(list('of, de, von, is, około, about, around, only, just, :, like, a'));

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

/** Every age that is stated in the prompt. */
export function agesOf(words: readonly Word[]): Age[] {
  const ages: Age[] = [];
  for (let at = 0; at < words.length; at++) {
    const age = ageAt(words, at);
    if (age === null) continue;
    ages.push(age);
  }
  return ages;
}

function ageAt(words: readonly Word[], at: number): Age | null {
  const { text } = words[at]!;
  const counted = COUNTED.exec(text);
  if (counted !== null) {
    const years = Number(counted[1]);
    const end = unitEnd(words, at, UNITS, counted[2]!);
    if (end !== null) return { years, start: at, end };
    const infant = unitEnd(words, at, INFANT_UNITS, counted[2]!);
    if (infant !== null) return { years: 0, start: at, end: infant };
    return null;
  }
  const number = numberAt(words, at);
  if (number === null) return null;
  const { years, start } = number;
  const end = unitEnd(words, at + 1, UNITS);
  if (end !== null) return { years, start, end };
  const infant = unitEnd(words, at + 1, INFANT_UNITS);
  if (infant !== null) return { years: 0, start, end: infant };
  return isLed(words, start) ? { years, start, end: at + 1 } : null;
}

/** The number whose last word is at this place. */
function numberAt(words: readonly Word[], at: number): { years: number; start: number } | null {
  const { text } = words[at]!;
  if (DIGITS.test(text)) {
    const before = words[at - 1];
    if (words[at]!.glued && before !== undefined && DIGITS.test(before.text)) {
      // `1,000` is a thousand; `2.5` and `10-12` are as old as their first number says.
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

function hanNumber(words: readonly Word[], at: number): { years: number; start: number } | null {
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

/** Where the first unit that stands at a place ends. A head stands for the first word if given. */
function unitEnd(
  words: readonly Word[],
  at: number,
  units: readonly Unit[],
  head = words[at]?.text,
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
