import { useEffect, useState } from 'preact/hooks';

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
