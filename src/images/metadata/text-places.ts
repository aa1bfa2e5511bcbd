/** Where texts about a picture are stored (IPTC Photo Metadata Standard; Metadata Working Group, Guidelines 2.0). */
export const TEXTS = {
  Title: { property: 'title', list: 'Alt', dataset: 5, bytes: 64, windows: 40_091 },
  Description: { property: 'description', list: 'Alt', dataset: 120, bytes: 2000, exif: 270 },
  Keywords: { property: 'subject', list: 'Bag', dataset: 25, bytes: 64, windows: 40_094 },
  Creator: {
    ...{ property: 'creator', list: 'Seq', dataset: 80, bytes: 32, exif: 315, windows: 40_093 },
  },
  Copyright: { property: 'rights', list: 'Alt', dataset: 116, bytes: 128, exif: 33_432 },
} as const satisfies Readonly<Record<string, TextPlace>>;

interface TextPlace {
  /** Property of Dublin Core in XMP, and the kind of its array. */
  readonly property: string;
  readonly list: 'Alt' | 'Bag' | 'Seq';
  /** Data set of IPTC's second record, and its most bytes (IIM 4.2). */
  readonly dataset: number;
  readonly bytes: number;
  /** Tag of EXIF that holds the text; what has none is always written to XMP and IPTC. */
  readonly exif?: number;
  /** Tag of Windows that means the same; a change removes it. */
  readonly windows?: number;
}

export type TextName = keyof typeof TEXTS;
export const TEXT_NAMES = Object.keys(TEXTS) as TextName[];

/** Texts by name; a name with no text removes it. */
export type Texts = Readonly<Partial<Record<TextName, readonly string[]>>>;

/** A change of one text: set, or added to and removed from a list. */
export interface TextChange {
  readonly text: TextName;
  readonly mode: '' | '+' | '-';
  readonly values: readonly string[];
}

export const placeOf = (name: TextName): TextPlace => TEXTS[name];

/** The parts of lists, which commas or semicolons separate. A name such as `Doe, Jane` may have a comma. */
export function splitText(name: TextName, text: string): string[] {
  const { list } = TEXTS[name];
  if (list === 'Alt') return text === '' ? [] : [text];
  const parts = text.split(name === 'Keywords' ? /[,;]/ : ';').map((part) => part.trim());
  return unique(parts.filter((part) => part !== ''));
}

export const unique = (texts: readonly string[]): string[] => [...new Set(texts)];

/** The texts that an edit sets in XMP and IPTC; none of those in EXIF alone make a block that the file lacks. */
export function changedTexts(
  { set }: { readonly set: readonly { readonly texts?: Texts }[] },
  hasBlock: boolean,
): Texts | null {
  const texts: Texts = Object.assign({}, ...set.map((change) => change.texts ?? {}));
  const names = Object.keys(texts) as TextName[];
  const isNeeded = names.some((name) => placeOf(name).exif === undefined && texts[name]!.length);
  return names.length > 0 && (hasBlock || isNeeded) ? texts : null;
}
