import fc from 'fast-check';
import { afterEach, describe, expect, it, test, vi } from 'vitest';
import { EntryNames, printable, safeBaseName } from '../../../src/operations/batch/filename.ts';
import { runs } from '../../runs.ts';

const ZWJ = '\u200d';
const FAMILY = `👨${ZWJ}👩${ZWJ}👧${ZWJ}👦`;
const SCOTLAND = '🏴\u{e0067}\u{e0062}\u{e0073}\u{e0063}\u{e0074}\u{e007f}';
const ZALGO = `z${'\u0301\u0302\u0303'.repeat(60)}`;

const bytesOf = (text: string) => new TextEncoder().encode(text).length;

/** Control and bidi characters and separators of lines, by number rather than by property. */
function isUnsafe(codePoint: number): boolean {
  return (
    codePoint <= 0x1f ||
    (codePoint >= 0x7f && codePoint <= 0x9f) ||
    codePoint === 0x061c ||
    codePoint === 0x200e ||
    codePoint === 0x200f ||
    (codePoint >= 0x2028 && codePoint <= 0x202e) ||
    (codePoint >= 0x2066 && codePoint <= 0x2069)
  );
}

/** Characters that are invisible in any context. */
const ALWAYS_INVISIBLE = ['\u00ad', '\u034f', '\u200b', '\u2060', '\u3164', '\ufeff', '\ufffa'];

/** The rules of entry names, written without the code under test. */
function faultsOf(name: string, extension: string): string[] {
  const faults: string[] = [];
  const rule = (kept: boolean, fault: string) => {
    if (!kept) faults.push(fault);
  };
  const base = name.slice(0, name.length - extension.length - 1);
  const characters = [...name];
  const devices = [
    ...['CON', 'PRN', 'AUX', 'NUL', 'CONIN$', 'CONOUT$'],
    ...[...'0123456789¹²³'].flatMap((digit) => [`COM${digit}`, `LPT${digit}`]),
  ];

  rule(name === `${base}.${extension}`, `does not end in .${extension}`);
  rule(base.length > 0, 'has nothing before its extension');
  rule(bytesOf(name) <= 255, 'is longer than 255 bytes');
  rule(new TextDecoder().decode(new TextEncoder().encode(name)) === name, 'is no valid UTF-16');
  rule(name.normalize('NFC') === name, 'is not in NFC');
  rule(!characters.some((one) => isUnsafe(one.codePointAt(0)!)), 'has a control character');
  rule(!characters.some((one) => ALWAYS_INVISIBLE.includes(one)), 'has an invisible character');
  rule(!characters.some((one) => '/\\:*?"<>|'.includes(one)), 'has a character Windows forbids');
  rule(!['.', '-'].includes(name.charAt(0)), 'starts with a dot or a dash');
  rule(base.trim() === base, 'has space around its base');
  rule(!base.endsWith('.'), 'has a dot before its extension');
  rule(!devices.includes(name.split('.')[0]!.trim().toUpperCase()), 'is the name of a device');
  return faults;
}

/** One of the spellings of a word in capitals and small letters, by number. */
const spell = (word: string, number: number) =>
  [...word].map((letter, at) => ((number >> at) & 1 ? letter.toUpperCase() : letter)).join('');

const twin = (name: string) => name.toLowerCase().normalize('NFC');
const claimOnce = (name: string, extension = 'webp') => new EntryNames().claim(name, extension);

/** Pieces that names go wrong with, so that random names are hostile rather than merely odd. */
const PIECES = [
  ...['a', 'A', 'ß', 'SS', 'ẞ', 'Σ', 'σ', 'ς', 'İ', 'ı', 'é', 'e\u0301', 'É', '\u0301', '\u212a'],
  ...['.', ' ', '-', '_', '/', '\\', ':', '*', '?', '"', '<', '>', '|', '\u037e', '\u00a0'],
  ...['con', 'CON', 'nul', 'Com1', 'LPT²', 'image', 'manifest', '.json', '.jpg', '.webp', '-2'],
  ...['\0', '\n', '\r', '\t', '\x1b[31m', '\x7f', '\x9b', '\u2028', '\u202e', '\u2066', '\u061c'],
  ...['\u200b', '\u200c', ZWJ, '\ufeff', '\ufe0f', '\u3164', '\u{e0041}', '\u{e007f}', '\ufffa'],
  ...[FAMILY, SCOTLAND, '👍🏽', '1\ufe0f\u20e3', '葛\u{e0100}', 'می\u200cخواهم', '\u1820\u180b'],
  ...[
    '\ud83d',
    '\ude00',
    'x'.repeat(120),
    '漢'.repeat(40),
    ' '.repeat(250),
    FAMILY.repeat(6),
    ZALGO,
  ],
];
const anyName = fc.oneof(
  fc.string({ unit: 'binary' }),
  fc.string({ unit: 'grapheme', maxLength: 400 }),
  fc.array(fc.integer({ min: 0, max: 0xffff })).map((units) => String.fromCharCode(...units)),
  fc.string({ unit: fc.constantFrom(...PIECES), maxLength: 12 }),
);
const extension = fc.constantFrom('webp', 'png', 'jpg', 'json');

