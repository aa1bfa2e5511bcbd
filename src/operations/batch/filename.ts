import { sep } from 'node:path';
import { words } from '../../words.ts';

/**
 * Makes untrusted names safe for a ZIP, which may be unpacked on any system, and for a terminal, which
 * interprets control characters.
 */

/** Limit of ext4, in UTF-8 bytes. Those of APFS and NTFS are larger: they count characters. */
const MAX_BYTES = 255;

/** Bytes for `-2` to `-9999999`. The same for all, so that equal names are cut to equal stems. */
const SUFFIX_BYTES = 8;

/** Replaces a name without any safe character. */
const FALLBACK = 'image';

/**
 * The entry names of one archive: each is safe on every system, no part of it is longer than 255 bytes
 * of UTF-8, and all differ even where case, composition and invisible characters do not count.
 */
export class EntryNames {
  readonly #taken = new Set<string>();
  /** Entry names of folders, with a slash at the end, by the equality key of the path. */
  readonly #folders = new Map<string, string>();
  /** The next number by stem, so that equal names do not count up from 2 every time. */
  readonly #next = new Map<string, number>();

  /** @param reserved names that no entry gets */
  constructor(reserved: readonly string[] = ['manifest.json']) {
    for (const name of reserved) this.#take(name);
  }

  /**
   * Claims the name of an input's output: its base name with the new extension, and with `-2`, `-3`
   * and so on where that is taken.
   *
   * @param inputFilename untrusted: may have a path in either style, or be empty
   * @param extension without its dot, and safe itself: `webp`
   * @param folder path of the folder that the entry goes into, with slashes of this system
   */
  claim(inputFilename: string, extension: string, folder = '.'): string {
    return this.#claimIn(this.#folder(folder), safeBaseName(inputFilename), `.${extension}`);
  }

  /** Claims a name in a folder, numbered where it is taken. */
  #claimIn(folder: string, base: string, ending: string): string {
    const available = MAX_BYTES - Buffer.byteLength(ending);
    const name = folder + cut(base, available) + ending;
    if (this.#take(name)) return name;

    const stem = folder + cut(base, available - SUFFIX_BYTES);
    const series = equalityKey(stem + ending);
    for (let number = this.#next.get(series) ?? 2; ; number += 1) {
      const numbered = `${stem}-${number}${ending}`;
      if (this.#take(numbered)) {
        this.#next.set(series, number + 1);
        return numbered;
      }
    }
  }

  /** The entry name of a folder: equal for equal paths, and never that of a file. */
  #folder(path: string): string {
    let folder = '';
    for (const part of path.split(sep)) {
      if (part === '' || part === '.') continue;
      const base = safeName(part.replaceAll('\\', '_'));
      const key = equalityKey(`${folder}${base}/`);
      const known = this.#folders.get(key) ?? `${this.#claimIn(folder, base, '')}/`;
      this.#folders.set(key, known);
      folder = known;
    }
    return folder;
  }

  #take(name: string): boolean {
    const key = equalityKey(name);
    if (this.#taken.has(key)) return false;
    this.#taken.add(key);
    return true;
  }
}

/**
 * The base name of a file as it can be written on every system, without its last extension:
 * `C:\fakepath\Été 1.jpg` gives `Été 1`, `backup.tar.gz` gives `backup.tar`, `.profile` gives
 * `profile`. Never empty. `EntryNames` limits its length.
 *
 * Besides the characters that Windows forbids, it has no leading dot, which would hide the file, and
 * no leading dash, which tools would read as an option where a shell expands `*`.
 */
export function safeBaseName(inputFilename: string): string {
  // Both slashes on every system, because the client may run on another one.
  const name = inputFilename.slice(
    Math.max(inputFilename.lastIndexOf('/'), inputFilename.lastIndexOf('\\')) + 1,
  );
  return safeName(name, EXTENSION);
}

/** A part of a path as it can be written on every system, without the match of `extension`. */
function safeName(name: string, extension: RegExp | '' = ''): string {
  const base = replaceHidden(name, () => '')
    .normalize('NFC')
    .replace(FORBIDDEN, '_')
    .replace(TRAILING, '')
    .replace(extension, '')
    .replace(TRAILING, '')
    .replace(LEADING, '')
    .replace(DEVICE, '$&_');
  return base === '' ? FALLBACK : base;
}

