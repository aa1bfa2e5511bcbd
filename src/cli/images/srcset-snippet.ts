import { relative } from 'node:path';
import { FORMATS, type OutputFormat } from '../../images/formats.ts';
import type { FileRecord } from '../../operations/batch/batch-record.ts';
import { tag, urlOf } from './html.ts';

export interface SnippetOptions {
  /** Folder to which URLs are relative; undefined where outputs are in an archive. */
  readonly folder: string | undefined;
  readonly baseUrl: string;
  readonly sizes: string;
  readonly alt: string;
  readonly loading: 'lazy' | 'eager';
}

/** One output of an image. */
interface Candidate {
  readonly url: string;
  readonly width: number;
  readonly height: number;
  /** Bytes. */
  readonly size: number;
}

/** The outputs of one format. */
interface SourceSet {
  readonly type: string;
  readonly srcset: string;
  readonly images: readonly Candidate[];
}

/** What a page needs to show an image. */
export interface Snippet {
  readonly html: string;
  /** By the order of the formats; the last is that of `img`. */
  readonly sources: readonly SourceSet[];
  /** The largest image of the last format. */
  readonly src: string;
  readonly sizes: string;
  readonly width: number;
  readonly height: number;
  readonly alt: string;
}

/** The snippet of an image; null where it has no outputs, or they have no names yet. */
export function snippetOf({ outputs = [] }: FileRecord, options: SnippetOptions): Snippet | null {
  const { folder, baseUrl, sizes, alt, loading } = options;
  const byFormat = new Map<string, Candidate[]>();
  for (const { outputFilename, format, width, height, size } of outputs) {
    if (outputFilename === undefined) return null;
    const path = folder === undefined ? outputFilename : relative(folder, outputFilename);
    const candidate = { url: urlOf(baseUrl, path), width, height, size };
    byFormat.set(format, [...(byFormat.get(format) ?? []), candidate]);
  }
  const sources = [...byFormat].map(([format, images]): SourceSet => {
    const sorted = images.sort((one, other) => one.width - other.width);
    const srcset = sorted.map(({ url, width }) => `${url} ${width}w`).join(', ');
    return { type: FORMATS[format as OutputFormat].mediaType, srcset, images: sorted };
  });
  const fallback = sources.at(-1);
  if (!fallback) return null;
  const { url: src, width, height } = fallback.images.at(-1)!;
  const img = tag('img', {
    // Before `srcset`, or some browsers begin with the candidate for 100vw.
    sizes,
    srcset: fallback.srcset,
    src,
    width,
    height,
    alt,
    loading,
    decoding: 'async',
  });
  const others = sources
    .slice(0, -1)
    .map(({ type, srcset }) => tag('source', { type, sizes, srcset }));
  const html =
    others.length === 0
      ? img
      : ['<picture>', ...[...others, img].map((line) => `  ${line}`), '</picture>'].join('\n');
  return { html, sources, src, sizes, width, height, alt };
}