describe('safeBaseName', () => {
  test.each<[input: string, base: string]>([
    // What must stay as it is.
    ['photo.jpg', 'photo'],
    ['IMG_0042.JPEG', 'IMG_0042'],
    ['Été à Paris (1).jpg', 'Été à Paris (1)'],
    [
      "it's 100% & more; $HOME `x` [y] {z} #1 @2 ~3.png",
      "it's 100% & more; $HOME `x` [y] {z} #1 @2 ~3",
    ],
    ['写真.jpg', '写真'],
    ['صورة.jpg', 'صورة'],
    [`${FAMILY}.jpg`, FAMILY],
    [`${SCOTLAND} 1\ufe0f\u20e3 ❤\ufe0f 👍🏽.jpg`, `${SCOTLAND} 1\ufe0f\u20e3 ❤\ufe0f 👍🏽`],
    ['می\u200cخواهم.jpg', 'می\u200cخواهم'],
    // Extensions.
    ['photo', 'photo'],
    ['backup.tar.gz', 'backup.tar'],
    ['photo.jpg.png', 'photo.jpg'],
    ['.profile', 'profile'],
    ['.hidden.jpg', 'hidden'],
    ['.jpg', 'jpg'],
    ['Mr. Smith', 'Mr. Smith'],
    ['Mr. Smith.jpg', 'Mr. Smith'],
    ['photo.', 'photo'],
    ['photo.jpg.', 'photo'],
    ['photo.jpg . .', 'photo'],
    ['photo..jpg', 'photo'],
    ['photo . .jpg', 'photo'],
    ['фото.жпг', 'фото'],
    // Paths of either style.
    ['C:\\fakepath\\a.jpg', 'a'],
    ['dir/a.jpg', 'a'],
    ['/etc/passwd', 'passwd'],
    ['..\\..\\a.jpg', 'a'],
    ['../../.ssh/id_rsa', 'id_rsa'],
    ['a/b\\c/d.e\\f.jpg', 'f'],
    ['\\\\server\\share\\a.jpg', 'a'],
    ['C:a.jpg', 'C_a'],
    ['dir.d/a', 'a'],
    // Nothing is left.
    ['', 'image'],
    ['.', 'image'],
    ['..', 'image'],
    ['...', 'image'],
    ['   ', 'image'],
    ['---.jpg', 'image'],
    ['dir/', 'image'],
    ['C:\\', 'image'],
    ['\u202e\u200b\n.jpg', 'jpg'],
    ['a/\0', 'image'],
    ['\ud83d', 'image'],
    // Leading dots, dashes and spaces.
    ['-rf.jpg', 'rf'],
    ['--help', 'help'],
    [' - .-x.jpg', 'x'],
    ['–dash.jpg', '–dash'],
    ['\u00a0\u3000wide.jpg', 'wide'],
    // Invisible characters, out of place.
    ['a\nb\r\n\tc.jpg', 'abc'],
    ['nul\0byte.jpg', 'nulbyte'],
    ['\x1b[31mred\x1b[0m.jpg', '[31mred[0m'],
    ['a\x7f\x85\x9bb.jpg', 'ab'],
    ['photo\u202egpj.exe', 'photogpj'],
    ['\u2066a\u2069\u200e\u200f\u061c.jpg', 'a'],
    ['a\u200bb\u2060c\ufeffd\u00ade\u034f.jpg', 'abcde'],
    [`a${ZWJ}b\u200cc.jpg`, 'abc'],
    [`ا${ZWJ}${ZWJ}.jpg`, `ا${ZWJ}`],
    [`${ZWJ}${FAMILY}${ZWJ}.jpg`, FAMILY],
    ['x\ufe0f\u{e0041}\u{e007f}.jpg', 'x'],
    ['\u2028a\u2029b.jpg', 'ab'],
    ['a\ud83db\ude00c.jpg', 'abc'],
    ['a\ud83d\u200b\ude00.jpg', 'a'],
    // What Windows forbids.
    ['10:30 "best" <of> *|?.jpg', '10_30 _best_ _of_ ___'],
    ['a.jpg:Zone.Identifier', 'a.jpg_Zone'],
    ['CON.jpg', 'CON_'],
    ['con .jpg', 'con_'],
    ['con', 'con_'],
    ['Con.tar.gz', 'Con_.tar'],
    ['con .tar.gz', 'con_ .tar'],
    ['prn.jpg', 'prn_'],
    ['aux.jpg', 'aux_'],
    ['NUL', 'NUL_'],
    ['COM1.jpg', 'COM1_'],
    ['com¹.jpg', 'com¹_'],
    ['lpt³.jpg', 'lpt³_'],
    ['LPT9.jpg', 'LPT9_'],
    ['conin$.jpg', 'conin$_'],
    ['-con.jpg', 'con_'],
    ['c\u200bon.jpg', 'con_'],
    ['COM\u202e1.jpg', 'COM1_'],
    ['CONSOLE.jpg', 'CONSOLE'],
    ['com10.jpg', 'com10'],
    ['my con.jpg', 'my con'],
    ['con_.jpg', 'con_'],
    // Composition.
    ['e\u0301te\u0301.jpg', 'été'],
    ['e\u034f\u0301.jpg', 'é'],
    ['\u212b.jpg', 'Å'],
    ['<\u0338.jpg', '≮'],
  ])('%j gives %j', (input, base) => {
    expect(safeBaseName(input)).toBe(base);
  });

  it('uses only the part after the last slash', () => {
    fc.assert(
      fc.property(anyName, fc.constantFrom('/', '\\'), anyName, (folder, slash, name) => {
        expect(safeBaseName(`${folder}${slash}${name}`)).toBe(safeBaseName(name));
      }),
    );
  });
});

