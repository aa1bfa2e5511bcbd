import { sep } from 'node:path';

/**
 * Names that come from outside and go to places with rules of their own: into a ZIP, which may be
 * unpacked on any system, and onto a terminal, which obeys what is printed on it.
 */

/** What ext4 allows, in UTF-8 bytes. APFS and NTFS count coarser units, so it suits them too. */
const MAX_BYTES = 255;

/** Room for `-2` to `-9999999`. One size for all, so that equal names are cut to equal stems. */
const SUFFIX_BYTES = 8;

/** What stands in for a name of which nothing is left. */
const FALLBACK = 'image';

/**
 * The entry names of one archive: each is safe on every system, no part of it longer than 255 bytes
 * of UTF-8, and unlike all others even where case, composition and invisible characters do not count.
 */
export class EntryNames {
  readonly #taken = new Set<string>();
  /** The entry name of each folder, with a slash at its end, by the twin key of its path. */
  readonly #folders = new Map<string, string>();
  /** The number to try next, by stem. Without it equal names would count up from 2 every time. */
  readonly #next = new Map<string, number>();

  /** @param reserved full names that no entry may have */
  constructor(reserved: readonly string[] = ['manifest.json']) {
    for (const name of reserved) this.#take(name);
  }

  /**
   * The name for the output of one input: its base name with the new extension, and with `-2`,
   * `-3` and so on where that is taken. The name is taken from then on.
   *
   * @param inputFilename as it arrived: with a path in either style, hostile, or empty
   * @param extension without its dot, and safe itself: `webp`
   * @param folder path of the folder that the entry goes into, with slashes of this system
   */
  claim(inputFilename: string, extension: string, folder = '.'): string {
    return this.#claimIn(this.#folder(folder), safeBaseName(inputFilename), `.${extension}`);
  }

  /** A name in a folder that nothing else has, numbered where it must be. */
  #claimIn(folder: string, base: string, ending: string): string {
    const room = MAX_BYTES - Buffer.byteLength(ending);
    const name = folder + cut(base, room) + ending;
    if (this.#take(name)) return name;

    const stem = folder + cut(base, room - SUFFIX_BYTES);
    const series = twinKey(stem + ending);
    for (let number = this.#next.get(series) ?? 2; ; number += 1) {
      const numbered = `${stem}-${number}${ending}`;
      if (this.#take(numbered)) {
        this.#next.set(series, number + 1);
        return numbered;
      }
    }
  }

  /** The entry name of a folder: the same for the same path, and never that of a file. */
  #folder(path: string): string {
    let folder = '';
    for (const part of path.split(sep)) {
      if (part === '' || part === '.') continue;
      const base = safeName(part.replaceAll('\\', '_'));
      const key = twinKey(`${folder}${base}/`);
      const known = this.#folders.get(key) ?? `${this.#claimIn(folder, base, '')}/`;
      this.#folders.set(key, known);
      folder = known;
    }
    return folder;
  }

  #take(name: string): boolean {
    const key = twinKey(name);
    if (this.#taken.has(key)) return false;
    this.#taken.add(key);
    return true;
  }
}

/**
 * The base name of a file as it can be written on every system, without its last extension:
 * `C:\fakepath\Été 1.jpg` gives `Été 1`, `backup.tar.gz` gives `backup.tar`, `.profile` gives
 * `profile`. Never empty, and as long as it was: `EntryNames` cuts it.
 *
 * Besides what Windows forbids, it has no dot in front, which would hide the file, and no dash,
 * which tools would read as an option once somebody writes `*`.
 */
export function safeBaseName(inputFilename: string): string {
  // Both slashes, wherever we run: the browser that sent the name may run elsewhere.
  const name = inputFilename.slice(
    Math.max(inputFilename.lastIndexOf('/'), inputFilename.lastIndexOf('\\')) + 1,
  );
  return safeName(name, EXTENSION);
}

/** A part of a path as it can be written on every system, without what `left` matches at its end. */
function safeName(name: string, left: RegExp | '' = ''): string {
  const base = replaceHidden(name, () => '')
    .normalize('NFC')
    .replace(FORBIDDEN, '_')
    .replace(TRAILING, '')
    .replace(left, '')
    .replace(TRAILING, '')
    .replace(LEADING, '')
    .replace(DEVICE, '$&_');
  return base === '' ? FALLBACK : base;
}

/**
 * A name as it can be shown to people and terminals: whatever is invisible or would command the
 * terminal stands as an escape (`\n`, `\u202e`, `\u{e0041}`), everything else as it is. A backslash
 * stays single, for a Windows path is an ordinary thing; a name without one can be told exactly
 * from what is shown.
 */
export function printable(name: string): string {
  return replaceHidden(name, escapeOf);
}

/**
 * JSON in which no text can command a terminal: the controls that JSON itself lets pass stand as
 * escapes, too.
 */
