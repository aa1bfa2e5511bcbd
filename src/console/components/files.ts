import { useEffect, useRef, useState } from 'preact/hooks';

/**
 * Takes files that are dropped or pasted anywhere on the page, because a browser would open them in its
 * place. Fields for files and open dialogs keep what is theirs.
 *
 * @param onOver whether files are held over the page
 */
export function useTransfers(
  onFiles: (transfer: DataTransfer) => void,
  onOver: (isOver: boolean) => void = () => {},
): void {
  const latest = useRef(onFiles);
  latest.current = onFiles;
  useEffect(() => {
    const controller = new AbortController();
    const options = { signal: controller.signal };
    const take = (event: Event, data: DataTransfer | null) => {
      if (event.type === 'drop') onOver(false);
      const { target } = event;
      const isOfField = target instanceof HTMLInputElement && target.type === 'file';
      const isBehindDialog = document.querySelector('dialog[open]') !== null;
      if (!data?.types.includes('Files') || isBehindDialog) return;
      if (isOfField && event.type === 'drop') return;
      // Programs copy text together with a picture of it, which is not meant. File managers add the name of a file.
      const text = event.type === 'paste' ? data.getData('text/plain').trim() : '';
      if (text !== '' && ![...data.files].some(({ name }) => text.endsWith(name))) return;
      event.preventDefault();
      onOver(event.type === 'dragover');
      if (event.type !== 'dragover') latest.current(data);
    };
    addEventListener('dragover', (event) => take(event, event.dataTransfer), options);
    addEventListener('drop', (event) => take(event, event.dataTransfer), options);
    addEventListener('paste', (event) => take(event, event.clipboardData), options);
    const onLeave = ({ relatedTarget }: DragEvent) => relatedTarget === null && onOver(false);
    addEventListener('dragleave', onLeave, options);
    return () => controller.abort();
  }, []);
}

/** An address of a blob for as long as the component shows it; undefined until it is made. */
export function useObjectUrl(blob: Blob): string | undefined {
  const [made, setMade] = useState<{ readonly blob: Blob; readonly url: string }>();
  useEffect(() => {
    const url = URL.createObjectURL(blob);
    setMade({ blob, url });
    return () => URL.revokeObjectURL(url);
  }, [blob]);
  // The address of a former blob is revoked already.
  return made?.blob === blob ? made.url : undefined;
}

/** Milliseconds after which a browser has begun to read what it saves. */
const SAVE_MS = 10_000;

/** Saves a blob as a file. */
export function save(blob: Blob, name: string): void {
  const url = URL.createObjectURL(blob);
  const link = document.createElement('a');
  link.href = url;
  link.download = name;
  link.click();
  // Browsers read it after the click.
  setTimeout(() => URL.revokeObjectURL(url), SAVE_MS);
}

/** A path without control characters, which could make it look like another one. */
export function visible(path: string): string {
  return path.replace(/[\p{Cc}\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/gu, '\ufffd');
}