/** Folders and names: 'folder:name'. */
const pairs = (...texts: string[]) => texts.map((text) => text.split(':') as [string, string]);

describe('EntryNames in folders', () => {
  test.each<[why: string, inputs: [folder: string, name: string][], names: string[]]>([
    ['keep the tree', pairs('a/b:x.jpg', '.:x.jpg'), ['a/b/x.webp', 'x.webp']],
    ['number twins in one folder', pairs('a:x.jpg', 'A:X.jpg'), ['a/x.webp', 'a/X-2.webp']],
    [
      'are safe',
      pairs('..:x', 'con/.b:x', 'a\\b :x'),
      ['image/x.webp', 'con_/b/x.webp', 'a_b/x.webp'],
    ],
    ['are never a file', pairs('.:a.jpg', 'a.webp:b'), ['a.webp', 'a.webp-2/b.webp']],
    ['leave files their names', pairs('a.webp:b', '.:a'), ['a.webp/b.webp', 'a-2.webp']],
    ['spare the manifest', pairs('manifest.json:a'), ['manifest.json-2/a.webp']],
  ])('%s', (_, inputs, names) => {
    const entries = new EntryNames();
    expect(inputs.map(([folder, name]) => entries.claim(name, 'webp', folder))).toEqual(names);
  });
});

