import type { Warning } from '../output.ts';
import { isStripped, type MetadataEdit } from './edit.ts';
import { changedTexts } from './text-places.ts';
import { MAX_XMP_BYTES, xmpWithTexts } from './xmp-packet.ts';

export const XMP_LOST: Warning = {
  code: 'xmp_lost',
  message: 'XMP was left out, because the position could not be removed from it alone',
};

/** Changes an XMP packet, null for none; null removes it. */
export function editXmp(
  stored: Buffer | null,
  edit: MetadataEdit,
  warnings: Warning[],
): Buffer | null {
  const xmp = isStripped(edit, 'xmp') ? null : stored;
  const kept = xmp && edit.strip.has('gps') ? withoutGps(xmp) : xmp;
  if (xmp !== null && kept === null) warnings.push(XMP_LOST);
  const texts = changedTexts(edit, kept !== null);
  if (texts) return xmpWithTexts(kept, texts);
  if (kept === null) return null;
  const text = kept.toString('latin1');
  const same = edit.set.flatMap((change) => change.xmp.filter((name) => text.includes(name)));
  if (same.length > 0) {
    const message = `XMP has ${same.join(', ')} too, unchanged; strip xmp removes it`;
    warnings.push({ code: 'xmp_unchanged', message });
  }
  return kept;
}

const ATTRIBUTE = /\s[\w.-]*:GPS\w*\s*=\s*(?:"[^"]*"|'[^']*')/g;
const ELEMENT = /<([\w.-]*:GPS\w*)(?:\s[^<>]*)?>/g;
/** A position that is left, also in UTF-16. */
const REMAINDER = /GPS(?:Latitude|Longitude)|G\0P\0S/i;

/** XMP without properties of GPS; null if they cannot be removed alone. Bytes of any encoding pass through latin1. */
export function withoutGps(xmp: Buffer): Buffer | null {
  const text = xmp.toString('latin1');
  if (!/GPS|G\0P\0S/i.test(text)) return xmp;
  if (xmp.length > MAX_XMP_BYTES) return null;
  const parts: string[] = [];
  let from = 0;
  ELEMENT.lastIndex = 0;
  for (let found = ELEMENT.exec(text); found; found = ELEMENT.exec(text)) {
    parts.push(text.slice(from, found.index));
    from = ELEMENT.lastIndex;
    if (!found[0].endsWith('/>')) {
      const closing = `</${found[1]}>`;
      const end = text.indexOf(closing, from);
      if (end < 0) return null;
      from = end + closing.length;
    }
    ELEMENT.lastIndex = from;
  }
  const rest = [...parts, text.slice(from)].join('').replace(ATTRIBUTE, '');
  return REMAINDER.test(rest) ? null : Buffer.from(rest, 'latin1');
}