/**
 * A name for a terminal: invisible and control characters are shown as escapes (`\n`, `\u202e`,
 * `\u{e0041}`), all others as they are. A backslash is not escaped, because Windows paths contain
 * some; so only a name without a backslash can be recovered from the result.
 */
export const printable = (name: string): string => replaceHidden(name, escapeOf);

/**
 * JSON for a terminal: control characters that JSON allows in texts are escaped, too.
 */
export function printableJson(json: string): string {
  return json.replace(
    /[\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u206f\ufff9-\ufffb]/g,
    (control) => `\\u${control.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}

/** Characters that Windows forbids in a name; slashes are removed before. */
const FORBIDDEN = /[:*?"<>|]/g;

/**
 * Windows drops dots and spaces at the end of a name, and then does not find the file. With the
 * look-behind a run matches from its start only; otherwise long runs take quadratic time.
 */
const TRAILING = /(?<![\s.])[\s.]+$/;

const LEADING = /^[\s.-]+/;

/** Not after a leading dot, which hides a file; not with a space, as in `Mr. Smith`. */
const EXTENSION = /(?<=.)\.[^\s.]+$/;

/**
 * Names of devices in every folder on Windows, with any text after the first dot.
 * https://learn.microsoft.com/windows/win32/fileio/naming-a-file
 */
const DEVICE = /^(?:con|prn|aux|nul|conin\$|conout\$|(?:com|lpt)[0-9¹²³])(?=\s*(?:\.|$))/i;

/**
 * Characters without a glyph: controls, lone surrogates, line and paragraph separators, and default
 * ignorable code points, which include bidi controls. The three annotation marks at the end are not
 * default ignorable, and have no glyph either.
 */
const HIDDEN = String.raw`[\p{Control}\p{Surrogate}\p{Line_Separator}\p{Paragraph_Separator}\p{Default_Ignorable_Code_Point}\u{fff9}-\u{fffb}]`;

const EMOJI = String.raw`\p{Extended_Pictographic}[\p{Emoji_Modifier}\u{fe0e}\u{fe0f}]?`;

const JOINING_SCRIPTS = words(
  `Arabic Bengali Devanagari Gujarati Gurmukhi Kannada Khmer Malayalam
   Mongolian Myanmar Oriya Sinhala Syriac Tamil Telugu`,
)
  .map((script) => String.raw`\p{Script_Extensions=${script}}`)
  .join('');

/** Sequences in which hidden characters are part of a word or an emoji. */
const ORDINARY = [
  // The flag of a region, such as Scotland: a black flag and its code in tags.
  String.raw`\u{1f3f4}[\u{e0030}-\u{e0039}\u{e0061}-\u{e007a}]{1,6}\u{e007f}`,
  // An emoji with a variation selector, or several that are joined to one, such as a family.
  String.raw`${EMOJI}(?:\u{200d}${EMOJI})*`,
  // A keycap.
  String.raw`[0-9#*]\u{fe0f}\u{20e3}`,
  // The variant of an ideograph, as in Japanese names, or of a Mongolian letter.
  String.raw`[\p{Ideographic}\u{1820}-\u{18aa}]\p{Variation_Selector}`,
  // The joiners that decide how letters connect, as in Persian and Sinhala.
  String.raw`(?<=(?!${HIDDEN})[${JOINING_SCRIPTS}])[\u{200c}\u{200d}]`,
].join('|');

const PLAIN = /^[\x20-\x7e]*$/;

/** Compiled at the first use, which takes a millisecond: most names are plain ASCII. */
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

/** Created at the first use, because most names are short. */
let graphemes: Intl.Segmenter | undefined;

/** Cuts a safe name to so many bytes between two graphemes; the result is safe, too. */
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
  // The cut can produce an unsafe name: of `con`, two hundred spaces and a letter, `con` is left.
  kept = kept.replace(TRAILING, '').replace(DEVICE, '$&_');
  // A letter with hundreds of accents is a grapheme longer than the limit.
  return kept === '' ? FALLBACK : kept;
}

/**
 * Equal for names that some file system treats as one: case (ß and SS included), composition and
 * ignorable characters do not count, as ext4 and APFS can be configured.
 */
function equalityKey(name: string): string {
  // Lower, upper, and lower again: maps final sigma and ẞ to the same letters as σ and ß.
  return name
    .replace(/\p{Default_Ignorable_Code_Point}/gu, '')
    .toLowerCase()
    .normalize('NFC')
    .toUpperCase()
    .toLowerCase()
    .normalize('NFC');
}