describe('EntryNames', () => {
  afterEach(() => {
    vi.restoreAllMocks();
  });

  test.each<[why: string, inputs: string[], names: string[]]>([
    ['equal names', ['a.jpg', 'a.jpg', 'a.jpg'], ['a.webp', 'a-2.webp', 'a-3.webp']],
    ['equal names of other types', ['a.jpg', 'a.png'], ['a.webp', 'a-2.webp']],
    ['equal names of other folders', ['x/a.jpg', 'y\\a.jpg'], ['a.webp', 'a-2.webp']],
    ['case', ['a.jpg', 'A.jpg', 'a.JPG'], ['a.webp', 'A-2.webp', 'a-3.webp']],
    ['composition', ['é.jpg', 'e\u0301.jpg', 'É.jpg'], ['é.webp', 'é-2.webp', 'É-3.webp']],
    [
      'sharp s',
      ['straße', 'STRASSE', 'STRAẞE'],
      ['straße.webp', 'STRASSE-2.webp', 'STRAẞE-3.webp'],
    ],
    ['final sigma', ['ΟΔΟΣ', 'οδος', 'οδοσ'], ['ΟΔΟΣ.webp', 'οδος-2.webp', 'οδοσ-3.webp']],
    ['invisible selectors', ['❤.jpg', '❤\ufe0f.jpg'], ['❤.webp', '❤\ufe0f-2.webp']],
    ['what was made equal', ['a?.jpg', 'a*.jpg', 'a\n_'], ['a_.webp', 'a_-2.webp', 'a_-3.webp']],
    [
      'numbers that are taken',
      ['a-2.jpg', 'a-3.jpg', 'a.jpg', 'a.jpg', 'a-2.jpg', 'a.jpg'],
      ['a-2.webp', 'a-3.webp', 'a.webp', 'a-4.webp', 'a-2-2.webp', 'a-5.webp'],
    ],
    ['nothing left', ['', '..', '-.jpg'], ['image.webp', 'image-2.webp', 'image-3.webp']],
    ['devices', ['CON.jpg', 'con .jpg', 'con_'], ['CON_.webp', 'con_-2.webp', 'con_-3.webp']],
  ])('numbers equal names: %s', (_, inputs, names) => {
    const entries = new EntryNames();
    expect(inputs.map((input) => entries.claim(input, 'webp'))).toEqual(names);
  });

  it('keeps names that differ in the new extension', () => {
    const entries = new EntryNames();
    expect(entries.claim('a.jpg', 'webp')).toBe('a.webp');
    expect(entries.claim('a.jpg', 'png')).toBe('a.png');
    expect(entries.claim('a.jpg', 'webp')).toBe('a-2.webp');
    expect(entries.claim('a.jpg', 'png')).toBe('a-2.png');
  });

  it('never gives a reserved name', () => {
    expect(claimOnce('manifest.json', 'json')).toBe('manifest-2.json');
    expect(claimOnce('MANIFEST.JSON', 'JSON')).toBe('MANIFEST-2.JSON');
    expect(claimOnce('manifest.json', 'webp')).toBe('manifest.webp');
    expect(new EntryNames([]).claim('manifest.json', 'json')).toBe('manifest.json');
    expect(new EntryNames(['É.png']).claim('e\u0301.jpg', 'png')).toBe('é-2.png');
  });

  test.each<[why: string, input: string, first: string, second: string]>([
    ['ASCII', 'x'.repeat(250), `${'x'.repeat(250)}.webp`, `${'x'.repeat(242)}-2.webp`],
    ['more ASCII', 'x'.repeat(9999), `${'x'.repeat(250)}.webp`, `${'x'.repeat(242)}-2.webp`],
    ['three bytes each', '漢'.repeat(99), `${'漢'.repeat(83)}.webp`, `${'漢'.repeat(80)}-2.webp`],
    ['emoji', '😀'.repeat(99), `${'😀'.repeat(62)}.webp`, `${'😀'.repeat(60)}-2.webp`],
    [
      'families of 25 bytes',
      FAMILY.repeat(99),
      `${FAMILY.repeat(10)}.webp`,
      `${FAMILY.repeat(9)}-2.webp`,
    ],
    ['flags', '🇩🇪'.repeat(99), `${'🇩🇪'.repeat(31)}.webp`, `${'🇩🇪'.repeat(30)}-2.webp`],
    [
      'accents',
      'x\u0301'.repeat(99),
      `${'x\u0301'.repeat(83)}.webp`,
      `${'x\u0301'.repeat(80)}-2.webp`,
    ],
    ['composed by NFC', 'e\u0301'.repeat(99), `${'é'.repeat(99)}.webp`, `${'é'.repeat(99)}-2.webp`],
    ['a heap of accents', ZALGO, 'image.webp', 'image-2.webp'],
    ['an end in spaces', `a${' '.repeat(300)}b`, 'a.webp', 'a-2.webp'],
    ['an end in dots', `a${'.'.repeat(300)} b`, 'a.webp', 'a-2.webp'],
    ['a device', `con${' '.repeat(300)}b`, 'con_.webp', 'con_-2.webp'],
  ])('cuts %s between graphemes', (_, input, first, second) => {
    const entries = new EntryNames();
    const names = [entries.claim(`${input}.jpg`, 'webp'), entries.claim(`${input}.jpg`, 'webp')];
    expect(names).toEqual([first, second]);
    for (const name of names) expect(faultsOf(name, 'webp')).toEqual([]);
  });

  it('numbers long names that are equal after the cut', () => {
    const entries = new EntryNames();
    const names = ['a', 'b', 'c'].map((end) => entries.claim('x'.repeat(300) + end, 'webp'));
    const stem = 'x'.repeat(242);
    expect(names).toEqual([`${'x'.repeat(250)}.webp`, `${stem}-2.webp`, `${stem}-3.webp`]);
  });

  it('gives safe and distinct names for any input', () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(anyName, extension), { maxLength: 30 }), (inputs) => {
        const entries = new EntryNames();
        const twins = new Set(['manifest.json']);
        for (const [input, ending] of inputs) {
          const name = entries.claim(input, ending);
          expect(faultsOf(name, ending)).toEqual([]);
          expect(twins).not.toContain(twin(name));
          twins.add(twin(name));
        }
      }),
      { numRuns: runs(500) },
    );
  });

  it('gives safe and distinct names for similar inputs', () => {
    const letters = [...'aAéÉßẞΣς', 'e\u0301', 'ss', '-2', '\u200b'];
    const near = fc.string({ unit: fc.constantFrom(...letters), maxLength: 3 });
    fc.assert(
      fc.property(fc.array(near, { maxLength: 40 }), (inputs) => {
        const entries = new EntryNames();
        const names = inputs.map((input) => entries.claim(input, 'webp'));
        for (const name of names) expect(faultsOf(name, 'webp')).toEqual([]);
        expect(new Set(names.map(twin)).size).toBe(names.length);
      }),
      { numRuns: runs(500) },
    );
  });

  it('does not change a safe name', () => {
    fc.assert(
      fc.property(anyName, (input) => {
        const name = claimOnce(input);
        expect(claimOnce(name)).toBe(name);
      }),
      { numRuns: runs(1000) },
    );
  });

  it('gives equal names for equal inputs in equal order', () => {
    fc.assert(
      fc.property(fc.array(anyName, { maxLength: 10 }), (inputs) => {
        const [one, other] = [new EntryNames(), new EntryNames()];
        for (const input of inputs) expect(one.claim(input, 'png')).toBe(other.claim(input, 'png'));
      }),
      { numRuns: 50 },
    );
  });

  it('numbers ten thousand equal names without a gap', () => {
    const entries = new EntryNames();
    const names = Array.from({ length: 10_000 }, () => entries.claim('photo.jpg', 'webp'));
    expect(names[0]).toBe('photo.webp');
    expect(names[9_999]).toBe('photo-10000.webp');
    expect(new Set(names).size).toBe(10_000);
  });

  // Every name that is tried is normalised, so normalisations count the tries.
  test.each<[why: string, nameOf: (index: number, of: number) => string]>([
    ['equal names', () => 'a'],
    ['equal names, all to be cut', () => 'x'.repeat(300)],
    ['one name in every mix of case', (index) => spell('abcdefghij', index)],
    ['names cut to equal ones', (index) => `${'x'.repeat(300)}${index}`],
    ['pairs of names equal when numbered', (index) => `${'x'.repeat(246)}${1000 + (index >> 1)}`],
    ['equal names, their numbers taken', (index, of) => (index < of / 2 ? `a-${index + 2}` : 'a')],
  ])('takes linear time: %s', (_, nameOf) => {
    const normalize = vi.spyOn(String.prototype, 'normalize');
    const triesFor = (count: number) => {
      normalize.mockClear();
      const entries = new EntryNames();
      for (let index = 0; index < count; index += 1) entries.claim(nameOf(index, count), 'webp');
      return normalize.mock.calls.length;
    };
    const tries = triesFor(500);
    expect(tries).toBeGreaterThan(500);
    expect(triesFor(1000)).toBeLessThan(tries * 2.2);
  });
});