export function printableJson(json: string): string {
  return json.replace(
    /[\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u206f\ufff9-\ufffb]/g,
    (control) => `\\u${control.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}

/** What Windows forbids in a name; the slashes are gone by then. */
const FORBIDDEN = /[:*?"<>|]/g;

/**
 * Windows drops dots and spaces at the end of a name, and so does not find the name again. The
 * look-behind lets a run match from its start only: otherwise long runs take quadratic time.
 */
const TRAILING = /(?<![\s.])[\s.]+$/;

const LEADING = /^[\s.-]+/;

/** A dot in front makes a hidden file, not an extension; nor is the rest of `Mr. Smith` one. */
const EXTENSION = /(?<=.)\.[^\s.]+$/;

/**
 * The names that Windows gives to devices in every folder, whatever follows their first dot.
 * https://learn.microsoft.com/windows/win32/fileio/naming-a-file
 */
const DEVICE = /^(?:con|prn|aux|nul|conin\$|conout\$|(?:com|lpt)[0-9¹²³])(?=\s*(?:\.|$))/i;

/**
 * Characters that show nothing by themselves: controls, broken halves of characters, line and
 * paragraph separators, and what Unicode lets a renderer ignore, all bidi controls among it. The
 * three marks of annotations at the end lack that property, and show as little.
 */
const HIDDEN = String.raw`[\p{Control}\p{Surrogate}\p{Line_Separator}\p{Paragraph_Separator}\p{Default_Ignorable_Code_Point}\u{fff9}-\u{fffb}]`;

const EMOJI = String.raw`\p{Extended_Pictographic}[\p{Emoji_Modifier}\u{fe0e}\u{fe0f}]?`;

const JOINING_SCRIPTS = [
  'Arabic',
  'Bengali',
  'Devanagari',
  'Gujarati',
  'Gurmukhi',
  'Kannada',
  'Khmer',
  'Malayalam',
  'Mongolian',
  'Myanmar',
  'Oriya',
  'Sinhala',
  'Syriac',
  'Tamil',
  'Telugu',
]
  .map((script) => String.raw`\p{Script_Extensions=${script}}`)
  .join('');

/** Where hidden characters are part of how a word or an emoji is written. */
const ORDINARY = [
  // The flag of a region, such as Scotland: a black flag and its code in tags.
  String.raw`\u{1f3f4}[\u{e0030}-\u{e0039}\u{e0061}-\u{e007a}]{1,6}\u{e007f}`,
  // An emoji, chosen to be a picture or not, and joined with others to one: a family.
  String.raw`${EMOJI}(?:\u{200d}${EMOJI})*`,
  // A keycap.
  String.raw`[0-9#*]\u{fe0f}\u{20e3}`,
  // The variant of an ideograph, as in Japanese names, or of a Mongolian letter.
  String.raw`[\p{Ideographic}\u{1820}-\u{18aa}]\p{Variation_Selector}`,
  // The joiners that decide how letters connect, as in Persian and Sinhala.
  String.raw`(?<=(?!${HIDDEN})[${JOINING_SCRIPTS}])[\u{200c}\u{200d}]`,
].join('|');

const PLAIN = /^[\x20-\x7e]*$/;

/** Made when first needed: most names are plain, and to compile it takes a millisecond. */
let ordinaryOrHidden: RegExp | undefined;

function replaceHidden(name: string, replacement: (character: string) => string): string {
  if (PLAIN.test(name)) return name;
  ordinaryOrHidden ??= new RegExp(`(${ORDINARY})|${HIDDEN}`, 'gu');
  return name.replace(
    ordinaryOrHidden,
    (match, ordinary: string | undefined) => ordinary ?? replacement(match),
  );
}

const SHORT_ESCAPES: Record<string, string> = { '\n': '\\n', '\r': '\\r', '\t': '\\t' };

function escapeOf(character: string): string {
  const code = character.codePointAt(0)!.toString(16).padStart(4, '0');
  return SHORT_ESCAPES[character] ?? (code.length > 4 ? `\\u{${code}}` : `\\u${code}`);
}

/** Made when first needed: most names are short. */
let graphemes: Intl.Segmenter | undefined;

/** As many whole graphemes of a safe name as fit into so many bytes, and again a safe name. */
function cut(name: string, maxBytes: number): string {
  if (Buffer.byteLength(name) <= maxBytes) return name;
  graphemes ??= new Intl.Segmenter('en', { granularity: 'grapheme' });
  let kept = '';
  let bytes = 0;
  for (const { segment } of graphemes.segment(name)) {
    bytes += Buffer.byteLength(segment);
    if (bytes > maxBytes) break;
    kept += segment;
  }
  // The cut can lay bare what the rest had made harmless: `con`, two hundred spaces and a letter.
  kept = kept.replace(TRAILING, '').replace(DEVICE, '$&_');
  // One letter under hundreds of accents is a grapheme that no name has room for.
  return kept === '' ? FALLBACK : kept;
}

/**
 * Equal for names that some file system takes for one: without regard to case (ß and SS included),
 * to composition, or to ignorable characters, as ext4 and APFS can be told to compare.
 */
function twinKey(name: string): string {
  // Lower, then upper, then lower: final sigma and ẞ meet their kin on the way.
  return name
    .replace(/\p{Default_Ignorable_Code_Point}/gu, '')
    .toLowerCase()
    .normalize('NFC')
    .toUpperCase()
    .toLowerCase()
    .normalize('NFC');
}
