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

/** An image that the browser has decoded. */
export interface Picture {
  readonly url: string;
  /** Pixels as displayed. */
  readonly width: number;
  readonly height: number;
}

/** The height that a small picture needs at most, in CSS. @param scale 0 where it is fitted */
export function stageHeight({ height }: Picture, scale = 0): string {
  return `${Math.max(160, height * (scale || 1))}px`;
}

/** Decodes an image. Null if the browser cannot show it, undefined until that is known. */
export function usePicture(blob: Blob): Picture | null | undefined {
  const url = useObjectUrl(blob);
  const [seen, setSeen] = useState<{ readonly url: string; readonly picture: Picture | null }>();
  useEffect(() => {
    if (url === undefined) return undefined;
    const image = new Image();
    image.onload = () => {
      const { naturalWidth: width, naturalHeight: height } = image;
      setSeen({ url, picture: { url, width, height } });
    };
    image.onerror = () => setSeen({ url, picture: null });
    image.src = url;
    return () => {
      image.onload = null;
      image.onerror = null;
    };
  }, [url]);
  return seen && seen.url === url ? seen.picture : undefined;
}

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

/** Milliseconds after which a browser has begun to read what it saves. */
const SAVE_MS = 10_000;