describe('printable', () => {
  test.each([
    '',
    'photo.jpg',
    'C:\\Users\\new\\table.jpg',
    '~/$HOME/%20 & "quotes" \'more\' <tag> `x` \\u202e',
    'Été à Paris.jpg',
    'e\u0301te\u0301.jpg',
    '写真 葛\u{e0100}城.jpg',
    'صورة عربية.jpg',
    'תמונה.jpg',
    'می\u200cخواهم.jpg',
    `ශ්${ZWJ}රී ලංකා.jpg`,
    `क्${ZWJ}ष.jpg`,
    `${FAMILY} ${SCOTLAND} 🏳\ufe0f${ZWJ}🌈 👩🏽${ZWJ}🚀 🏴${ZWJ}☠\ufe0f.jpg`,
    '1\ufe0f\u20e3 ❤\ufe0f ©\ufe0e 👍🏽 🇩🇪.jpg',
    '\u1820\u180b.jpg',
    'no\u00a0break\u3000wide.jpg',
    '\u0600١٢٣.jpg',
  ])('does not change %j', (name) => {
    expect(printable(name)).toBe(name);
  });

  test.each<[name: string, shown: string]>([
    ['a\nb', 'a\\nb'],
    ['a\r\n\tb', 'a\\r\\n\\tb'],
    ['\0\x07\b1', '\\u0000\\u0007\\u00081'],
    ['\x1b[2J\x1b]0;title\x07', '\\u001b[2J\\u001b]0;title\\u0007'],
    ['\x7f\x80\x85\x9b31m', '\\u007f\\u0080\\u0085\\u009b31m'],
    ['photo\u202egpj.exe', 'photo\\u202egpj.exe'],
    ['\u2066\u2069\u200e\u200f\u061c', '\\u2066\\u2069\\u200e\\u200f\\u061c'],
    ['a\u200bb\u2060\ufeff\u00ad', 'a\\u200bb\\u2060\\ufeff\\u00ad'],
    ['\u3164\u115f\uffa0', '\\u3164\\u115f\\uffa0'],
    ['a\u2028b\u2029', 'a\\u2028b\\u2029'],
    ['\ufff9\ufffa\ufffb', '\\ufff9\\ufffa\\ufffb'],
    [`a${ZWJ}b\u200cc`, 'a\\u200db\\u200cc'],
    [`${FAMILY}${ZWJ}${ZWJ}`, `${FAMILY}\\u200d\\u200d`],
    ['ا\u200c\u200c', 'ا\u200c\\u200c'],
    ['\u061c\u200c', '\\u061c\\u200c'],
    ['x\ufe0f ❤\ufe0f\ufe0f', 'x\\ufe0f ❤\ufe0f\\ufe0f'],
    ['\u{e0041}🏴\u{e0067}', '\\u{e0041}🏴\\u{e0067}'],
    ['\ud83d \ude00 \ud83d\ude00', '\\ud83d \\ude00 😀'],
  ])('shows %j as %j', (name, shown) => {
    expect(printable(name)).toBe(shown);
  });

  it('never returns a control or bidi character or a lone surrogate', () => {
    fc.assert(
      fc.property(anyName, (name) => {
        for (const character of printable(name)) {
          expect(isUnsafe(character.codePointAt(0)!)).toBe(false);
          expect(ALWAYS_INVISIBLE).not.toContain(character);
          expect(character).not.toMatch(/^[\ud800-\udfff]$/);
        }
      }),
      { numRuns: runs(1000) },
    );
  });

  it('maps distinct names without a backslash to distinct texts', () => {
    const short: Record<string, string> = { n: '\n', r: '\r', t: '\t' };
    const read = (shown: string) =>
      shown.replace(/\\(?:([nrt])|u([0-9a-f]{4})|u\{([0-9a-f]+)\})/g, (_, letter, four, many) =>
        letter ? short[letter]! : String.fromCodePoint(Number.parseInt(four ?? many, 16)),
      );
    fc.assert(
      fc.property(anyName, (anything) => {
        const name = anything.replaceAll('\\', '');
        expect(read(printable(name))).toBe(name);
      }),
      { numRuns: runs(1000) },
    );
  });

  it('is idempotent, and does not change safe base names', () => {
    fc.assert(
      fc.property(anyName, (name) => {
        expect(printable(printable(name))).toBe(printable(name));
        expect(printable(safeBaseName(name))).toBe(safeBaseName(name));
      }),
      { numRuns: runs(1000) },
    );
  });
});
