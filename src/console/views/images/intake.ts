/** A file that the reader chose. */
export interface Chosen {
  readonly file: File;
  /** Its path below the folder that was chosen, else its name. */
  readonly path: string;
}

/** Limits of what a folder is searched for, so that a choice of the whole disk ends. */
const MAX_DEPTH = 16;
const MAX_FOUND = 5000;

/** Endings of images; those that the server does not read fail with a reason. */
const IMAGE_NAME =
  /\.(jpe?g|jpe|jfif|png|apng|webp|avif|gif|tiff?|bmp|dib|ico|heic|heif|jxl|jp2|svg)$/i;

/** Whether a file of a folder is meant. A file that was chosen itself always is. */
function isImage({ file, path }: Chosen): boolean {
  const isHidden = path.split('/').some((part) => part.startsWith('.'));
  return !isHidden && (file.type.startsWith('image/') || IMAGE_NAME.test(file.name));
}

/** Files without those of folders that are no images. */
export function withoutOthers(chosen: readonly Chosen[]): {
  readonly images: readonly Chosen[];
  readonly others: number;
} {
  const images = chosen.filter((one) => !one.path.includes('/') || isImage(one));
  return { images, others: chosen.length - images.length };
}

/** The files of an input, which may be one for folders. */
export function chosenOf(files: readonly File[]): readonly Chosen[] {
  return files.map((file) => ({ file, path: file.webkitRelativePath || file.name }));
}

/** The files of a clipboard or of what was dropped, and all files of the folders in it. */
export async function filesOfTransfer(transfer: DataTransfer): Promise<readonly Chosen[]> {
  // Entries have to be taken before the event ends.
  const items = [...transfer.items].filter(({ kind }) => kind === 'file');
  const entries = items.map((item) => item.webkitGetAsEntry() ?? item.getAsFile());
  const found: Chosen[] = [];
  for (const entry of entries) {
    if (entry instanceof File) found.push({ file: entry, path: entry.name });
    else if (entry) await collect(entry, found, 0);
  }
  return found;
}

async function collect(entry: FileSystemEntry, found: Chosen[], depth: number): Promise<void> {
  if (found.length >= MAX_FOUND || depth > MAX_DEPTH) return;
  if (entry.isFile) {
    const { file } = entry as FileSystemFileEntry;
    try {
      const read = await new Promise<File>((resolve, reject) => file.call(entry, resolve, reject));
      found.push({ file: read, path: entry.fullPath.replace(/^\//, '') });
    } catch {
      // A file that may not be read, or that is gone.
    }
    return;
  }
  for (const child of await childrenOf(entry as FileSystemDirectoryEntry)) {
    await collect(child, found, depth + 1);
  }
}

/** The entries of a folder, which a reader gives a hundred at a time. */
async function childrenOf(folder: FileSystemDirectoryEntry): Promise<readonly FileSystemEntry[]> {
  const reader = folder.createReader();
  const children: FileSystemEntry[] = [];
  try {
    while (children.length < MAX_FOUND) {
      const next = await new Promise<FileSystemEntry[]>((resolve, reject) =>
        reader.readEntries(resolve, reject),
      );
      if (next.length === 0) break;
      children.push(...next);
    }
  } catch {
    // A folder that may not be read has no files for us.
  }
  return children.toSorted((one, other) => one.name.localeCompare(other.name));
}

/** Characters of a name that is sent: the server refuses names beyond 1024. */
const MAX_NAME = 200;

/** The name that a file is sent by, cut where it is too long; its ending stays. */
export function sentName(name: string): string {
  if (name.length <= MAX_NAME) return name || 'image';
  const ending = /\.[^.]{1,10}$/.exec(name)?.[0] ?? '';
  // Not within a pair of surrogates, which would no longer be a character.
  const stem = name.slice(0, MAX_NAME - ending.length).replace(/[\ud800-\udbff]$/, '');
  return stem + ending;
}
