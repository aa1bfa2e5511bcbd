import { useEffect, useState } from 'preact/hooks';
import { useObjectUrl } from '../../components/files.ts';
import { formatNumber } from '../../components/format.ts';

/** An image that the browser has decoded. */
export interface Picture {
  readonly url: string;
  /** Pixels as displayed. */
  readonly width: number;
  readonly height: number;
}

/** The size of a picture: `1,200 × 800`. */
export function sizeText({ width, height }: Pick<Picture, 'width' | 'height'>): string {
  return `${formatNumber(width)} × ${formatNumber(height)}`;
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
