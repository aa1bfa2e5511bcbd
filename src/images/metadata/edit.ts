import { ExifEditor } from '../exif/edit.ts';
import { orientationOf } from '../exif/exif.ts';
import { ORIENTATION } from '../exif/tags.ts';
import type { Warning } from '../output.ts';
import type { TagChange } from './tags.ts';

/** Kinds of metadata that can be removed. */
export const STRIP_KINDS: readonly string[] = [
  ...['all', 'gps', 'exif', 'xmp', 'iptc', 'icc', 'comments', 'thumbnail'],
];

/** What is removed from metadata and what is set after that. */
export interface MetadataEdit {
  readonly strip: ReadonlySet<string>;
  readonly set: readonly TagChange[];
}

/** A file with other metadata, and the same image data. */
export interface EditResult {
  readonly bytes: Buffer;
  readonly warnings: readonly Warning[];
}

/** Whether a kind of metadata is removed as a whole. The colour profile is, only if it is named. */
export function isStripped({ strip }: MetadataEdit, kind: string): boolean {
  return strip.has(kind) || (strip.has('all') && kind !== 'icc');
}

/**
 * Changes an Exif block. Where it is removed as a whole the orientation stays, since the picture would be displayed
 * otherwise.
 *
 * @returns null where no tag remains
 * @throws Failure metadata_not_writable
 */
export function editExif(block: Uint8Array | null, edit: MetadataEdit): Uint8Array | null {
  const { set } = edit;
  if (block === null && set.length === 0) return null;
  if (isStripped(edit, 'exif')) {
    const orientation = orientationOf(block);
    const editor = ExifEditor.open(null);
    if (orientation > 1) editor.setShort('image', ORIENTATION, orientation);
    return apply(editor, set);
  }
  if (set.length === 0 && !edit.strip.has('gps') && !edit.strip.has('thumbnail')) return block;
  const editor = ExifEditor.open(block);
  if (edit.strip.has('gps')) editor.removeDirectory('gps');
  if (edit.strip.has('thumbnail')) editor.removeThumbnail();
  return apply(editor, set);
}

function apply(editor: ExifEditor, set: readonly TagChange[]): Buffer | null {
  for (const change of set) change.apply(editor);
  return editor.bytes();
}
